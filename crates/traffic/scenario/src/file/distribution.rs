//! The text form of distributions of times and of numbers.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::Duration;

/// A distribution of times.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TimesFile {
    /// A constant.
    Constant(Duration),
    /// An exponential distribution.
    Exponential(ExponentialTimeFile),
    /// A Pareto distribution.
    Pareto(ParetoTimeFile),
    /// All times in a range are equally likely.
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
    /// The shortest time k in P(X > x) = (k/x)^shape.
    pub(crate) min: Duration,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Longer times are cut to this one. Default: no limit.
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
    /// A constant.
    Constant(u32),
    /// One number of a list.
    Choice(ChoiceOfCountsFile),
    /// An exponential distribution, rounded to the nearest whole number, at least 1.
    Exponential(ExponentialCountFile),
    /// A Pareto distribution, rounded to the nearest whole number.
    Pareto(ParetoCountFile),
    /// All numbers in a range are equally likely.
    Uniform(UniformCountFile),
}

/// A choice from a list of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceOfCountsFile {
    /// The numbers.
    pub(crate) numbers: Vec<u32>,
    /// Relative weight of each number. Default: equal weights.
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
    /// The smallest number k in P(X > x) = (k/x)^shape.
    pub(crate) min: f64,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Larger numbers are cut to this one. Default: no limit.
    pub(crate) max: Option<u32>,
}

/// A uniform distribution of numbers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformCountFile {
    /// The smallest number.
    pub(crate) min: u32,
    /// The largest number.
    pub(crate) max: u32,
}
