//! `drr`: deficit round robin.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::scheduler::{DeficitRoundRobin, checked_quantum};
use shortflow_units::Bytes;

use crate::check::Checker;
use crate::keys::{MatchKeys, Turns};
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Deficit round robin: several queues take turns, each with a quantum in bytes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Drr")]
pub(crate) struct Keys {
    /// The classes, in the order of their turns. A packet belongs to the first class whose `match` fits, or
    /// to the last class.
    #[schemars(extend("x-range" = "at least one"))]
    classes: Vec<ClassKeys>,
}

/// A class of a deficit round robin.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DrrClass")]
struct ClassKeys {
    /// Which packets belong to the class. Default: all.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// Bytes per turn. At least the largest packet is recommended.
    #[serde(default = "quantum")]
    #[schemars(extend("x-range" = "above zero"))]
    quantum: Bytes,
    /// Its queue.
    queue: QueueKeys,
}

/// The largest packet of an Ethernet link.
fn quantum() -> Bytes {
    Bytes(1500)
}

/// The queues in order, each with its share.
pub type Plan = Turns<Bytes>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Shreedhar & Varghese 1996";
    const EXAMPLE: &'static str = r#"[[roles.core.queue.drr.classes]]
match = { dscp = "AF11" }
quantum = "4500 B"
queue.fifo = { limit = "50 pkt" }

[[roles.core.queue.drr.classes]]
queue.fifo = { limit = "50 pkt" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let each = self.classes.iter().map(|class| {
            (&class.rule, checked_quantum(class.quantum).map(|_| class.quantum), &class.queue)
        });
        Turns::check(checker, path, "classes", each)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        let queues = plan.build(port);
        let scheduler = DeficitRoundRobin::new(plan.classifier().clone(), queues, plan.last());
        scheduler.expect("a checked policy has quanta above zero").into()
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        plan.inner()
    }
}
