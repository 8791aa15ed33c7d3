//! A figure that is known exactly or as a lower bound.

use serde::{Deserialize, Serialize};

/// What one replica says of a measure. Of completion times of which some never ended, no more may be
/// known than a lower bound.
///
/// In JSON a known figure is a number, and a bound is `{"at_least": 5.2}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading {
    /// It is this.
    Exact(f64),
    /// It is this or more: too much was unfinished to tell.
    AtLeast {
        /// What it is not below.
        at_least: f64,
        /// What it is by the best estimate, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        likely: Option<Likely>,
    },
}

/// The best estimate of a figure of which for sure only a lower bound is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Likely {
    /// The estimate.
    pub estimate: f64,
    /// What it would be if all that was left at the end took twice as long as the oldest had taken by then.
    pub doubled: f64,
}

impl Reading {
    /// A lower bound.
    pub const fn at_least(value: f64) -> Reading {
        Reading::AtLeast { at_least: value, likely: None }
    }

    /// The figure, or what it is at least.
    pub const fn value(self) -> f64 {
        match self {
            Reading::Exact(value) | Reading::AtLeast { at_least: value, .. } => value,
        }
    }

    /// The figure where it is known.
    pub const fn exact(self) -> Option<f64> {
        match self {
            Reading::Exact(value) => Some(value),
            Reading::AtLeast { .. } => None,
        }
    }

    /// Whether only a lower bound is known.
    pub const fn is_bound(self) -> bool {
        matches!(self, Reading::AtLeast { .. })
    }

    /// The same under a function that grows with its argument.
    pub fn map(self, rising: impl Fn(f64) -> f64) -> Reading {
        match self {
            Reading::Exact(value) => Reading::Exact(rising(value)),
            Reading::AtLeast { at_least, likely } => {
                let likely = likely.map(|Likely { estimate, doubled }| Likely {
                    estimate: rising(estimate),
                    doubled: rising(doubled),
                });
                Reading::AtLeast { at_least: rising(at_least), likely }
            }
        }
    }
}

impl From<f64> for Reading {
    fn from(value: f64) -> Self {
        Reading::Exact(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_told_from_a_figure_in_json() {
        for (reading, text) in
            [(Reading::Exact(5.25), "5.25"), (Reading::at_least(5.25), "{\"at_least\":5.25}")]
        {
            assert_eq!(serde_json::to_string(&reading).unwrap(), text);
            assert_eq!(serde_json::from_str::<Reading>(text).unwrap(), reading);
        }
    }
}
