//! `srtcm`: single rate three colour marker.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{SrTcm, SrTcmParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Rate, Rng};

use crate::check::Checker;
use crate::keys::{Metered, PerKey, color_mode};
use crate::scheme::MarkerScheme;

/// Single rate three colour marker: packets within the committed burst are green, within the excess burst
/// yellow, all others red.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SrTcm")]
pub(crate) struct Keys {
    /// Committed information rate.
    #[schemars(extend("x-range" = "above zero"))]
    cir: Rate,
    /// Committed burst size.
    #[schemars(extend("x-range" = "0 B, or at least 40 B; not zero together with `ebs`"))]
    cbs: Bytes,
    /// Excess burst size.
    #[schemars(extend("x-range" = "0 B, or at least 40 B; not zero together with `cbs`"))]
    ebs: Bytes,
    /// Whether the meter respects the colour of arriving packets.
    #[serde(default)]
    color_aware: bool,
    /// Which packets share the buckets: "flow", "source" and so on. Default: "all".
    per: Option<PerKey>,
}

/// The meter's parameters, and which packets share a meter.
pub type Plan = Metered<SrTcmParams>;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2697";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.srtcm = { cir = "5 Mbit/s", cbs = "15 KB", ebs = "30 KB" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        for (key, burst) in [("cbs", self.cbs), ("ebs", self.ebs)] {
            checker.depth(&format!("{path}.{key}"), key, burst);
            checker.filling(&format!("{path}.{key}"), key, burst, self.cir);
        }
        let mode = color_mode(checker, self.color_aware);
        let params = SrTcmParams::new(self.cir, self.cbs, self.ebs, mode);
        Metered::check(checker, path, params, SrTcm::new, self.per.as_ref())
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(plan.build(SrTcm::new, rng), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }
}
