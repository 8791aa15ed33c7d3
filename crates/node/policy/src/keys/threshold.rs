//! Thresholds of a queue: a length, or a share of the queue's limit.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_units::{Bytes, Length, ParseQuantityError};

/// A length, or a percentage of the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ThresholdKey {
    Length(Length),
    Percent(f64),
}

impl ThresholdKey {
    /// The threshold of a queue with this `limit`, rounded to the nearest packet or byte.
    pub(crate) fn under(self, limit: Length) -> Length {
        match (self, limit) {
            (ThresholdKey::Length(length), _) => length,
            (ThresholdKey::Percent(percent), Length::Packets(packets)) => {
                Length::Packets(share(percent, packets))
            }
            (ThresholdKey::Percent(percent), Length::Bytes(bytes)) => {
                Length::Bytes(Bytes(share(percent, bytes.0)))
            }
        }
    }
}

/// Keeps the help of the error on a line of its own.
fn in_parts<E: de::Error>(error: ParseQuantityError) -> E {
    E::custom(format_args!("{error:#}"))
}

fn share(percent: f64, whole: u64) -> u64 {
    libm::round(whole as f64 * percent / 100.0) as u64
}

impl<'de> Deserialize<'de> for ThresholdKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = ThresholdKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a queue length such as \"20 pkt\", or a share of the limit: \"10 %\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ThresholdKey, E> {
                let Some(number) = text.trim_end().strip_suffix('%') else {
                    return text.parse().map(ThresholdKey::Length).map_err(in_parts);
                };
                match number.trim().parse() {
                    Ok(percent) if (0.0..=100.0).contains(&percent) => {
                        Ok(ThresholdKey::Percent(percent))
                    }
                    _ => Err(E::custom(format!(
                        "a threshold must be 0 % to 100 % of the limit; found \"{text}\""
                    ))),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for ThresholdKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Threshold".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let length = generator.subschema_for::<Length>();
        let share = schemars::json_schema!({
            "description": "a share of the limit, such as \"10 %\"",
            "type": "string",
            "pattern": "^[0-9.]+ *%$",
        });
        schemars::json_schema!({ "anyOf": [length, share] })
    }
}
