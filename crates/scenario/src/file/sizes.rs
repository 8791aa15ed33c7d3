//! Distributions of sizes as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::Size;

/// A distribution of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SizesFile {
    /// Always the same.
    Constant(Size),
    /// One of a list.
    Choice(ChoiceFile),
    /// Exponential.
    Exponential(ExponentialFile),
    /// Pareto.
    Pareto(ParetoFile),
    /// All sizes of a range equally likely.
    Uniform(UniformFile),
}

impl SizesFile {
    /// Whether all sizes are written in segments, and are not too many to be told apart.
    pub(crate) fn is_in_segments(&self) -> bool {
        let is_segments = |size: &Size| matches!(size, Size::Segments(_));
        match self {
            SizesFile::Constant(size) => is_segments(size),
            SizesFile::Choice(choice) => choice.sizes.iter().all(is_segments),
            _ => false,
        }
    }
}

/// One of a list of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceFile {
    /// The sizes.
    #[schemars(length(min = 1))]
    pub(crate) sizes: Vec<Size>,
    /// How often each is drawn, in any unit; all alike by default.
    pub(crate) weights: Option<Vec<f64>>,
}

/// An exponential distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExponentialFile {
    /// The mean.
    pub(crate) mean: Size,
}

/// A Pareto distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoFile {
    /// The mean, before sizes above `max` are cut. Say this or `min`.
    pub(crate) mean: Option<Size>,
    /// The smallest size: k in P(X > x) = (k/x)^shape.
    pub(crate) min: Option<Size>,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Greater sizes are cut to this one.
    pub(crate) max: Option<Size>,
}

/// A uniform distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformFile {
    /// The smallest size.
    pub(crate) min: Size,
    /// The greatest size.
    pub(crate) max: Size,
}
