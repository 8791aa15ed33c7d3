//! Whose packets are accounted for together, as it is written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};
use shortflow_units::Duration;

/// Whose packets are accounted for together: a name, or a table with the name and its bounds.
#[derive(Debug, Clone)]
pub(crate) struct PerFile(pub(crate) PerSettings);

/// Whose packets are accounted for together, and how many such accounts are kept.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PerSettings {
    /// Whose packets are accounted for together.
    pub(crate) each: AggregateFile,
    /// How many accounts are kept; the least recently used gives way to a new one. 65536 by
    /// default.
    pub(crate) table_size: Option<usize>,
    /// After which silence an account is forgotten; 60 s by default.
    pub(crate) idle_timeout: Option<Duration>,
}

/// Whose packets are accounted for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AggregateFile {
    /// Those of a flow: one 5-tuple.
    Flow,
    /// Those from one address to another.
    HostPair,
    /// Those from one address.
    Source,
    /// Those to one address.
    Destination,
    /// All.
    All,
}

impl<'de> Deserialize<'de> for PerFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = PerFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a name such as \"source\", or { each = \"source\", table_size = 1000 }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerFile, E> {
                let each = AggregateFile::deserialize(text.into_deserializer())?;
                Ok(PerFile(PerSettings { each, table_size: None, idle_timeout: None }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PerFile, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                PerSettings::deserialize(map).map(PerFile)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for PerFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Per".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let name = generator.subschema_for::<AggregateFile>();
        let settings = generator.subschema_for::<PerSettings>();
        schemars::json_schema!({ "anyOf": [name, settings] })
    }
}
