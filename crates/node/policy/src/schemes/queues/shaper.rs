//! `shaper`: limits the rate at which packets leave.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{Shaper, ShaperParams};
use shortflow_units::{Bytes, Instant, LinkLayer, Rate};

use crate::check::Checker;
use crate::scheme::{Port, QueueScheme};
use crate::schemes::queues::{QueueKeys, QueuePlan};

/// Limits the rate at which packets leave. Packets then wait here, in the inner queue, instead of at a
/// bottleneck that cannot be configured, such as a modem.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Shaper")]
pub(crate) struct Keys {
    /// Rate at which packets leave. Set it a little below the rate of the bottleneck.
    #[schemars(extend("x-range" = "above zero"))]
    rate: Rate,
    /// Bytes that may leave at full line rate after a pause.
    #[serde(default)]
    burst: Bytes,
    /// Bytes that the bottleneck's link adds to each packet. Replaces the overhead of `link_layer`.
    #[schemars(extend("x-range" = "at most 256 B"))]
    overhead: Option<Bytes>,
    /// Link layer of the bottleneck: a name such as `"docsis"` or `"pppoe-ptm"`, parts such as
    /// `"overhead 40 mpu 64 atm"`, or a table with `overhead`, `mpu` and `framing`. Each packet counts as the
    /// bytes that it takes there.
    link_layer: Option<LinkLayer>,
    /// The queue in which packets wait.
    queue: Box<QueueKeys>,
}

/// The shaper's parameters, and the inner queue.
#[derive(Debug, Clone)]
pub struct Plan {
    params: ShaperParams,
    queue: Box<QueuePlan>,
}

impl Plan {
    /// The rate, the burst, and the link layer that determines the size of packets.
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
            let max = LinkLayer::MAX_BYTES;
            let message = format!("overhead must be 0 B to {max} B; found {overhead}");
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
        shaper.into()
    }

    fn shaped_to(plan: &Plan) -> Option<Rate> {
        // The overhead per packet matters most for small packets.
        (plan.params.link_layer() == LinkLayer::RAW).then_some(plan.params.rate())
    }

    fn inner(plan: &Plan) -> Vec<&QueuePlan> {
        vec![&plan.queue]
    }
}
