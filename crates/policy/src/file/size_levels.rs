//! Markers by a number of bytes, as they are written.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use shortflow_units::{Bytes, Rate};

use super::PerFile;

/// Discrete Smallest Transmitted Flow first (Guo et al. 2005): the less a flow has sent, the better
/// its priority.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DstfFile {
    /// Bytes sent up to which a packet has priority 1, 2 and so on; beyond the last threshold it
    /// has the last. 5 KB to 1.2 MB in seven steps by default.
    pub(crate) thresholds: Option<ThresholdsFile>,
    /// The code point of each priority, the best first; by default down to BE, from CS7 with seven
    /// thresholds.
    pub(crate) code_points: Option<Vec<String>>,
    /// Whose bytes count together: "flow" by default, "host-pair" against the splitting of
    /// transfers.
    pub(crate) per: Option<PerFile>,
    /// The rate at which bytes sent are forgotten; none are by default.
    pub(crate) decay: Option<Rate>,
    /// Which bytes count: those of the whole "packet" (the default) or of the "payload".
    #[serde(default)]
    pub(crate) count: CountedFile,
}

/// Which bytes of a packet count.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CountedFile {
    /// All, headers included.
    #[default]
    Packet,
    /// The payload.
    Payload,
}

/// Shortest remaining processing time first, in levels (SRPT-FP, Guo et al. 2005): the less remains
/// of a message, the better its priority. At a connection's own host only.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SrptFile {
    /// Remaining bytes up to which a packet has priority 1, 2 and so on; beyond the last threshold
    /// it has the last. 5 KB to 1.2 MB in seven steps by default.
    pub(crate) thresholds: Option<ThresholdsFile>,
    /// The code point of each priority, the best first; by default down to BE, from CS7 with seven
    /// thresholds.
    pub(crate) code_points: Option<Vec<String>>,
    /// The priority of packets of which nobody says how much remains; the last by default.
    pub(crate) unknown: Option<usize>,
}

/// Rising sizes, one by one or as a geometric progression.
#[derive(Debug, Clone)]
pub(crate) enum ThresholdsFile {
    Each(Vec<Bytes>),
    Geometric(GeometricFile),
}

/// Sizes in geometric progression.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeometricFile {
    /// The least.
    pub(crate) first: Bytes,
    /// The greatest.
    pub(crate) last: Bytes,
    /// How many; 2 to 63.
    pub(crate) count: usize,
}

impl<'de> Deserialize<'de> for ThresholdsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = ThresholdsFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of sizes, or { first = \"1 KB\", last = \"10 MB\", count = 63 }",
                )
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ThresholdsFile, A::Error> {
                let seq = de::value::SeqAccessDeserializer::new(seq);
                Vec::deserialize(seq).map(ThresholdsFile::Each)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ThresholdsFile, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                GeometricFile::deserialize(map).map(ThresholdsFile::Geometric)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for ThresholdsFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Thresholds".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let each = generator.subschema_for::<Vec<Bytes>>();
        let geometric = generator.subschema_for::<GeometricFile>();
        schemars::json_schema!({ "anyOf": [each, geometric] })
    }
}
