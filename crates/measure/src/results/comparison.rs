//! What a comparison of several runs found.

use serde::{Deserialize, Deserializer, Serialize};

use super::Point;
use crate::gains::{PointGains, gains_at};

/// The file of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The folders of the runs, the reference first.
    pub runs: Vec<String>,
    /// How each other run compares with the reference, point by point.
    pub gains: Vec<PointGains>,
}

impl Comparison {
    /// Compares runs, each with its name and its points, with the first of them.
    pub fn gains(runs: &[(&str, &[Point])]) -> Vec<PointGains> {
        let Some((reference, others)) = runs.split_first() else { return Vec::new() };
        let of = |ours: &(&str, &[Point])| -> Vec<PointGains> {
            let points = reference.1.iter().zip(ours.1).enumerate();
            points.map(|(at, (a, b))| gains_at(at, (reference.0, ours.0), a, b)).collect()
        };
        others.iter().flat_map(of).collect()
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
