//! `shaper`: holds packets back to a rate of its own.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Shaper, ShaperParams};
use shortflow_units::{Bytes, Instant, LinkLayer, Rate};

use crate::check::Checker;
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Holds packets back to a rate of its own: where the bottleneck lies further on, in a modem that
/// nobody can configure, packets then wait here, in the queue inside.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Shaper")]
pub(crate) struct Keys {
    /// The rate at which packets leave. It should be a little below that of the bottleneck.
    #[schemars(extend("x-range" = "above zero"))]
    rate: Rate,
    /// How many bytes may leave after a pause as fast as the line takes them.
    #[serde(default)]
    burst: Bytes,
    /// Bytes that the bottleneck's link adds to each packet, in the place of the link layer's.
    #[schemars(extend("x-range" = "at most 65535 B"))]
    overhead: Option<Bytes>,
    /// How the bottleneck's link frames packets, such as `"docsis"`, `"pppoe-ptm"`, `"overhead 40 mpu 64 atm"`, or a
    /// table with `overhead`, `mpu` and `framing`. Each packet counts for what it takes there.
    link_layer: Option<LinkLayer>,
    /// The queue in which packets wait.
    queue: Box<QueueKeys>,
}

/// The shaper's parameters, and the queue inside.
#[derive(Debug, Clone)]
pub struct Plan {
    params: ShaperParams,
    queue: Box<QueuePlan>,
}

impl Plan {
    /// The rate, the burst, and the link layer by which packets are counted.
    pub fn params(&self) -> &ShaperParams {
        &self.params
    }

    /// The queue in which packets wait.
    pub fn queue(&self) -> &QueuePlan {
        &self.queue
    }
}

impl Keys {
    /// The link layer of the bottleneck.
    fn link_layer(&self, checker: &mut Checker<'_>, path: &str) -> Option<LinkLayer> {
        let layer = self.link_layer.unwrap_or_default();
        let Some(overhead) = self.overhead else { return Some(layer) };
        let found = layer.with_overhead(overhead.0 as i64);
        if found.is_none() {
            let message = format!("overhead must be 0 B to 65535 B; found {overhead}");
            let help = "give the bytes of the link's headers";
            checker.document.mistake(&format!("{path}.overhead"), message, help);
        }
        found
    }
}

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2475, section 2.3.3.3; RFC 3290, section 7.2";
    const EXAMPLE: &'static str = r#"[roles.core.queue.shaper]
rate = "19 Mbit/s"
queue.fq-codel = {}
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.filling(&format!("{path}.burst"), "burst", self.burst, self.rate);
        let params = checker.accept(path, ShaperParams::new(self.rate, self.burst));
        let queue = self.queue.check(checker, &format!("{path}.queue"));
        let params = params?.with_link_layer(self.link_layer(checker, path)?);
        Some(Plan { params, queue: Box::new(queue?) })
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        let inner = port.inner(0);
        let inner = Port { rate: port.rate.min(plan.params.rate()), ..inner };
        let mut shaper = Shaper::new(plan.params.clone(), plan.queue.build(&inner));
        shaper.set_rate(Instant::START, port.rate);
        Box::new(shaper)
    }

    fn shaped_to(plan: &Plan) -> Option<Rate> {
        // What is counted for each packet beside its bytes takes the more, the smaller packets are.
        (plan.params.link_layer() == LinkLayer::RAW).then_some(plan.params.rate())
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        vec![&plan.queue]
    }
}
