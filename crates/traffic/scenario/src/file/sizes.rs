//! The text form of distributions of sizes.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_units::Size;

/// A distribution of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SizesFile {
    /// A constant.
    Constant(Size),
    /// One size of a list.
    Choice(ChoiceFile),
    /// An exponential distribution.
    Exponential(ExponentialFile),
    /// A Pareto distribution.
    Pareto(ParetoFile),
    /// All sizes in a range are equally likely.
    Uniform(UniformFile),
}

impl SizesFile {
    /// Whether all sizes are in segments, and few enough for one result each.
    pub(crate) fn is_in_segments(&self) -> bool {
        let is_segments = |size: &Size| matches!(size, Size::Segments(_));
        match self {
            SizesFile::Constant(size) => is_segments(size),
            SizesFile::Choice(choice) => choice.sizes.iter().all(is_segments),
            _ => false,
        }
    }
}

/// A choice from a list of sizes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceFile {
    /// The sizes.
    #[schemars(length(min = 1))]
    pub(crate) sizes: Vec<Size>,
    /// Relative weight of each size. Default: equal weights.
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
    /// The mean, before sizes above `max` are cut. Set either `mean` or `min`.
    pub(crate) mean: Option<Size>,
    /// The smallest size k in P(X > x) = (k/x)^shape.
    pub(crate) min: Option<Size>,
    /// The shape, above 1: the smaller, the heavier the tail.
    pub(crate) shape: f64,
    /// Larger sizes are cut to this one. Default: no limit.
    pub(crate) max: Option<Size>,
}

/// A uniform distribution.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformFile {
    /// The smallest size.
    pub(crate) min: Size,
    /// The largest size.
    pub(crate) max: Size,
}
