//! What a comparison of several runs found.

use serde::{Deserialize, Deserializer, Serialize};

use crate::gains::PointGains;
use crate::warning::ScopedWarning;

/// The file of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The folders of the runs, the reference first.
    pub runs: Vec<String>,
    /// How runs compare, point by point: each with the reference; of several engines, each policy by one
    /// with the same by the first, and within each engine with its first policy.
    pub gains: Vec<PointGains>,
    /// All warnings, each once, with the runs and points that it is about.
    pub warnings: Vec<ScopedWarning>,
}

/// The first versions wrote the folders only, later ones no warnings.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Folders(Vec<String>),
    Whole {
        runs: Vec<String>,
        gains: Vec<PointGains>,
        #[serde(default)]
        warnings: Vec<ScopedWarning>,
    },
}

impl<'de> Deserialize<'de> for Comparison {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Folders(runs) => Comparison { runs, ..Comparison::default() },
            Stored::Whole { runs, gains, warnings } => Comparison { runs, gains, warnings },
        })
    }
}
