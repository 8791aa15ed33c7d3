//! `wfq`: weighted fair queueing.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::Classifier;
use shortflow_elements::queue::{Share, Weight, Wfq, WfqClass, WfqParams, WhenFull};
use shortflow_units::{Length, Rate};

use crate::check::Checker;
use crate::keys::{MatchKeys, OneOf, choices};
use crate::scheme::{Port, QueueScheme};
use crate::shadows;

/// Weighted fair queueing, packet by packet: classes share the link in proportion to their weights.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Wfq")]
pub(crate) struct Keys {
    /// What the classes that have no `limit` of their own hold together.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Option<Length>,
    /// Which packet is dropped when a limit is reached that classes or flows share; "push-out" by
    /// default, which protects what keeps to its share.
    full: Option<OneOf<WhenFull>>,
    /// The classes. A packet goes to the first whose `match` fits, else to the last.
    #[schemars(extend("x-range" = "at least one"))]
    classes: Vec<ClassKeys>,
}

/// A class of a weighted fair queue.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WfqClass")]
struct ClassKeys {
    /// Which packets belong to the class; all by default.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// The share of the link: a reserved rate in every class, or a number in every class.
    #[schemars(extend("x-range" = "1 bit/s to 1 Tbit/s, or 0.001 to 1000000"))]
    weight: WeightKey,
    /// Who has the weight.
    #[serde(default = "per")]
    per: OneOf<Owner>,
    /// What the class holds.
    limit: Option<Length>,
    /// What each flow of the class holds, where the weight is per flow.
    flow_limit: Option<Length>,
}

choices!(WhenFull as "WhenFull" {
    /// The newest of the class, or of the flow with a weight of its own, that holds the most for its
    /// weight.
    "push-out" => WhenFull::PushOut,
    /// The one that arrives, so that a class that floods the buffer takes the link, whatever the
    /// weights.
    "tail-drop" => WhenFull::TailDrop,
});

/// Who has the weight of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Class,
    Flow,
}

choices!(Owner as "WeightOf" {
    /// The class as a whole.
    "class" => Owner::Class,
    /// Each 5-tuple one of its own.
    "flow" => Owner::Flow,
});

fn per() -> OneOf<Owner> {
    OneOf(Owner::Class)
}

/// The queue's parameters.
pub type Plan = WfqParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Parekh & Gallager 1993";
    const EXAMPLE: &'static str = r#"[roles.core.queue.wfq]
limit = "100 pkt"

[[roles.core.queue.wfq.classes]]
match = { dscp = "AF11" }
weight = 3

[[roles.core.queue.wfq.classes]]
weight = 1
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        if self.classes.is_empty() {
            let help = "list at least one: { match = …, weight = 1 }";
            let message = "the list of classes is empty";
            checker.document.mistake(&format!("{path}.classes"), message, help);
            return None;
        }
        let written: Vec<&MatchKeys> = self.classes.iter().map(|class| &class.rule).collect();
        checker.reachable(&format!("{path}.classes"), &written);
        let is_rate = |class: &ClassKeys| matches!(class.weight, WeightKey::Rate(_));
        let mut rules = Vec::new();
        let mut classes = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let path = format!("{path}.classes.{index}");
            rules.push((checker.rule(&format!("{path}.match"), index, &class.rule), index));
            if is_rate(class) != is_rate(&self.classes[0]) {
                let message = "the weight of one class is a rate, that of another is a number";
                let help = "write rates for all classes, or numbers for all classes";
                checker.document.mistake(&format!("{path}.weight"), message, help);
            }
            classes.extend(class.check(checker, &path));
        }
        if classes.len() < self.classes.len() {
            return None;
        }
        shadows::warn_entries(checker.document, &format!("{path}.classes"), &rules);
        let last = classes.len() - 1;
        let params = WfqParams::new(classes, Classifier::new(rules), last, self.limit);
        let params = params.and_then(|params| match &self.full {
            Some(OneOf(when_full)) => params.with_when_full(*when_full),
            None => Ok(params),
        });
        checker.accept(path, params)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        Box::new(Wfq::new(plan.clone(), port.rate, port.stream()))
    }
}

impl ClassKeys {
    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<WfqClass> {
        if self.flow_limit.is_some() && self.per.0 == Owner::Class {
            let message = "`flow_limit` has no effect in a class that is served as one flow";
            let help =
                "set per = \"flow\" to serve each flow of the class by itself, or remove the key";
            checker.document.mistake(&format!("{path}.flow_limit"), message, help);
        }
        let weight = match self.weight {
            WeightKey::Rate(rate) => Weight::of_rate(rate),
            WeightKey::Number(number) => Weight::of_number(number),
        };
        let share = match self.per.0 {
            Owner::Class => Share::Class,
            Owner::Flow => Share::Flow { limit: self.flow_limit },
        };
        let weight = checker.accept(path, weight)?;
        checker.accept(path, WfqClass::new(weight, share, self.limit))
    }
}

/// A share of a link: a rate, or a number.
#[derive(Debug, Clone, Copy)]
enum WeightKey {
    Rate(Rate),
    Number(f64),
}

impl<'de> Deserialize<'de> for WeightKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = WeightKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a rate such as \"40 kbit/s\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<WeightKey, E> {
                Ok(WeightKey::Number(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<WeightKey, E> {
                Ok(WeightKey::Number(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<WeightKey, E> {
                text.parse()
                    .map(WeightKey::Rate)
                    .map_err(|error| E::custom(format_args!("{error:#}")))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for WeightKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Weight".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, rate] })
    }
}
