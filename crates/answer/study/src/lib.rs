//! Claims ledgers, sweeps, and comparisons across policies.
//!
//! A study lives in `papers/<id>/`: scenarios and policies, `study.toml` with the runs and figures, `claims.toml`
//! with the claims, each a computed check. This crate runs it, stores finished replicas so that an interrupted study
//! can continue, and judges the claims by rules that were fixed before anything was run.
//!
//! ```
//! use shortflow_measure::Reading;
//! use shortflow_study::judge::{Bound, Evidence, Looks, Region, Sequence, Verdict};
//!
//! // Three replicas of some time in seconds, and one look at them.
//! let times = Evidence::of_values(&[0.19, 0.20, 0.21].map(Reading::Exact));
//! let looks = Looks::at(vec![3]).expect("these are numbers that rise");
//! let verdict = |at_most| {
//!     let mut claim = Sequence::new(&looks, 1);
//!     claim.look(&[Some(Region::to(Bound::closed(at_most)).test(&times))]);
//!     claim.verdict()
//! };
//! assert_eq!(verdict(0.5), Verdict::Holds);
//! assert_eq!(verdict(0.1), Verdict::Fails);
//! // The bound lies within the interval.
//! assert_eq!(verdict(0.2), Verdict::Unsettled);
//! ```
//!
//! # What this crate does not know
//!
//! It knows no particular study: the files of each study define its runs, workloads and claims. It does not know the
//! engine: it is given one. It does not set ledgers and figures on a page: `report` does.

mod cache;
mod calibration;
mod checks;
mod claims_table;
mod distance;
mod distribution;
#[cfg(test)]
mod end_to_end;
mod figure;
pub mod files;
pub mod judge;
mod judging;
mod ledger;
mod library;
mod measure;
mod mistakes;
mod models;
mod paired_transfers;
mod points;
mod quantity;
mod rehearsed;
mod replay;
mod replica_selection;
mod reproduce;
mod runs;
mod settle;
pub mod spec;
mod stored_replica;
mod table;
mod text;
mod variant;

pub use calibration::{Calibration, Fit, Target};
pub use claims_table::claims_table;
pub use figure::{Figure, FigureCurve, figure};
pub use ledger::{
    CheckResult, ClaimResult, Counterfactual, Ledger, ObservationResult, ReadingResult, Trial,
};
pub use library::StudyFiles;
pub use models::{Modelled, model};
pub use quantity::Data;
pub use rehearsed::{Rehearsed, RehearsedCheck, RehearsedNumber, rehearse};
pub use replica_selection::SelectedReplicas;
pub use reproduce::{Error, Options, Reproduced, calibrate, find, reproduce};
pub use table::{Table, table};
pub use text::{overview, text};
