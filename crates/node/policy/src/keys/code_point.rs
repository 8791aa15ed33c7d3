//! Code points in policies.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use shortflow_packet::Dscp;

use super::list::{ListOf, Listed};
use crate::check::Checker;

/// A code point, written as a name or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePoint(pub(crate) Dscp);

impl Serialize for CodePoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for CodePoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = CodePoint;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a code point such as \"AF11\", or a number from 0 to 63")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CodePoint, E> {
                text.parse().map(CodePoint).map_err(|error| E::custom(format_args!("{error:#}")))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<CodePoint, E> {
                let found = u8::try_from(number).ok().and_then(Dscp::new);
                found
                    .map(CodePoint)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for CodePoint {
    fn schema_name() -> Cow<'static, str> {
        "CodePoint".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a code point",
            "anyOf": [
                { "type": "string", "examples": ["EF", "AF11", "CS1", "BE"] },
                { "type": "integer", "minimum": 0, "maximum": 63 },
            ],
        })
    }
}

/// One code point, or a list of at least one.
pub(crate) type CodePoints = ListOf<CodePoint>;

impl Listed for CodePoint {
    const SCHEMA_NAME: &'static str = "CodePoints";
    const WHAT: &'static str = "a code point";
    const EXAMPLES: &'static str = "code points such as \"AF11\"";
}

impl CodePoints {
    /// The code points, in the order of the text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Dscp> {
        self.0.iter().map(|point| point.0)
    }
}

impl Checker<'_> {
    /// The code points of `N` drop precedences, from 0, in `code_points` of the table at `path`. `None`
    /// unless there are exactly `N`.
    pub(crate) fn each_precedence<const N: usize>(
        &mut self,
        path: &str,
        points: &CodePoints,
    ) -> Option<[Dscp; N]> {
        let found: Vec<Dscp> = points.iter().collect();
        let each = found.try_into();
        each.map_err(|found: Vec<Dscp>| {
            let message = format!("code_points must have {N} entries; found {}", found.len());
            let help = format!(
                "list the code points of drop precedences 0 to {}, the best protected last",
                N - 1
            );
            self.document.mistake(&format!("{path}.code_points"), message, help);
        })
        .ok()
    }
}
