//! `two-buckets`: two token buckets, tried one after the other.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{TwoBuckets, TwoBucketsParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::Rng;

use crate::check::Checker;
use crate::keys::{BucketKeys, Metered, PerKey, color_mode};
use crate::scheme::MarkerScheme;

/// Two token buckets, tried one after the other: packets that find tokens in the first are green, in the
/// second yellow, all others red.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TwoBuckets")]
pub(crate) struct Keys {
    /// The bucket of green packets.
    green: BucketKeys,
    /// The bucket of yellow packets, for packets that find no tokens in the first.
    yellow: BucketKeys,
    /// Whether the meter respects the colour of arriving packets: it never improves it.
    #[serde(default)]
    color_aware: bool,
    /// Which packets share the buckets: "flow", "source" and so on. Default: "all".
    per: Option<PerKey>,
}

/// The meter's parameters, and which packets share a meter.
pub type Plan = Metered<TwoBucketsParams>;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Noureddine & Tobagi 2002";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.two-buckets.green = { rate = "3 Mbit/s", depth = "15 KB" }
marker.two-buckets.yellow = { rate = "2 Mbit/s", depth = "15 KB" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let green = self.green.check(checker, &format!("{path}.green"));
        let yellow = self.yellow.check(checker, &format!("{path}.yellow"));
        let mode = color_mode(checker, self.color_aware);
        let params = TwoBucketsParams { green: green?, yellow: yellow?, mode };
        Metered::check(checker, path, Ok(params), TwoBuckets::new, self.per.as_ref())
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(plan.build(TwoBuckets::new, rng), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }
}
