//! What was run.

use serde::{Deserialize, Serialize};

use crate::warning::ScopedWarning;

/// What was run, so that it can be run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What the run is called in tables and figures, for example the policy's name.
    pub label: String,
    /// Which engine ran it, as in `simulate`.
    #[serde(default = "simulate")]
    pub engine: String,
    /// The policy's name, by which runs of several engines are put together, where the label says more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The command line.
    pub command: String,
    /// The seed from which all random streams come.
    pub seed: u64,
    /// How many replicas each point has.
    pub replicas: u32,
    /// Seconds of the scenario's time, warm-up included.
    pub duration: f64,
    /// Seconds at the start that do not count.
    pub warm_up: f64,
    /// Which TCP ran: its era and what differs from it; empty when nothing used TCP.
    #[serde(default)]
    pub tcp: String,
    /// How late packets were sent; absent if time is simulated or computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// The key that was swept, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// Keys that the command line changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Roles that the command line bound, as in `core=east->west`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bind: Vec<String>,
    /// The format of the tables in the folder `tables`, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<String>,
    /// When the state of TCP senders was recorded, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_info: Option<String>,
    /// The design, which is one of the inputs, if the points come from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<String>,
    /// What a reader must know before trusting the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ScopedWarning>,
    /// The files that were read, with their text.
    #[serde(default)]
    pub inputs: Vec<Input>,
}

/// The engine of runs that do not name it: earlier versions had no other.
fn simulate() -> String {
    "simulate".to_owned()
}

impl Manifest {
    /// What was run, whatever the engine: the policy's name, or what else the run is called.
    pub fn case(&self) -> &str {
        self.policy.as_deref().unwrap_or(&self.label)
    }

    /// By which engine, and what.
    pub fn kind(&self) -> (&str, &str) {
        (&self.engine, self.case())
    }

    /// Whether replicas of one number had the same arrivals in both runs: the same seed, length and
    /// scenario, but for keys on which no arrival depends.
    pub fn has_arrivals_of(&self, other: &Manifest) -> bool {
        // The scenario is read first; what it reads after that are policies and logs.
        let scenario =
            |manifest: &Manifest| manifest.inputs.first().map(|input| input.text.clone());
        let settings = |manifest: &Manifest| -> Vec<Setting> {
            manifest.settings.iter().filter(|setting| setting.moves_arrivals()).cloned().collect()
        };
        (self.seed, self.duration, self.warm_up) == (other.seed, other.duration, other.warm_up)
            && scenario(self) == scenario(other)
            && settings(self) == settings(other)
    }
}

/// How much later than it should have been packets were sent, in seconds: over the replica that was latest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Half of the packets were later than this.
    pub p50: f64,
    /// One in a hundred was later than this.
    pub p99: f64,
    /// The latest.
    pub max: f64,
    /// The share of the time for which the machine stood still.
    #[serde(default)]
    pub stalled: f64,
    /// The longest time for which it did at once.
    #[serde(default)]
    pub longest_stall: f64,
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

impl Setting {
    /// Whether arrivals may depend on it. Policies, TCP and links carry what arrives.
    fn moves_arrivals(&self) -> bool {
        const OTHERS: [&str; 7] =
            ["policy", "tcp", "links", "bind", "measure", "replicas", "drain"];
        let first = self.key.split(['.', '[']).next().unwrap_or_default();
        !OTHERS.contains(&first)
    }
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its whole text; of a table of data, such as a log, its length and hash.
    pub text: String,
    /// The file in the folder of results that holds a table of data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl Input {
    /// A text that the manifest holds.
    pub fn whole(name: impl Into<String>, text: impl Into<String>) -> Input {
        Input { name: name.into(), text: text.into(), kept: None }
    }
}
