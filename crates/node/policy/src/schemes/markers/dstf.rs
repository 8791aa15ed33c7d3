//! `dstf`: the less a flow has sent, the better its priority.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{Counted, DstfMarker, DstfParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Duration, Rate, Rng};

use crate::check::Checker;
use crate::keys::{CodePoints, Levels, OneOf, PerKey, ThresholdsKey, choices};
use crate::scheme::MarkerScheme;

/// Discrete Smallest Transmitted Flow first: the less a flow has sent, the better its priority.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Dstf")]
pub(crate) struct Keys {
    /// Bytes sent up to which a packet has priority 1, 2 and so on. Above the last threshold it has the last
    /// priority. Default: seven thresholds from 5 KB to 1.2 MB.
    thresholds: Option<ThresholdsKey>,
    /// The code point of each priority, the best first. Default: consecutive code points down to BE; with
    /// seven thresholds, from CS7.
    code_points: Option<CodePoints>,
    /// Whose bytes count together. Default: "flow". Use "host-pair" against transfers that are split into
    /// several connections.
    per: Option<PerKey>,
    /// Rate at which sent bytes are forgotten. At zero, none are.
    #[serde(default)]
    decay: Rate,
    /// How many new flows (or pairs) per second get priority 1 while the table is full. Further new flows
    /// count as a flood, and start with the last priority. At zero, all do.
    #[serde(default = "most_new")]
    most_new: u32,
    /// Which bytes of a packet count.
    #[serde(default = "count")]
    count: OneOf<Counted>,
}

choices!(Counted as "Counted" {
    /// All bytes, headers included.
    "packet" => Counted::Packet,
    /// Payload only.
    "payload" => Counted::Payload,
});

fn count() -> OneOf<Counted> {
    OneOf(Counted::Packet)
}

fn most_new() -> u32 {
    5_000
}

/// The marker's parameters.
pub type Plan = DstfParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Guo, Zhu, Zhang & Zhang 2005";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "all"
marker.dstf = { thresholds = ["10 KB", "100 KB"], code_points = ["AF11", "AF12", "AF13"] }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let Keys { thresholds, code_points, .. } = self;
        let levels = Levels { thresholds: thresholds.as_ref(), code_points: code_points.as_ref() };
        let levels = levels.check(checker, path);
        let settled = levels
            .as_ref()
            .map_or(Duration::ZERO, |levels| DstfParams::settled_after(levels, self.decay));
        let per = checker.per_flow(path, self.per.as_ref(), settled);
        let params = DstfParams::new(levels?, per?, self.count.0, self.decay);
        checker.accept(path, params.map(|params| params.believing(self.most_new)))
    }

    fn build(plan: &Plan, _: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        DstfMarker::new(plan.clone(), rng).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }

    fn writes(plan: &Plan, _: [Dscp; 3]) -> Vec<Dscp> {
        plan.levels().code_points().to_vec()
    }
}
