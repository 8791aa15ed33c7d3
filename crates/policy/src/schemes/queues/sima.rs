//! `sima`: two buffers behind one test of precedence.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::SimaClass;
use shortflow_elements::queue::{PrecedenceMap, Sima, SimaBuffer, SimaQueueParams};
use shortflow_units::{Bytes, Length};

use crate::check::Checker;
use crate::keys::{CodePoints, OneOf, choices};
use crate::scheme::{Port, QueueScheme};

/// The core node of SIMA (Simple Integrated Media Access): a buffer for real-time traffic, served
/// first, and one for the rest. The fuller they are, the higher is the drop precedence that a packet
/// must have; one of a lower precedence is dropped before it is buffered. Packets of no code point
/// that is named are non-real-time traffic of precedence 0.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SimaQueue")]
pub(crate) struct Keys {
    /// The buffer of real-time traffic, served first.
    real_time: BufferKeys,
    /// The buffer of non-real-time traffic.
    non_real_time: BufferKeys,
    /// How the allowed precedence follows from the average occupancies of the two buffers, each from
    /// 0 to 1.
    #[serde(default = "allowed")]
    allowed: OneOf<PrecedenceMap>,
}

/// One of the two buffers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SimaBuffer")]
struct BufferKeys {
    /// What it holds.
    #[schemars(extend("x-range" = "1 B to 1 TB"))]
    limit: Bytes,
    /// The weight of a sample, which every arrival takes, in its average occupancy; at 1 the occupancy
    /// itself counts.
    #[serde(default = "weight")]
    #[schemars(extend("x-range" = "above 0, at most 1"))]
    weight: f64,
    /// The code points of its drop precedences 0 to 7; by default those of local use, as a `sima`
    /// marker writes them: 3, 7, … 31, in real time 35, 39, … 63.
    code_points: Option<CodePoints>,
}

choices!(PrecedenceMap as "PrecedenceMap" {
    /// 7 times the greater of both, rounded up: precedence 0 passes only while both are empty.
    "ceiling-of-greater" => PrecedenceMap::CeilingOfGreater,
    /// 8 times the greater of both, rounded down: precedence 0 passes below one eighth.
    "floor-of-greater" => PrecedenceMap::FloorOfGreater,
    /// 7 times the mean of both, rounded up.
    "ceiling-of-mean" => PrecedenceMap::CeilingOfMean,
    /// 8 times the mean of both, rounded down.
    "floor-of-mean" => PrecedenceMap::FloorOfMean,
});

fn allowed() -> OneOf<PrecedenceMap> {
    OneOf(PrecedenceMap::default())
}

fn weight() -> f64 {
    1.0
}

/// The queue's parameters, which are large.
pub type Plan = Box<SimaQueueParams>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Laatu, Harju & Loula 2003";
    const EXAMPLE: &'static str = r#"[roles.core.queue.sima]
real_time = { limit = "9800 B" }
non_real_time = { limit = "20 KB" }
allowed = "floor-of-greater"
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let real_time =
            self.real_time.check(checker, &format!("{path}.real_time"), SimaClass::RealTime);
        let other = &self.non_real_time;
        let other = other.check(checker, &format!("{path}.non_real_time"), SimaClass::NonRealTime);
        let params = SimaQueueParams::new(real_time?, other?, self.allowed.0);
        checker.accept(path, params).map(Box::new)
    }

    fn build(plan: &Plan, _: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Box::new(Sima::new(plan.as_ref().clone()))
    }
}

impl BufferKeys {
    fn check(&self, checker: &mut Checker<'_>, path: &str, class: SimaClass) -> Option<SimaBuffer> {
        checker.limit(path, Length::Bytes(self.limit));
        let code_points = match &self.code_points {
            Some(points) => checker.each_precedence(path, points)?,
            None => class.code_points(),
        };
        checker.accept(path, SimaBuffer::new(self.limit, self.weight, code_points))
    }
}
