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
    /// Limit of all classes without their own `limit` together.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Option<Length>,
    /// Which packet is dropped when a shared limit is reached. Default: "push-out", which protects flows that
    /// keep to their share.
    full: Option<OneOf<WhenFull>>,
    /// The classes. A packet belongs to the first class whose `match` fits, or to the last.
    #[schemars(extend("x-range" = "at least one"))]
    classes: Vec<ClassKeys>,
}

/// A class of a weighted fair queue.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WfqClass")]
struct ClassKeys {
    /// Which packets belong to the class. Default: all.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// Share of the link: a reserved rate for every class, or a number for every class.
    #[schemars(extend("x-range" = "1 bit/s to 1 Tbit/s, or 0.001 to 1000000"))]
    weight: WeightKey,
    /// Whether the class or each of its flows has the weight.
    #[serde(default = "per")]
    per: OneOf<Owner>,
    /// Limit of the class.
    limit: Option<Length>,
    /// Limit of each flow of the class, if the weight is per flow.
    flow_limit: Option<Length>,
}

choices!(WhenFull as "WhenFull" {
    /// The newest packet of the class (or of the flow, if it has its own weight) that holds most in
    /// proportion to its weight.
    "push-out" => WhenFull::PushOut,
    /// The arriving packet. A class that floods the buffer then takes the link, whatever the weights.
    "tail-drop" => WhenFull::TailDrop,
});

/// What the weight belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Class,
    Flow,
}

choices!(Owner as "WeightOf" {
    /// The class as a whole.
    "class" => Owner::Class,
    /// Each flow (5-tuple) of the class.
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
        self.limit.into_iter().for_each(|limit| checker.note_limit(path, limit));
        let is_rate = |class: &ClassKeys| matches!(class.weight, WeightKey::Rate(_));
        let mut rules = Vec::new();
        let mut classes = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let path = format!("{path}.classes.{index}");
            rules.push((checker.rule(&format!("{path}.match"), index, &class.rule), index));
            if is_rate(class) != is_rate(&self.classes[0]) {
                let message = "some weights are rates and some are numbers";
                let help = "use rates for all classes, or numbers for all classes";
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
        Wfq::new(plan.clone(), port.rate, port.stream()).into()
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
        self.limit.into_iter().for_each(|limit| checker.note_limit(path, limit));
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
