//! `fq-codel`: per-flow queues, served in turn, each with CoDel.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{FqCodel, FqCodelParams};

use crate::check::Checker;
use crate::keys::flow_queue_keys;
use crate::scheme::{Port, QueueScheme};

flow_queue_keys! {
    /// Per-flow queues, served in turn, each with CoDel.
    #[schemars(rename = "FqCodel")]
    struct Keys {}
}

/// The queue's parameters.
pub type Plan = FqCodelParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 8290, with CoDel of RFC 8289";
    const EXAMPLE: &'static str = r#"[roles.core]
queue.fq-codel = { target = "5 ms", interval = "100 ms" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let settings = self.settings(checker, path)?;
        checker.accept(path, FqCodelParams::new(settings))
    }

    fn marks(plan: &Plan) -> bool {
        plan.settings().ecn.marks()
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        FqCodel::new(plan.clone(), port.stream()).into()
    }
}
