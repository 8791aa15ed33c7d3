//! `sima`: two buffers behind one test of drop precedence.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::SimaClass;
use shortflow_elements::queue::{PrecedenceMap, Sima, SimaBuffer, SimaQueueParams};
use shortflow_units::{Bytes, Length};

use crate::check::Checker;
use crate::keys::{CodePoints, OneOf, choices};
use crate::scheme::{Port, QueueScheme};

/// The core node of SIMA (Simple Integrated Media Access): a buffer for real-time traffic, served first, and
/// one for other traffic. The fuller they are, the higher the drop precedence that a packet needs; packets of
/// lower precedence are dropped on arrival. Packets of other code points count as non-real-time traffic of
/// precedence 0.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SimaQueue")]
pub(crate) struct Keys {
    /// The buffer of real-time traffic, served first.
    real_time: BufferKeys,
    /// The buffer of non-real-time traffic.
    non_real_time: BufferKeys,
    /// How the required precedence depends on the average occupancies of the two buffers, each from 0 to 1.
    #[serde(default = "allowed")]
    allowed: OneOf<PrecedenceMap>,
}

/// One of the two buffers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SimaBuffer")]
struct BufferKeys {
    /// Limit of the buffer.
    #[schemars(extend("x-range" = "1 B to 1 TB"))]
    limit: Bytes,
    /// Weight of a sample, taken at every arrival, in the average occupancy. At 1 the current occupancy
    /// counts.
    #[serde(default = "weight")]
    #[schemars(extend("x-range" = "above 0, at most 1"))]
    weight: f64,
    /// The code points of drop precedences 0 to 7. Default: code points for local use, as a `sima` marker
    /// writes them: 3, 7, … 31, or 35, 39, … 63 for real time.
    code_points: Option<CodePoints>,
}

choices!(PrecedenceMap as "PrecedenceMap" {
    /// 7 times the larger occupancy, rounded up: packets of precedence 0 pass only while both buffers are
    /// empty.
    "ceiling-of-greater" => PrecedenceMap::CeilingOfGreater,
    /// 8 times the larger occupancy, rounded down: packets of precedence 0 pass below one eighth.
    "floor-of-greater" => PrecedenceMap::FloorOfGreater,
    /// 7 times the mean occupancy, rounded up.
    "ceiling-of-mean" => PrecedenceMap::CeilingOfMean,
    /// 8 times the mean occupancy, rounded down.
    "floor-of-mean" => PrecedenceMap::FloorOfMean,
});

fn allowed() -> OneOf<PrecedenceMap> {
    OneOf(PrecedenceMap::default())
}

fn weight() -> f64 {
    1.0
}

/// The queue's parameters, boxed because they are large.
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
        Sima::new(plan.as_ref().clone()).into()
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
