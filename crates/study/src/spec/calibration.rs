//! What is calibrated: parameters that the paper leaves open, chosen by what it reports of its set-up.

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
