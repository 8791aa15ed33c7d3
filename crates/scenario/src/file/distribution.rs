//! Distributions of times and of numbers as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::Duration;

/// A distribution of times.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimesFile {
    /// Always the same.
    Constant(Duration),
    /// Exponential.
    Exponential(ExponentialTimeFile),
    /// Pareto.
    Pareto(ParetoTimeFile),
    /// All times of a range equally likely.
    Uniform(UniformTimeFile),
}

/// An exponential distribution of times.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExponentialTimeFile {
    /// The mean.
    pub(crate) mean: Duration,
}

/// A Pareto distribution of times.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoTimeFile {
    /// The shortest time: k in P(X > x) = (k/x)^shape.
    pub(crate) min: Duration,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Longer times are cut to this one.
    pub(crate) max: Option<Duration>,
}

/// A uniform distribution of times.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformTimeFile {
    /// The shortest time.
    pub(crate) min: Duration,
    /// The longest time.
    pub(crate) max: Duration,
}

/// A distribution of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CountsFile {
    /// Always the same.
    Constant(u32),
    /// One of a list.
    Choice(ChoiceOfCountsFile),
    /// Exponential, rounded to the nearest whole number, at least 1.
    Exponential(ExponentialCountFile),
    /// Pareto, rounded to the nearest whole number.
    Pareto(ParetoCountFile),
    /// All numbers of a range equally likely.
    Uniform(UniformCountFile),
}

/// One of a list of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceOfCountsFile {
    /// The numbers.
    pub(crate) numbers: Vec<u32>,
    /// How often each is drawn, in any unit; all alike by default.
    pub(crate) weights: Option<Vec<f64>>,
}

/// An exponential distribution of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExponentialCountFile {
    /// The mean before rounding, a whole number.
    pub(crate) mean: u32,
}

/// A Pareto distribution of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoCountFile {
    /// The smallest number: k in P(X > x) = (k/x)^shape.
    pub(crate) min: f64,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Greater numbers are cut to this one.
    pub(crate) max: Option<u32>,
}

/// A uniform distribution of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformCountFile {
    /// The smallest number.
    pub(crate) min: u32,
    /// The greatest number.
    pub(crate) max: u32,
}
