//! A value, or a list of them.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};

/// One value or a list of values. Both are written as strings: a quantity or a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OneOrList<T> {
    /// The values in order.
    pub(crate) values: Vec<T>,
    /// Whether the text has a list.
    pub(crate) is_list: bool,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Forms<T> {
            type Value = OneOrList<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string in quotes, or a list of strings")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrList<T>, E> {
                let value = T::deserialize(text.to_owned().into_deserializer())?;
                Ok(OneOrList { values: vec![value], is_list: false })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OneOrList<T>, A::Error> {
                let values = Vec::deserialize(de::value::SeqAccessDeserializer::new(seq))?;
                Ok(OneOrList { values, is_list: true })
            }
        }
        deserializer.deserialize_any(Forms(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrList<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrList_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}
