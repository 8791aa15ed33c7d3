//! Thresholds of a queue as they are written: a length, or a share of the queue's limit.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_units::{Bytes, Length};

/// A length, or a percentage of the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ThresholdFile {
    Length(Length),
    Percent(f64),
}

impl ThresholdFile {
    /// The threshold under `limit`, to the nearest packet or byte.
    pub(crate) fn under(self, limit: Length) -> Length {
        match (self, limit) {
            (ThresholdFile::Length(length), _) => length,
            (ThresholdFile::Percent(percent), Length::Packets(packets)) => {
                Length::Packets(share(percent, packets))
            }
            (ThresholdFile::Percent(percent), Length::Bytes(bytes)) => {
                Length::Bytes(Bytes(share(percent, bytes.0)))
            }
        }
    }
}

fn share(percent: f64, whole: u64) -> u64 {
    libm::round(whole as f64 * percent / 100.0) as u64
}

impl<'de> Deserialize<'de> for ThresholdFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = ThresholdFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a queue length such as \"20 pkt\", or a share of the limit: \"10 %\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ThresholdFile, E> {
                let Some(number) = text.trim_end().strip_suffix('%') else {
                    return text.parse().map(ThresholdFile::Length).map_err(E::custom);
                };
                match number.trim().parse() {
                    Ok(percent) if (0.0..=100.0).contains(&percent) => {
                        Ok(ThresholdFile::Percent(percent))
                    }
                    _ => Err(E::custom(format!(
                        "\"{text}\" is no share of a queue; allowed: 0 % to 100 % of its limit"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for ThresholdFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Threshold".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let length = generator.subschema_for::<Length>();
        let share = schemars::json_schema!({
            "description": "A share of the limit, to the nearest packet or byte, such as \"10 %\".",
            "type": "string",
            "pattern": "^[0-9.]+ *%$",
        });
        schemars::json_schema!({ "anyOf": [length, share] })
    }
}
