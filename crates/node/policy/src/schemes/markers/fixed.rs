//! `fixed`: one code point for all packets.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{ColorMarker, FixedMarker};
use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::Rng;

use super::token_bucket;
use crate::check::Checker;
use crate::keys::{CodePoint, Metered};
use crate::scheme::{GREEN, MarkerScheme, TWO_COLORS};

/// One code point for all packets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Fixed")]
pub(crate) struct Keys {
    /// The code point.
    dscp: CodePoint,
    /// Packets that find no tokens in this bucket are yellow, and `police` can drop or remark them. Default:
    /// all packets are green.
    bucket: Option<token_bucket::Keys>,
}

/// The code point of all packets, and the profile of green packets.
#[derive(Debug, Clone)]
pub struct Plan {
    dscp: Dscp,
    bucket: Option<Metered<TokenBucketParams>>,
}

impl Plan {
    /// The code point.
    pub fn dscp(&self) -> Dscp {
        self.dscp
    }

    /// The profile of green packets; `None` if all are green.
    pub fn bucket(&self) -> Option<&Metered<TokenBucketParams>> {
        self.bucket.as_ref()
    }
}

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2475, section 2.3.3";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "voice"
match = { protocol = "udp" }
marker.fixed = { dscp = "EF" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let bucket = match &self.bucket {
            Some(keys) => Some(keys.check(checker, &format!("{path}.bucket"))?),
            None => None,
        };
        Some(Plan { dscp: self.dscp.0, bucket })
    }

    fn build(plan: &Plan, _: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        match &plan.bucket {
            None => FixedMarker::new(plan.dscp, Color::Green).into(),
            Some(bucket) => {
                ColorMarker::new(bucket.build(TokenBucket::new, rng), [plan.dscp; 3]).into()
            }
        }
    }

    fn colors(plan: &Plan) -> &'static [Color] {
        if plan.bucket.is_some() { TWO_COLORS } else { GREEN }
    }

    fn writes(plan: &Plan, _: [Dscp; 3]) -> Vec<Dscp> {
        vec![plan.dscp]
    }
}
