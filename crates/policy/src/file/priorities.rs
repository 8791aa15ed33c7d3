//! Queues that serve by priority and push out of one buffer, as they are written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use shortflow_units::{Duration, Length};

use super::MatchFile;

/// Strict priority over bands that share one buffer; when it is full, the newest packet of its last
/// band is pushed out.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedPriorityFile {
    /// What all bands hold together.
    pub(crate) limit: Length,
    /// The bands, the first served first, at most 64. Packets of no band belong to the one that is
    /// "rest", else to the last.
    pub(crate) bands: Vec<SharedBandFile>,
}

/// Which packets belong to a band of a shared buffer, or to several bands at once.
#[derive(Debug, Clone)]
pub(crate) enum SharedBandFile {
    /// A code point, or a range of them, each a band of its own.
    Text(String),
    List(Vec<String>),
    Rule(MatchFile),
    Rest,
}

impl<'de> Deserialize<'de> for SharedBandFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = SharedBandFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a code point, a range such as \"63-0\", a list of code points, \"rest\", or a \
                     table { match = … }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<SharedBandFile, E> {
                Ok(match text {
                    "rest" => SharedBandFile::Rest,
                    _ => SharedBandFile::Text(text.to_owned()),
                })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<SharedBandFile, A::Error> {
                let seq = de::value::SeqAccessDeserializer::new(seq);
                Vec::deserialize(seq).map(SharedBandFile::List)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SharedBandFile, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                RuleBandFile::deserialize(map).map(|band| SharedBandFile::Rule(band.rule))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for SharedBandFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SharedBand".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A code point, a range such as \"63-0\" that makes a band of each, a \
                            list of code points, \"rest\", or a table with a `match`.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
                generator.subschema_for::<RuleBandFile>(),
            ],
        })
    }
}

/// A band whose packets a rule names.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleBandFile {
    /// Which packets belong to the band.
    #[serde(rename = "match")]
    rule: MatchFile,
}

/// Smallest Transmitted Flow first: serves the flow of which the fewest bytes have left so far;
/// when the buffer is full, the newest packet of the flow served most is pushed out.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StfFile {
    /// What the queue holds.
    pub(crate) limit: Length,
    /// How many flows are remembered at most; 65536 by default. When they are that many, a new one
    /// takes the place of the one that has been silent longest.
    pub(crate) flows: Option<u32>,
    /// A flow that was silent for longer is forgotten, and starts again at zero bytes; 60 s by
    /// default.
    pub(crate) idle_timeout: Option<Duration>,
}
