//! One value, or a list of alternatives.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{I64Deserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, SeqAccess, Visitor};

/// A type that a list can hold. It is written as a text or a whole number.
pub(crate) trait Listed: DeserializeOwned + JsonSchema {
    /// The name of the list's schema.
    const SCHEMA_NAME: &'static str;
    /// Describes one value, for messages.
    const WHAT: &'static str;
    /// Describes several values, with an example, for messages.
    const EXAMPLES: &'static str;
}

/// One value, or a list of at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListOf<T>(pub(crate) Vec<T>);

impl<'de, T: Listed> Deserialize<'de> for ListOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Forms(PhantomData))
    }
}

struct Forms<T>(PhantomData<T>);

impl<'de, T: Listed> Visitor<'de> for Forms<T> {
    type Value = ListOf<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a list: {}", T::WHAT, T::EXAMPLES)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<ListOf<T>, E> {
        T::deserialize(StrDeserializer::new(text)).map(|one| ListOf(vec![one]))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<ListOf<T>, E> {
        T::deserialize(I64Deserializer::new(number)).map(|one| ListOf(vec![one]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ListOf<T>, A::Error> {
        let list: Vec<T> = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
        if list.is_empty() {
            return Err(de::Error::custom(format_args!(
                "the list is empty, so no packet would match\nlist {}, or remove the key",
                T::EXAMPLES
            )));
        }
        Ok(ListOf(list))
    }
}

impl<T: Listed> JsonSchema for ListOf<T> {
    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA_NAME.into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "description": format!("{}, or a list of them", T::WHAT),
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }],
        })
    }
}
