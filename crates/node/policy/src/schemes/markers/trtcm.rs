//! `trtcm`: two rate three colour marker.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{TrTcm, TrTcmParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Rate, Rng};

use crate::check::Checker;
use crate::keys::{Metered, PerKey, color_mode};
use crate::scheme::MarkerScheme;

/// Two rate three colour marker: packets above the peak rate are red, above the committed rate yellow, all
/// others green.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TrTcm")]
pub(crate) struct Keys {
    /// Committed information rate.
    #[schemars(extend("x-range" = "above zero"))]
    cir: Rate,
    /// Committed burst size.
    #[schemars(extend("x-range" = "at least 40 B"))]
    cbs: Bytes,
    /// Peak information rate.
    #[schemars(extend("x-range" = "at least `cir`"))]
    pir: Rate,
    /// Peak burst size.
    #[schemars(extend("x-range" = "at least 40 B"))]
    pbs: Bytes,
    /// Whether the meter respects the colour of arriving packets.
    #[serde(default)]
    color_aware: bool,
    /// Which packets share the buckets: "flow", "source" and so on. Default: "all".
    per: Option<PerKey>,
}

/// The meter's parameters, and which packets share a meter.
pub type Plan = Metered<TrTcmParams>;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2698";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.trtcm = { cir = "5 Mbit/s", cbs = "15 KB", pir = "8 Mbit/s", pbs = "30 KB" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        for (key, burst, rate) in [("cbs", self.cbs, self.cir), ("pbs", self.pbs, self.pir)] {
            checker.depth(&format!("{path}.{key}"), key, burst);
            checker.filling(&format!("{path}.{key}"), key, burst, rate);
        }
        let mode = color_mode(checker, self.color_aware);
        let params = TrTcmParams::new(self.cir, self.cbs, self.pir, self.pbs, mode);
        Metered::check(checker, path, params, TrTcm::new, self.per.as_ref())
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(plan.build(TrTcm::new, rng), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }
}
