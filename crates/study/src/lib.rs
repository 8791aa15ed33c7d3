//! Claims ledgers, sweeps, and comparisons across policies.
//!
//! A study lives in `papers/<id>/`: scenarios and policies, `study.toml` with the runs and figures,
//! `claims.toml` with the claims, each a computed check. This crate runs it, keeps what is finished
//! so that an interrupted study goes on where it stopped, and judges the claims by rules that were
//! fixed before anything was run.
//!
//! ```
//! use shortflow_measure::Estimate;
//! use shortflow_study::judge::{Verdict, at_most};
//!
//! let times = Estimate::of(&[0.19, 0.20, 0.21]).expect("there are three replicas");
//! assert_eq!(at_most(&times, 0.5), Verdict::Holds);
//! assert_eq!(at_most(&times, 0.1), Verdict::Fails);
//! // The bound lies within the interval.
//! assert_eq!(at_most(&times, 0.2), Verdict::Unsettled);
//! ```
//!
//! # What this crate does not know
//!
//! Any one study: which runs, workloads and claims there are stands in the files of each. Which engine runs
//! them: it is given one. How ledgers and figures are set on a page, which `report` knows.

mod cache;
mod distribution;
mod figure;
pub mod files;
pub mod judge;
mod ledger;
mod library;
mod measure;
mod mistakes;
mod points;
mod quantity;
mod replay;
mod reproduce;
pub mod spec;
mod table;
mod text;
#[cfg(test)]
mod whole;

pub use figure::{Figure, FigureCurve, figure};
pub use ledger::{CheckResult, ClaimResult, Ledger, judge_all};
pub use library::StudyFiles;
pub use quantity::Data;
pub use reproduce::{Error, Options, Reproduced, find, reproduce};
pub use table::{Table, table};
pub use text::text;
