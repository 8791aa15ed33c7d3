//! `token-bucket`: packets in profile are green, others yellow.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Rate, Rng};

use crate::check::Checker;
use crate::keys::{Metered, PerKey};
use crate::scheme::{MarkerScheme, TWO_COLORS};

/// A token bucket: packets that find tokens are green, the others yellow.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TokenBucket")]
pub(crate) struct Keys {
    /// Rate at which tokens arrive.
    #[schemars(extend("x-range" = "above zero"))]
    rate: Rate,
    /// Largest burst. Larger packets never find enough tokens.
    #[schemars(extend("x-range" = "at least 40 B"))]
    depth: Bytes,
    /// Which packets share a bucket: "flow", "source" and so on. Default: "all".
    per: Option<PerKey>,
}

/// The meter's parameters, and which packets share a meter.
pub type Plan = Metered<TokenBucketParams>;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2475, section 2.3.3; RFC 3290, section 5.1.3";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.token-bucket = { rate = "5 Mbit/s", depth = "15 KB", per = "source" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.depth(&format!("{path}.depth"), "depth", self.depth);
        checker.filling(&format!("{path}.depth"), "depth", self.depth, self.rate);
        let params = TokenBucketParams::new(self.rate, self.depth);
        Metered::check(checker, path, params, TokenBucket::new, self.per.as_ref())
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(plan.build(TokenBucket::new, rng), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        TWO_COLORS
    }
}
