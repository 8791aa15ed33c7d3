//! `tsw2cm`: time sliding window two colour marker.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{InitialRate, Tsw2Cm, TswParams};
use shortflow_elements::{Color, Dscp, Marker};
use shortflow_units::{Duration, Rate, Rng};

use crate::check::Checker;
use crate::keys::{OneOf, WINDOW, tsw};
use crate::scheme::{MarkerScheme, TWO_COLORS};

/// Time sliding window two colour marker: packets above the committed rate are yellow, by chance in
/// proportion to the excess.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tsw2Cm")]
pub(crate) struct Keys {
    /// Committed information rate.
    #[schemars(extend("x-range" = "above zero"))]
    cir: Rate,
    /// The window of the rate estimator.
    #[serde(default = "window")]
    #[schemars(extend("x-range" = "above zero"))]
    window: Duration,
    /// Where the rate estimate starts.
    #[serde(default = "initial_rate")]
    initial_rate: OneOf<InitialRate>,
}

fn window() -> Duration {
    WINDOW
}

fn initial_rate() -> OneOf<InitialRate> {
    OneOf(InitialRate::Committed)
}

/// The meter's parameters.
pub type Plan = TswParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2859, with its peak rate at the committed rate";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.tsw2cm = { cir = "6.4 Mbit/s" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        tsw(checker, path, self.cir, self.window, self.initial_rate)
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        Box::new(ColorMarker::new(Box::new(Tsw2Cm::new(plan.clone(), rng)), code_points))
    }

    fn colors(_: &Plan) -> &'static [Color] {
        TWO_COLORS
    }
}
