//! `host-fair`: fair between hosts, then between their flows.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Fairness, HostFair, HostFairParams};

use crate::check::Checker;
use crate::keys::{OneOf, choices, flow_queue_keys};
use crate::scheme::{Port, QueueScheme};

flow_queue_keys! {
    /// Fair between hosts, then between their flows, with CoDel on each flow, similar to CAKE. The number of
    /// `queues` must be a multiple of 8.
    #[schemars(rename = "HostFair")]
    struct Keys {
        /// Which hosts share the link fairly.
        by: OneOf<Fairness>,
        /// The length of the prefix that identifies an IPv6 host. Providers give one user a prefix, such as a
        /// /64 (the default) or a /56.
        #[schemars(range(min = 1, max = 128), extend("x-range" = "1 to 128"))]
        ipv6_prefix: Option<u8>,
    }
}

choices!(Fairness as "Fairness" {
    /// The sending hosts.
    "source" => Fairness::Source,
    /// The receiving hosts.
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
        checker.limit_for_blue(path, self.limit);
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
        HostFair::new(plan.clone(), port.stream()).into()
    }
}
