//! `stf`: Smallest Transmitted Flow first (least attained service).

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Stf, StfParams};
use shortflow_units::{Duration, Length};

use crate::check::Checker;
use crate::scheme::{Port, QueueScheme};

/// Smallest Transmitted Flow first: serves the flow that has sent the fewest bytes so far. When the buffer is
/// full, the newest packet of the flow that has sent most is dropped.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stf")]
pub(crate) struct Keys {
    /// Limit of the queue.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Length,
    /// How many flows are remembered. A further flow replaces the one that has been idle longest.
    #[serde(default = "flows")]
    #[schemars(extend("x-range" = "at least 1"))]
    flows: u32,
    /// A flow that has been idle for longer is forgotten, and starts again at zero bytes.
    #[serde(default = "idle_timeout")]
    #[schemars(extend("x-range" = "above zero"))]
    idle_timeout: Duration,
}

/// The number of ports of one host.
fn flows() -> u32 {
    65_536
}

/// Longer than TCP's retransmission timeouts within a transfer.
fn idle_timeout() -> Duration {
    Duration::from_secs(60)
}

/// The queue's parameters.
pub type Plan = StfParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Guo, Zhu, Zhang & Zhang 2005";
    const EXAMPLE: &'static str = r#"[roles.core]
queue.stf = { limit = "100 pkt" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.limit(path, self.limit);
        let params = StfParams::new(self.limit, self.flows as usize, self.idle_timeout);
        checker.accept(path, params)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Stf::new(plan.clone(), port.stream()).into()
    }
}
