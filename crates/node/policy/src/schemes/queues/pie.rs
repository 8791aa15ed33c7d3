//! `pie`: keeps the queueing delay near a target by early drops.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::queue::{EcnMode, Pie, PieParams, PieSettings};
use shortflow_units::{Duration, Length};

use crate::check::Checker;
use crate::scheme::{Port, QueueScheme};

/// Proportional Integral controller Enhanced: drops packets at random, with the probability that keeps the
/// queueing delay near its target.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Pie")]
pub(crate) struct Keys {
    /// Limit of the queue.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Length,
    /// Target queueing delay (QDELAY_REF).
    #[serde(default = "fifteen")]
    #[schemars(extend("x-range" = "above zero"))]
    target: Duration,
    /// Time between updates of the drop probability (T_UPDATE).
    #[serde(default = "fifteen")]
    #[schemars(extend("x-range" = "at least 100 us"))]
    update: Duration,
    /// How long a burst after an idle time is exempt from drops (MAX_BURST).
    #[serde(default = "max_burst")]
    max_burst: Duration,
    /// Change of the drop probability per update, per second of delay above the target.
    #[serde(default = "alpha")]
    #[schemars(extend("x-range" = "above 0, at most 100"))]
    alpha: f64,
    /// Change of the drop probability per update, per second of increase of the delay since the last update.
    #[serde(default = "beta")]
    #[schemars(extend("x-range" = "above 0, at most 100"))]
    beta: f64,
    /// Whether ECN-capable packets are marked instead of dropped while the probability is below 10 %.
    #[serde(default)]
    ecn: bool,
}

// RFC 8033, section 4 and Appendix A: the parameters and their defaults.

fn fifteen() -> Duration {
    Duration::from_millis(15)
}

fn max_burst() -> Duration {
    Duration::from_millis(150)
}

fn alpha() -> f64 {
    0.125
}

fn beta() -> f64 {
    1.25
}

/// The queue's parameters.
pub type Plan = PieParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 8033";
    const EXAMPLE: &'static str = r#"[roles.core]
queue.pie = { limit = "1000 pkt", target = "15 ms", ecn = true }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.managed_limit(path, self.limit);
        let settings = PieSettings {
            limit: self.limit,
            target: self.target,
            update: self.update,
            max_burst: self.max_burst,
            alpha: self.alpha,
            beta: self.beta,
            ecn: if self.ecn { EcnMode::Mark } else { EcnMode::Drop },
        };
        checker.accept(path, PieParams::new(settings))
    }

    fn marks(plan: &Plan) -> bool {
        plan.settings().ecn.marks()
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Pie::new(plan.clone(), port.stream()).into()
    }
}
