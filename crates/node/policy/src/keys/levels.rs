//! Priority levels by a number of bytes: thresholds, and a code point for each level.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use shortflow_elements::marker::SizeLevels;
use shortflow_units::Bytes;

use super::CodePoints;
use crate::check::Checker;

/// The keys that decide the priority of a packet.
pub(crate) struct Levels<'k> {
    /// Default: HARP's seven thresholds.
    pub(crate) thresholds: Option<&'k ThresholdsKey>,
    /// Default: consecutive code points down to BE.
    pub(crate) code_points: Option<&'k CodePoints>,
}

impl Levels<'_> {
    /// The levels, or `None` after a mistake.
    pub(crate) fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<SizeLevels> {
        let thresholds = match self.thresholds {
            None => SizeLevels::HARP.to_vec(),
            Some(ThresholdsKey::Each(sizes)) => sizes.clone(),
            Some(ThresholdsKey::Geometric(keys)) => {
                let sizes = SizeLevels::geometric(keys.first, keys.last, keys.count);
                checker.accept(&format!("{path}.thresholds"), sizes)?
            }
        };
        let code_points = match self.code_points {
            None => SizeLevels::default_code_points(thresholds.len() + 1),
            Some(points) => points.iter().collect(),
        };
        checker.accept(path, SizeLevels::new(&thresholds, code_points))
    }
}

/// Rising sizes: a list, or a geometric progression.
#[derive(Debug, Clone)]
pub(crate) enum ThresholdsKey {
    Each(Vec<Bytes>),
    Geometric(GeometricKeys),
}

/// Sizes in geometric progression.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GeometricKeys {
    /// The smallest size.
    pub(crate) first: Bytes,
    /// The largest size.
    pub(crate) last: Bytes,
    /// The number of sizes, 2 to 63.
    pub(crate) count: usize,
}

impl<'de> Deserialize<'de> for ThresholdsKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = ThresholdsKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of sizes, or { first = \"1 KB\", last = \"10 MB\", count = 63 }",
                )
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ThresholdsKey, A::Error> {
                let seq = de::value::SeqAccessDeserializer::new(seq);
                Vec::deserialize(seq).map(ThresholdsKey::Each)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ThresholdsKey, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                GeometricKeys::deserialize(map).map(ThresholdsKey::Geometric)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for ThresholdsKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Thresholds".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let each = generator.subschema_for::<Vec<Bytes>>();
        let geometric = generator.subschema_for::<GeometricKeys>();
        schemars::json_schema!({ "anyOf": [each, geometric] })
    }
}
