//! The part of a study that is also rehearsed over real kernels.

use serde::Deserialize;

use super::Looks;

/// Which runs are rehearsed, how often and how long.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsedSpec {
    /// The numbers of replicas at which checks are looked at.
    pub looks: Looks,
    /// How long, as in a scenario.
    pub duration: String,
    /// Settings as `key=value`, after those of the runs.
    #[serde(default)]
    pub set: Vec<String>,
    /// The runs; checks of others are omitted.
    pub runs: Vec<String>,
}
