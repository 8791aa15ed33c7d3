//! What was run.

use serde::{Deserialize, Serialize};

/// What was run, so that it can be run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What the run is called in tables and figures, for example the policy's name.
    pub label: String,
    /// The version of the program.
    pub version: String,
    /// The command line.
    pub command: String,
    /// The seed from which all random streams come.
    pub seed: u64,
    /// How many replicas each point has.
    pub replicas: u32,
    /// Simulated seconds, warm-up included.
    pub duration: f64,
    /// Simulated seconds at the start that do not count.
    pub warm_up: f64,
    /// Which TCP ran: its era and what differs from it; empty when nothing used TCP.
    #[serde(default)]
    pub tcp: String,
    /// The key that was swept, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// Keys that the command line changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// The files that were read, with their text.
    #[serde(default)]
    pub inputs: Vec<Input>,
}

/// A key and the values that it took, one per point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The key's path in the scenario.
    pub key: String,
    /// Its values, as written.
    pub values: Vec<String>,
}

/// A key and a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The key's path.
    pub key: String,
    /// The value, as written.
    pub value: String,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its whole text.
    pub text: String,
}
