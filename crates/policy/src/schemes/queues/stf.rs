//! `stf`: Smallest Transmitted Flow first, which is least attained service.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Stf, StfParams};
use shortflow_units::{Duration, Length};

use crate::check::Checker;
use crate::scheme::{Port, QueueScheme};

/// Smallest Transmitted Flow first: serves the flow of which the fewest bytes have left so far;
/// when the buffer is full, the newest packet of the flow served most is pushed out.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stf")]
pub(crate) struct Keys {
    /// What the queue holds.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Length,
    /// How many flows are remembered at most. When they are that many, a new one takes the place of
    /// the one that has been silent longest.
    #[serde(default = "flows")]
    #[schemars(extend("x-range" = "at least 1"))]
    flows: u32,
    /// A flow that was silent for longer is forgotten, and starts again at zero bytes.
    #[serde(default = "idle_timeout")]
    #[schemars(extend("x-range" = "above zero"))]
    idle_timeout: Duration,
}

/// As many flows as one host has ports.
fn flows() -> u32 {
    65_536
}

/// Longer than the timeouts of TCP that keep a transfer waiting.
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
        Box::new(Stf::new(plan.clone(), port.stream()))
    }
}
