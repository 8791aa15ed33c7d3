//! `htb`: at least a rate for each class, at most another, and the rest shared.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::scheduler::{FairShares, RateRange};
use shortflow_units::Rate;

use crate::check::Checker;
use crate::keys::{MatchKeys, Turns};
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Hierarchical token bucket: each class gets at least a rate, borrows what others leave, and gets at most another rate.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Htb")]
pub(crate) struct Keys {
    /// The classes. A packet belongs to the first class whose `match` fits, or to the last class. On a device, `htb` is the outermost
    /// queue, or that of the outermost shaper.
    #[schemars(extend("x-range" = "at least one"))]
    classes: Vec<ClassKeys>,
}

/// A class of a hierarchical token bucket.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HtbClass")]
struct ClassKeys {
    /// Which packets belong to the class. Default: all.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// The rate that the class gets when it needs it, if all classes together have at most the rate of the line. What classes
    /// leave, the others share in proportion to these rates.
    #[schemars(extend("x-range" = "above zero"))]
    at_least: Rate,
    /// The rate that the class never exceeds. Default: that of the line.
    #[schemars(extend("x-range" = "not below `at_least`"))]
    at_most: Option<Rate>,
    /// Its queue.
    queue: QueueKeys,
}

/// The queues in order, each with its rates.
pub type Plan = Turns<RateRange>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str =
        "tc-htb(8); Goyal, Vin & Cheng 1996 (start-time fair queueing) in the simulator";
    const EXAMPLE: &'static str = r#"[[roles.core.queue.htb.classes]]
match = { dst = "10.1.0.0/16" }
at_least = "6 Mbit/s"
queue.fq-codel = {}

[[roles.core.queue.htb.classes]]
at_least = "2 Mbit/s"
at_most = "5 Mbit/s"
queue.fq-codel = {}
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let each = self.classes.iter();
        let each = each.map(|class| {
            (&class.rule, RateRange::new(class.at_least, class.at_most), &class.queue)
        });
        Turns::check(checker, path, "classes", each)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        let shares = FairShares::new(plan.classifier().clone(), plan.build(port), plan.last());
        Box::new(shares.expect("a checked policy has rates above zero"))
    }

    fn guaranteed(plan: &Plan) -> Option<Rate> {
        let rates = plan.classes().iter().map(|(rates, _)| rates.at_least().bits_per_sec());
        Some(Rate::from_bits_per_sec(rates.fold(0, u64::saturating_add)))
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        plan.inner()
    }
}
