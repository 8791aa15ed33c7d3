//! The file format of a calibration: open parameters of the paper, selected by the paper's description of its set-up.

use serde::Deserialize;

use super::{ChangeSpec, Quantity};

/// A calibration, as written in `papers/<id>/calibration.toml` before any claim is looked at.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationSpec {
    /// What is calibrated on what, in a sentence or two.
    pub says: String,
    /// Replicas of each point.
    pub replicas: u32,
    /// Simulated duration, as in a scenario; that of the full study when absent.
    pub duration: Option<String>,
    /// What is open; the grid has a reading of each.
    pub parameters: Vec<ParameterSpec>,
    /// What a reading must meet.
    pub targets: Vec<TargetSpec>,
    /// Which replicas are kept, where the paper says what its users asked for.
    pub keep: Option<KeepSpec>,
}

/// Replicas are kept whose users ask for about as much as the paper's: a property of what was drawn,
/// blind to schemes. Ranges are from the first number to the second.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepSpec {
    /// What is asked of the users, and why.
    pub says: String,
    /// How many are to be kept: no claim has more.
    pub replicas: u32,
    /// How many are drawn at most.
    pub of: u32,
    /// The run whose users draw their requests, and the point of its sweep.
    pub run: String,
    /// The point.
    pub x: f64,
    /// The workload that browses.
    pub workload: String,
    /// Files that were asked for.
    pub flows: (f64, f64),
    /// Their bytes.
    pub bytes: (f64, f64),
    /// Shares of the bytes in files above a size.
    #[serde(default)]
    pub above: Vec<AboveSpec>,
}

/// The share of bytes in files above a size.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AboveSpec {
    /// The size in bytes.
    pub size: f64,
    /// The share, 0 to 1.
    pub share: (f64, f64),
}

/// Something that the paper leaves open.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSpec {
    /// Its name: letters, digits, hyphens and points.
    pub name: String,
    /// What is open.
    pub open: String,
    /// The ways to read it.
    pub readings: Vec<ChangeSpec>,
}

/// A figure of the paper's set-up or baseline; no evidence for a claim any more.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// What it is.
    pub what: String,
    /// The paper's figure.
    pub paper: f64,
    /// Ours must lie within this factor of it.
    pub within: f64,
    /// What is measured, which names its point where its run has several.
    pub ours: Quantity,
}

impl CalibrationSpec {
    /// Every quantity of its targets, to be changed.
    pub(crate) fn quantities_mut(&mut self) -> impl Iterator<Item = &mut Quantity> {
        self.targets.iter_mut().map(|target| &mut target.ours)
    }
}
