//! `wrr`: weighted round robin.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::scheduler::{WeightedRoundRobin, checked_weight};

use crate::check::Checker;
use crate::keys::{MatchKeys, Turns};
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Weighted round robin: several queues take turns, each with a weight in packets.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Wrr")]
pub(crate) struct Keys {
    /// The classes, in the order of their turns. A packet belongs to the first class whose `match` fits, or
    /// to the last class.
    #[schemars(extend("x-range" = "at least one"))]
    classes: Vec<ClassKeys>,
}

/// A class of a weighted round robin.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WrrClass")]
struct ClassKeys {
    /// Which packets belong to the class. Default: all.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// Packets per turn.
    #[serde(default = "weight")]
    #[schemars(extend("x-range" = "at least 1"))]
    weight: u32,
    /// Its queue.
    queue: QueueKeys,
}

fn weight() -> u32 {
    1
}

/// The queues in order, each with its share.
pub type Plan = Turns<u32>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Katevenis, Sidiropoulos & Courcoubetis 1991";
    const EXAMPLE: &'static str = r#"[[roles.core.queue.wrr.classes]]
match = { dscp = "AF11" }
weight = 3
queue.fifo = { limit = "50 pkt" }

[[roles.core.queue.wrr.classes]]
queue.fifo = { limit = "50 pkt" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let each = self
            .classes
            .iter()
            .map(|class| (&class.rule, checked_weight(class.weight), &class.queue));
        Turns::check(checker, path, "classes", each)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        let queues = plan.build(port);
        let scheduler = WeightedRoundRobin::new(plan.classifier().clone(), queues, plan.last());
        scheduler.expect("a checked policy has weights above zero").into()
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        plan.inner()
    }
}
