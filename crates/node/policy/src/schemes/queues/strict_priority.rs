//! `strict-priority`: each queue is served only when those before it are empty.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::scheduler::StrictPriority;

use crate::check::Checker;
use crate::keys::{MatchKeys, Turns};
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Several queues. Each is served only while the queues before it are empty.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StrictPriority")]
pub(crate) struct Keys {
    /// The bands, the first served first. A packet belongs to the first band whose `match` fits, or to the
    /// last.
    #[schemars(extend("x-range" = "at least one"))]
    bands: Vec<ClassKeys>,
}

/// A band of a strict-priority queue.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StrictPriorityClass")]
struct ClassKeys {
    /// Which packets belong to the band. Default: all.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// Its queue.
    queue: QueueKeys,
}

/// The queues in order.
pub type Plan = Turns<()>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 3246, section 2";
    const EXAMPLE: &'static str = r#"[[roles.core.queue.strict-priority.bands]]
match = { dscp = "EF" }
queue.fifo = { limit = "20 pkt" }

[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "100 pkt" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let each = self.bands.iter().map(|class| (&class.rule, Ok(()), &class.queue));
        Turns::check(checker, path, "bands", each)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        let queues = plan.build(port).into_iter().map(|((), queue)| queue).collect();
        let scheduler = StrictPriority::new(plan.classifier().clone(), queues, plan.last());
        scheduler.expect("a checked policy has a band for every class").into()
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        plan.inner()
    }
}
