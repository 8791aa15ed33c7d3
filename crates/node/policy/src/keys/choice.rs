//! Keys whose value is one of a few names.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A type whose values have names in policies.
pub(crate) trait Choices: Copy + PartialEq + 'static {
    /// The name of the type in schemas.
    const TITLE: &'static str;
    /// The names.
    const NAMES: &'static [&'static str];
    /// What each name means.
    const MEANINGS: &'static [&'static str];
    /// The value of each name.
    const VALUES: &'static [Self];
}

/// Defines the names of a type's values in policies, and the meaning of each.
macro_rules! choices {
    ($type:ty as $title:literal { $($(#[doc = $doc:literal])+ $name:literal => $value:expr),+ $(,)? }) => {
        impl $crate::keys::Choices for $type {
            const TITLE: &'static str = $title;
            const NAMES: &'static [&'static str] = &[$($name),+];
            const MEANINGS: &'static [&'static str] = &[$(concat!($($doc),+)),+];
            const VALUES: &'static [Self] = &[$($value),+];
        }
    };
}
pub(crate) use choices;

/// A value of `T` that is written as a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneOf<T>(pub(crate) T);

impl<T: Choices> Serialize for OneOf<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = T::VALUES.iter().position(|value| *value == self.0);
        serializer.serialize_str(T::NAMES[place.expect("every value has a name")])
    }
}

impl<'de, T: Choices> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names<T>(PhantomData<T>);
        impl<T: Choices> Visitor<'_> for Names<T> {
            type Value = OneOf<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names: Vec<_> = T::NAMES.iter().map(|name| format!("\"{name}\"")).collect();
                write!(f, "one of {}", names.join(", "))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOf<T>, E> {
                let place = T::NAMES.iter().position(|name| *name == text);
                let place = place.ok_or_else(|| E::unknown_variant(text, T::NAMES))?;
                Ok(OneOf(T::VALUES[place]))
            }
        }
        deserializer.deserialize_str(Names(PhantomData))
    }
}

impl<T: Choices> JsonSchema for OneOf<T> {
    fn schema_name() -> Cow<'static, str> {
        T::TITLE.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let each = T::NAMES.iter().zip(T::MEANINGS);
        let each: Vec<Schema> = each
            .map(|(name, meaning)| {
                json_schema!({ "type": "string", "const": name, "description": meaning.trim() })
            })
            .collect();
        json_schema!({ "anyOf": each })
    }
}
