//! `srpt`: the less remains of a message, the better its priority.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{SrptMarker, SrptParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::Rng;

use crate::Asked;
use crate::check::Checker;
use crate::keys::{CodePoints, Levels, ThresholdsKey};
use crate::scheme::MarkerScheme;

/// Shortest Remaining Processing Time first, in levels (SRPT-FP): the less remains of a message, the better
/// its priority. Only at the sending host.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Srpt")]
pub(crate) struct Keys {
    /// Remaining bytes up to which a packet has priority 1, 2 and so on. Above the last threshold it has the
    /// last priority. Default: seven thresholds from 5 KB to 1.2 MB.
    thresholds: Option<ThresholdsKey>,
    /// The code point of each priority, the best first. Default: consecutive code points down to BE; with
    /// seven thresholds, from CS7.
    code_points: Option<CodePoints>,
    /// Priority of packets whose remaining bytes are unknown. Default: the last.
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
        SrptMarker::new(plan.clone()).into()
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
