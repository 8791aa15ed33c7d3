//! Claims ledgers, sweeps, and comparisons across policies.
//!
//! A study lives in `papers/<id>/`: scenarios and policies, `study.toml` with the runs and figures,
//! `claims.toml` with the claims, each a computed check. This crate runs it, keeps what is finished
//! so that an interrupted study goes on where it stopped, and judges the claims by rules that were
//! fixed before anything was run.

mod cache;
mod distribution;
mod figure;
pub mod judge;
mod ledger;
mod library;
mod measure;
mod points;
mod quantity;
mod replay;
mod reproduce;
pub mod spec;
mod table;
#[cfg(test)]
mod whole;

pub use figure::{Figure, FigureCurve, figure};
pub use ledger::{CheckResult, ClaimResult, Ledger, judge_all};
pub use library::StudyFiles;
pub use quantity::Data;
pub use reproduce::{Error, Options, Reproduced, find, reproduce};
pub use table::{Table, table};
