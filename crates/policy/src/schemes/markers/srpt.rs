//! `srpt`: the less remains of a message, the better its priority.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{SrptMarker, SrptParams};
use shortflow_elements::{Color, Dscp, Marker};
use shortflow_units::Rng;

use crate::Asked;
use crate::check::Checker;
use crate::keys::{CodePoints, Levels, ThresholdsKey};
use crate::scheme::MarkerScheme;

/// Shortest remaining processing time first, in levels (SRPT-FP): the less remains of a message,
/// the better its priority. At a connection's own host only.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Srpt")]
pub(crate) struct Keys {
    /// Remaining bytes up to which a packet has priority 1, 2 and so on; beyond the last threshold
    /// it has the last. 5 KB to 1.2 MB in seven steps by default.
    thresholds: Option<ThresholdsKey>,
    /// The code point of each priority, the best first; by default down to BE, from CS7 with seven
    /// thresholds.
    code_points: Option<CodePoints>,
    /// The priority of packets of which nobody says how much remains; the last by default.
    #[schemars(extend("x-range" = "1 to the number of priorities"))]
    unknown: Option<usize>,
}

/// The marker's parameters.
pub type Plan = SrptParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Guo, Zhu, Zhang & Zhang 2005";
    const EXAMPLE: &'static str = r#"[[roles.servers.classes]]
name = "all"
marker.srpt = { thresholds = ["10 KB", "100 KB"], code_points = ["AF11", "AF12", "AF13"] }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let Keys { thresholds, code_points, .. } = self;
        let levels = Levels { thresholds: thresholds.as_ref(), code_points: code_points.as_ref() };
        let levels = levels.check(checker, path)?;
        checker.accept(path, SrptParams::new(levels, self.unknown))
    }

    fn build(plan: &Plan, _: [Dscp; 3], _: Rng) -> Box<dyn Marker> {
        Box::new(SrptMarker::new(plan.clone()))
    }

    fn asks(_: &Plan) -> Asked {
        Asked::Ends
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }

    fn writes(plan: &Plan, _: [Dscp; 3]) -> Vec<Dscp> {
        plan.levels().code_points().to_vec()
    }
}
