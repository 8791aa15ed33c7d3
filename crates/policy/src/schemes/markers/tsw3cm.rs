//! `tsw3cm`: time sliding window three colour marker.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{InitialRate, Tsw3Cm, Tsw3CmParams};
use shortflow_elements::{Color, Dscp, Marker};
use shortflow_units::{Duration, Rate, Rng};

use crate::check::Checker;
use crate::keys::{OneOf, WINDOW, tsw};
use crate::scheme::MarkerScheme;

/// Time sliding window three colour marker: packets above the committed rate are yellow and packets
/// above the peak rate red, by chance in proportion to the excess.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tsw3Cm")]
pub(crate) struct Keys {
    /// Committed information rate.
    #[schemars(extend("x-range" = "above zero"))]
    cir: Rate,
    /// Peak information rate.
    #[schemars(extend("x-range" = "at least `cir`"))]
    pir: Rate,
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
pub type Plan = Tsw3CmParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2859";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.tsw3cm = { cir = "5 Mbit/s", pir = "8 Mbit/s" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let params = tsw(checker, path, self.cir, self.window, self.initial_rate)?;
        checker.accept(path, Tsw3CmParams::new(params, self.pir))
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        Box::new(ColorMarker::new(Box::new(Tsw3Cm::new(plan.clone(), rng)), code_points))
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }
}
