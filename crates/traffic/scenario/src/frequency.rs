//! Frequencies: `67.7 /s`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use shortflow_units::Rate;

/// How often something happens, per second; above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frequency(pub(crate) f64);

impl<'de> Deserialize<'de> for Frequency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Frequency;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a frequency above zero, such as \"67.7 /s\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Frequency, E> {
                let units = [("/s", 1.0), ("/min", 60.0), ("/h", 3600.0)];
                let found = units.iter().find_map(|(unit, seconds)| {
                    let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
                    Some(number / seconds)
                });
                match found {
                    Some(frequency) if (1e-9..=1e9).contains(&frequency) => {
                        Ok(Frequency(frequency))
                    }
                    _ if text.parse::<Rate>().is_ok() => Err(E::custom(format!(
                        "{text:?} is in bits; `rate` counts how often, as in \"67.7 /s\": for bits use `load`"
                    ))),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl schemars::JsonSchema for Frequency {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Frequency".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "a frequency: a number and /s, /min or /h",
            "examples": ["67.7 /s"],
            "pattern": r"^\s*[0-9][0-9._eE+-]*\s*/(?:s|min|h)\s*$",
        })
    }
}
