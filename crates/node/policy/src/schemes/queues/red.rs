//! `red`: random early detection.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::queue::{AnyGate, Averages, Red, RedGate};

use crate::check::Checker;
use crate::keys::{RedPlan, curve_keys};
use crate::scheme::{Port, QueueScheme};

curve_keys! {
    red_keys! {
        /// Random Early Detection: drops packets at random before the queue is full. The longer the average
        /// queue, the more packets it drops.
        #[schemars(rename = "Red")]
        struct Keys {}
    }
}

/// The queue's parameters, without the rate of its link.
pub type Plan = RedPlan;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Floyd & Jacobson 1993";
    const EXAMPLE: &'static str = r#"[roles.core.queue.red]
limit = "100 pkt"
min_threshold = "10 %"
max_threshold = "30 %"
max_probability = 0.1
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let common = self.common();
        let curve = self.curve(checker, path, &common)?;
        let level_of = DscpTable::filled(0);
        RedPlan::new(checker, path, &common, vec![curve], level_of, Averages::Shared)
    }

    fn marks(plan: &Plan) -> bool {
        plan.ecn().marks()
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Red::new(plan.params(port.rate), port.stream()).into()
    }

    fn gate(plan: &Plan, port: &Port<'_>) -> Option<AnyGate> {
        Some(RedGate::new(plan.params(port.rate), port.stream()).into())
    }
}
