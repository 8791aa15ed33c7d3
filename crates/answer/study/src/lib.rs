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
//! # The line of its modules
//!
//! A study goes down a line, and a module uses only the modules above it (`cargo xtask tidy` checks this block):
//!
//! ```modules
//! error        why a study gives no answer
//! options      how it is run
//! digest       texts by their digests
//! number       a number with its interval, as text
//! json_file    results as JSON files
//! spec         ─┐ its files: formats, and the mistakes in them
//! runs          │ its scenarios at their points, their replicas, what these measured
//! calibration   │ the reading of open parameters that fits the paper's set-up
//! judge         │ evidence, rules, looks: the verdict on each check
//! ledger        │ the verdicts on all claims under all readings, as they are kept
//! part          │ claims, or changes for checks that fail, in a committed ledger
//! present       ▼ ledgers as text and pages, figures, tables
//! reproduce    the whole line, from the files to the page
//! end_to_end   its test
//! ```
//!
//! # What this crate does not know
//!
//! It knows no particular study: the files of each study define its runs, workloads and claims. It does not know the
//! engine: it is given one. It does not set ledgers and figures on a page: `report` does.

mod calibration;
mod digest;
#[cfg(test)]
mod end_to_end;
mod error;
mod json_file;
pub mod judge;
mod ledger;
mod number;
mod options;
mod part;
mod present;
mod reproduce;
mod runs;
pub mod spec;

pub use calibration::{Calibration, Fit, SelectedReplicas, Target, calibrate};
pub use error::Error;
pub use ledger::{
    CheckResult, ClaimResult, Counterfactual, Ledger, Modelled, ObservationResult, ReadingResult,
    Rehearsed, RehearsedCheck, RehearsedNumber, Trial, model, rehearse,
};
pub use options::{Options, Part};
pub use present::{
    Figure, FigureCurve, Reproduced, Table, claims_table, figure, files, overview, table, text,
};
pub use reproduce::reproduce;
pub use runs::{Data, Missing};
pub use spec::{StudyFiles, find};
