//! Calibration: selects the reading of a paper's open parameters that matches the paper's description of its set-up.
//!
//! The readings, the target figures and the tolerance are in `calibration.toml`, which is committed before any claim
//! is checked. The grid of all readings is run once; its result is kept in `calibration.json`, and claims are judged
//! at the reading that fits best.

mod grid;
mod outcome;
mod ran;
mod readings;
mod replica_selection;

pub use grid::calibrate;
pub use outcome::{Calibration, Fit, Target};
pub(crate) use readings::Readings;
pub use replica_selection::SelectedReplicas;
