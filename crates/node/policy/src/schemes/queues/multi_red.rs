//! `multi-red`: RED with a drop curve for each level of drop precedence.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::{DscpSet, DscpTable};
use shortflow_elements::queue::{AnyGate, Averages, Red, RedGate};
use shortflow_packet::Dscp;

use crate::check::Checker;
use crate::keys::{CodePoints, OneOf, RedPlan, choices, curve_keys, red_keys};
use crate::scheme::{Port, QueueScheme};

red_keys! {
    /// RED with a drop curve for each level of drop precedence (RIO, WRED): packets of better protected
    /// levels are dropped later.
    #[schemars(rename = "MultiRed")]
    struct Keys {
        /// Which packets count in a level's average queue.
        #[serde(default = "average")]
        average: OneOf<Averages>,
        /// The levels, the best protected first. Code points that no level lists belong to the level with
        /// `code_points = "rest"`, or to the last.
        #[schemars(extend("x-range" = "1 to 64 levels"))]
        levels: Vec<LevelKeys>,
    }
}

choices!(Averages as "Averages" {
    /// All packets: one average for all levels (WRED).
    "shared" => Averages::Shared,
    /// Packets of the same level (RIO-D).
    "per-level" => Averages::PerLevel,
    /// Packets of the same level and of all better protected levels (RIO-C).
    "cumulative" => Averages::Coupled,
});

fn average() -> OneOf<Averages> {
    OneOf(Averages::Shared)
}

curve_keys! {
    key_table! {
        /// A level of drop precedence.
        #[schemars(rename = "Level")]
        struct LevelKeys {
            /// The code points of the level, or "rest" for all that no level lists.
            code_points: LevelPoints,
        }
    }
}

/// The queue's parameters, without the rate of its link.
pub type Plan = RedPlan;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Clark & Fang 1998 (RIO)";
    const EXAMPLE: &'static str = r#"[roles.core.queue.multi-red]
limit = "100 pkt"

[[roles.core.queue.multi-red.levels]]
code_points = ["AF11"]
min_threshold = "40 pkt"
max_threshold = "60 pkt"
max_probability = 0.05

[[roles.core.queue.multi-red.levels]]
code_points = "rest"
min_threshold = "10 pkt"
max_threshold = "30 pkt"
max_probability = 0.2
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        if self.levels.is_empty() || self.levels.len() > Dscp::COUNT {
            let help = "list 1 to 64 levels, the best protected first";
            let message =
                format!("multi-red must have 1 to 64 levels; found {}", self.levels.len());
            checker.document.mistake(&format!("{path}.levels"), message, help);
            return None;
        }
        let common = self.common();
        let level_of = self.level_of(checker, path);
        let mut curves = Vec::new();
        for (index, level) in self.levels.iter().enumerate() {
            curves.extend(level.curve(checker, &format!("{path}.levels.{index}"), &common));
        }
        if curves.len() < self.levels.len() {
            return None;
        }
        RedPlan::new(checker, path, &common, curves, level_of, self.average.0)
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

impl Keys {
    fn level_of(&self, checker: &mut Checker<'_>, path: &str) -> DscpTable<u8> {
        let is_rest = |level: &LevelKeys| matches!(level.code_points, LevelPoints::Rest);
        let rest = self.levels.iter().position(is_rest).unwrap_or(self.levels.len() - 1);
        let mut table = DscpTable::filled(rest as u8);
        let mut named = DscpSet::EMPTY;
        for (index, level) in self.levels.iter().enumerate() {
            let path = format!("{path}.levels.{index}.code_points");
            match &level.code_points {
                LevelPoints::Rest if index != rest => {
                    let help =
                        "write \"rest\" in one level only, and list the code points of the others";
                    checker.document.mistake(&path, "\"rest\" is in two levels", help);
                }
                LevelPoints::Rest => {}
                LevelPoints::Named(points) => {
                    for (place, dscp) in points.iter().enumerate() {
                        if named.contains(dscp) {
                            let path = format!("{path}.{place}");
                            let message = format!("the code point {dscp} is in two levels");
                            checker.document.mistake(&path, message, "name it in one level only");
                        }
                        named = named.with(dscp);
                        table = table.with(dscp, index as u8);
                    }
                }
            }
        }
        table
    }
}

/// Code points, or all that no level lists.
#[derive(Debug, Clone)]
pub(crate) enum LevelPoints {
    Named(CodePoints),
    Rest,
}

impl<'de> Deserialize<'de> for LevelPoints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = LevelPoints;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of code points such as [\"AF11\"], or \"rest\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LevelPoints, E> {
                match text {
                    "rest" => Ok(LevelPoints::Rest),
                    _ => CodePoints::deserialize(de::value::StrDeserializer::new(text))
                        .map(LevelPoints::Named),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<LevelPoints, A::Error> {
                let seq = de::value::SeqAccessDeserializer::new(seq);
                CodePoints::deserialize(seq).map(LevelPoints::Named)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for LevelPoints {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LevelCodePoints".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let points = generator.subschema_for::<CodePoints>();
        schemars::json_schema!({
            "description": "code points, or \"rest\"",
            "anyOf": [points, { "type": "string", "const": "rest" }],
        })
    }
}
