//! Weighted fair queueing as it is written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_units::{Length, Rate};

use super::MatchFile;

/// Weighted fair queueing: classes share the link in proportion to their weights.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WfqFile {
    /// What the classes that have no `limit` of their own hold together.
    pub(crate) limit: Option<Length>,
    /// The classes. A packet goes to the first whose `match` fits, else to the last.
    pub(crate) classes: Vec<WfqClassFile>,
}

/// A class of a weighted fair queue.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WfqClassFile {
    /// Which packets belong to the class; all by default.
    #[serde(default, rename = "match")]
    pub(crate) rule: MatchFile,
    /// The share of the link: a reserved rate in every class, or a number in every class.
    pub(crate) weight: WeightFile,
    /// Who has the weight: the "class" as a whole (the default), or each "flow" of it.
    #[serde(default)]
    pub(crate) per: WeightOfFile,
    /// What the class holds.
    pub(crate) limit: Option<Length>,
    /// What each flow of the class holds, where the weight is per flow.
    pub(crate) flow_limit: Option<Length>,
}

/// Who has the weight of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WeightOfFile {
    /// The class as a whole.
    #[default]
    Class,
    /// Each 5-tuple one of its own.
    Flow,
}

/// A share of a link: a rate, or a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WeightFile {
    Rate(Rate),
    Number(f64),
}

impl<'de> Deserialize<'de> for WeightFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = WeightFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a rate such as \"40 kbit/s\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<WeightFile, E> {
                Ok(WeightFile::Number(number as f64))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<WeightFile, E> {
                Ok(WeightFile::Number(number))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<WeightFile, E> {
                text.parse().map(WeightFile::Rate).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for WeightFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Weight".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, rate] })
    }
}
