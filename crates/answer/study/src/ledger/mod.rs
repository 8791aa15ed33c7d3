//! The ledger of a study: every claim, its checks, the verdict on each, and how it is written.
//!
//! Claims about runs, claims about a paper's formulas, and checks that were rehearsed over real kernels are parts of
//! one ledger.

mod changes;
mod committed;
mod entries;
mod judging;
mod models;
mod rehearsed;

pub use entries::{
    CheckResult, ClaimResult, Counterfactual, Ledger, ObservationResult, ReadingResult,
    RehearsedNumber, Trial,
};
pub(crate) use judging::{Judged, Judging};
pub(crate) use models::join;
pub use models::{Modelled, model};
pub(crate) use rehearsed::write_beside;
pub use rehearsed::{Rehearsed, RehearsedCheck, rehearse};
