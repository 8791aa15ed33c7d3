//! What a comparison of several runs found.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Manifest, Point};
use crate::engines::pairs;
use crate::gains::{PointGains, gains_at};

/// The file of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The folders of the runs, the reference first.
    pub runs: Vec<String>,
    /// How runs compare, point by point: each with the reference; of several engines, each policy by one
    /// with the same by the first, and within each engine with its first policy.
    pub gains: Vec<PointGains>,
}

/// A run that is to be compared.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'r> {
    /// What it is called.
    pub label: &'r str,
    /// What was run.
    pub manifest: &'r Manifest,
    /// What was found.
    pub points: &'r [Point],
}

impl Comparison {
    /// Compares runs with their references.
    pub fn gains(runs: &[Compared<'_>]) -> Vec<PointGains> {
        let kinds: Vec<(&str, &str)> = runs.iter().map(|run| run.manifest.kind()).collect();
        let compare = |(reference, ours): (usize, usize)| -> Vec<PointGains> {
            let (reference, ours) = (&runs[reference], &runs[ours]);
            let names = (reference.label, ours.label);
            let points = reference.points.iter().zip(ours.points).enumerate();
            points.map(|(at, (a, b))| gains_at(at, names, a, b)).collect()
        };
        pairs(&kinds).into_iter().flat_map(compare).collect()
    }
}

/// Earlier versions wrote the folders only.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Folders(Vec<String>),
    Whole { runs: Vec<String>, gains: Vec<PointGains> },
}

impl<'de> Deserialize<'de> for Comparison {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Folders(runs) => Comparison { runs, gains: Vec::new() },
            Stored::Whole { runs, gains } => Comparison { runs, gains },
        })
    }
}
