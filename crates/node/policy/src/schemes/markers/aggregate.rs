//! `aggregate`: policing and marking of an aggregate of connections.

use shortflow_elements::marker::{AggregateMarker, AggregateMarkerParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::Rng;

use crate::Asked;
use crate::check::Checker;
use crate::keys::{aggregate_keys, asks_rtt};
use crate::scheme::{MarkerScheme, TWO_COLORS};

aggregate_keys! {
    /// Marks packets green while an aggregate of connections keeps to its profile, else yellow; `police` can
    /// drop yellow packets. Each connection takes tokens from its share of the profile.
    #[schemars(rename = "Aggregate")]
    struct Keys {}
}

/// The marker's parameters.
pub type Plan = AggregateMarkerParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Mehra, Tewari & Kandlur 1999, section 4.2";
    const EXAMPLE: &'static str = r#"[[roles.servers.classes]]
name = "site"
match = { src_port = 80 }
marker.aggregate = { rate = "5 Mbit/s", depth = "200 KB", sharing = "logical" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let (profile, connections) = (self.profile(checker, path), self.limits(checker, path));
        let sharing = self.sharing.0;
        Some(AggregateMarkerParams { profile: profile?, sharing, connections: connections? })
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        AggregateMarker::new(plan.clone(), code_points, rng).into()
    }

    fn asks(plan: &Plan) -> Asked {
        asks_rtt(plan.sharing)
    }

    fn colors(_: &Plan) -> &'static [Color] {
        TWO_COLORS
    }
}
