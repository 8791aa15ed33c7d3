//! `tcp-state`: marks by the state of the sending TCP.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{
    Adaptation, AdaptationSettings, Crossing, RecoverySegments, TcpStateMarker, TcpStateParams,
};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Rate, Rng};

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
    /// Lets the thresholds follow measured performance, from `high` and `medium` on. Default: they stay.
    adapt: Option<AdaptKeys>,
}

/// How thresholds follow measured performance. After each interval they are halved if green packets exceeded the budget.
/// Otherwise `high` grows by one segment if more than one of twenty transfers was slow. `medium` keeps its ratio to `high`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Adapt")]
struct AdaptKeys {
    /// The rate of green packets above which thresholds are halved, such as the rate of the HIGH bucket of a
    /// `source-scheduler`.
    #[schemars(extend("x-range" = "above zero"))]
    budget: Rate,
    /// A transfer is slow that is still sending its first `size` bytes after this time. A flow that pauses for 500 ms begins
    /// another transfer, unless a retransmission ends the pause.
    #[schemars(extend("x-range" = "above zero"))]
    slow: Duration,
    /// How many bytes of each transfer, with headers, should be sent by then.
    #[serde(default = "size")]
    #[schemars(extend("x-range" = "above zero"))]
    size: Bytes,
    /// The interval between two steps.
    #[serde(default = "every")]
    #[schemars(extend("x-range" = "above zero"))]
    every: Duration,
    /// The largest `high`, in segments.
    #[serde(default = "highest")]
    #[schemars(extend("x-range" = "at least `high`"))]
    highest: u32,
}

impl AdaptKeys {
    fn settings(&self) -> AdaptationSettings {
        let AdaptKeys { budget, slow, size, every, highest } = *self;
        AdaptationSettings { budget, slow, size, every, highest }
    }
}

fn size() -> Bytes {
    Bytes(30_000)
}

fn every() -> Duration {
    Duration::from_secs(1)
}

fn highest() -> u32 {
    64
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
        let params = checker.accept(path, params)?;
        let Some(adapt) = &self.adapt else { return Some(params) };
        let how = Adaptation::new(adapt.settings());
        let how = checker.accept(&format!("{path}.adapt"), how)?;
        checker.accept(path, params.adapting(how))
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
