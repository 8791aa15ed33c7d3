//! `host-fair`: fair to hosts, then to their flows.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Fairness, HostFair, HostFairParams};

use crate::check::Checker;
use crate::keys::{OneOf, choices, flow_queue_keys};
use crate::scheme::{Port, QueueScheme};

flow_queue_keys! {
    /// Fair to hosts, then to their flows, with CoDel on each flow, in the manner of CAKE. The
    /// number of `queues` is a multiple of 8.
    #[schemars(rename = "HostFair")]
    struct Keys {
        /// Between which hosts there is fairness.
        by: OneOf<Fairness>,
        /// How many bits of its address a host of IPv6 is known by: those that its provider gives
        /// to one user; 64 by default.
        #[schemars(range(min = 1, max = 128), extend("x-range" = "1 to 128"))]
        ipv6_prefix: Option<u8>,
    }
}

choices!(Fairness as "Fairness" {
    /// Those that send.
    "source" => Fairness::Source,
    /// Those that receive.
    "destination" => Fairness::Destination,
    /// Both (triple isolation).
    "both" => Fairness::Both,
});

/// The queue's parameters.
pub type Plan = HostFairParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Høiland-Jørgensen, Täht & Morton 2018";
    const EXAMPLE: &'static str = r#"[roles.core]
queue.host-fair = { by = "both" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let settings = self.settings(checker, path)?;
        let params = HostFairParams::new(settings, self.by.0);
        let params = params.and_then(|params| match self.ipv6_prefix {
            Some(length) => params.with_ipv6_prefix(length),
            None => Ok(params),
        });
        checker.accept(path, params)
    }

    fn marks(plan: &Plan) -> bool {
        plan.settings().ecn.marks()
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Box::new(HostFair::new(plan.clone(), port.stream()))
    }
}
