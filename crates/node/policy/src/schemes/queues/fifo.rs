//! `fifo`: first in, first out.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{AnyGate, Fifo, FifoParams, TailDrop};
use shortflow_units::Length;

use crate::check::Checker;
use crate::scheme::{Port, QueueScheme};

/// First in, first out. Packets above the limit are dropped.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Fifo")]
pub(crate) struct Keys {
    /// Limit of the queue.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Length,
}

/// The queue's parameters.
pub type Plan = FifoParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 7567, section 2.1 (\"tail drop\")";
    const EXAMPLE: &'static str = r#"[roles.core]
queue.fifo = { limit = "100 pkt" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.limit(path, self.limit);
        checker.accept(path, FifoParams::new(self.limit))
    }

    fn build(plan: &Plan, _: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Fifo::new(plan.clone()).into()
    }

    fn gate(plan: &Plan, _: &Port<'_>) -> Option<AnyGate> {
        Some(TailDrop::new(plan.clone()).into())
    }
}
