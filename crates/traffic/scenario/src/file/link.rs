//! The text form of links.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use shortflow_units::{Bytes, Duration, Length, LinkLayer, Rate};

use crate::loss::LossFile;
use crate::rate_over_time::{self, RateOverTimeFile};

/// Duplex links between two nodes or groups: one to one if the groups have the same size, in blocks if one
/// size is a multiple of the other.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkFile {
    /// The two ends. Forward is from the first to the second.
    pub(crate) between: [String; 2],
    /// Rate. A list repeats over the links of a group, a whole number of times.
    pub(crate) rate: PerLink<Rate>,
    /// How the rate changes over time, from `rate` on. Default: not at all.
    #[serde(default, deserialize_with = "rate_over_time::table")]
    pub(crate) rate_over_time: Option<RateOverTimeFile>,
    /// Propagation delay. A list repeats over the links of a group, a whole number of times.
    pub(crate) delay: PerLink<Duration>,
    /// Limit of a port's drop-tail queue, if no role has a queue there. Default: 1000 pkt.
    pub(crate) queue: Option<PerLink<Length>>,
    /// Bytes that the link adds to every packet. Replaces the overhead of `link_layer`. Default: 0 B.
    pub(crate) overhead: Option<Bytes>,
    /// Link layer: a name as in tc-cake(8), such as `docsis` or `pppoe-ptm`; parts such as
    /// `overhead 30 mpu 64 atm`; or a table with `overhead`, `mpu`, `framing`. Default: no overhead.
    pub(crate) link_layer: Option<LinkLayer>,
    /// Packet loss: a probability, a table by code point `{ AF11 = 0.001, rest = 0 }`, or the name of a
    /// model; or by direction, `{ forward = …, back = … }`.
    pub(crate) loss: Option<LossFile>,
}

/// One value for both directions, one for each, or a list that repeats over the links of a group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PerLink<T> {
    Both(T),
    List(Vec<T>),
    Directed { forward: T, back: T },
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerLink<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Directed<T> {
            forward: T,
            back: T,
        }
        struct Forms<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Forms<T> {
            type Value = PerLink<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity, a list of them, or { forward = …, back = … }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerLink<T>, E> {
                T::deserialize(text.to_owned().into_deserializer()).map(PerLink::Both)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<PerLink<T>, E> {
                T::deserialize(number.into_deserializer()).map(PerLink::Both)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<PerLink<T>, E> {
                T::deserialize(number.into_deserializer()).map(PerLink::Both)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<PerLink<T>, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(PerLink::List)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PerLink<T>, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                let Directed { forward, back } = Directed::deserialize(map)?;
                Ok(PerLink::Directed { forward, back })
            }
        }
        deserializer.deserialize_any(Forms(std::marker::PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for PerLink<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("PerLink_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({
            "anyOf": [
                one,
                { "type": "array", "items": one },
                {
                    "type": "object",
                    "properties": { "forward": one, "back": one },
                    "required": ["forward", "back"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
