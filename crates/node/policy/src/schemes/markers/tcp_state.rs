//! `tcp-state`: marks by the state of the sending TCP.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{Crossing, RecoverySegments, TcpStateMarker, TcpStateParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::Rng;

use crate::Asked;
use crate::check::Checker;
use crate::keys::{OneOf, choices};
use crate::scheme::MarkerScheme;

/// Marks by the state of the sending TCP: packets whose loss would delay their connection most are green.
/// Only at the sending host.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TcpState")]
pub(crate) struct Keys {
    /// Largest window, in segments, at which packets are green.
    #[serde(default = "high")]
    #[schemars(extend("x-range" = "at least 1"))]
    high: u32,
    /// Largest window, in segments, at which packets are yellow. Default: twice `high`.
    #[schemars(extend("x-range" = "at least `high`"))]
    medium: Option<u32>,
    /// Whether packets above a threshold keep the better priority with probability threshold/window.
    #[serde(default)]
    randomized: bool,
    /// Which segments of fast recovery are green.
    #[serde(default = "fast_recovery")]
    fast_recovery: OneOf<RecoverySegments>,
}

choices!(RecoverySegments as "RecoverySegments" {
    /// All segments, as published for NewReno.
    "all" => RecoverySegments::All,
    /// Retransmitted segments, as published for Reno.
    "retransmissions" => RecoverySegments::Retransmissions,
});

/// Noureddine & Tobagi 2002, §6.3: HIGH_thresh is 4 segments, MED_thresh twice as much.
fn high() -> u32 {
    4
}

fn fast_recovery() -> OneOf<RecoverySegments> {
    OneOf(RecoverySegments::All)
}

/// The marker's parameters.
pub type Plan = TcpStateParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Noureddine & Tobagi 2002";
    const EXAMPLE: &'static str = r#"[[roles.servers.classes]]
name = "web"
match = { protocol = "tcp", src_port = 80 }
marker.tcp-state = { high = 4, medium = 8 }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let medium = self.medium.unwrap_or(self.high.saturating_mul(2));
        let crossing = if self.randomized { Crossing::Randomized } else { Crossing::Sharp };
        let params = TcpStateParams::new(self.high, medium, crossing, self.fast_recovery.0);
        checker.accept(path, params)
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        TcpStateMarker::new(plan.clone(), code_points, rng).into()
    }

    fn asks(_: &Plan) -> Asked {
        Asked::Tcp
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }
}
