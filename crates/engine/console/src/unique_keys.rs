//! JSON objects without duplicate keys.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// Reads an object; `None` for another type. A duplicate key is an error.
///
/// # Errors
/// When it is not JSON, or has a key twice.
pub fn object(text: &[u8]) -> Result<Option<Map<String, Value>>, serde_json::Error> {
    match serde_json::from_slice::<Value>(text)? {
        Value::Object(_) => serde_json::from_slice(text).map(|UniqueKeys(map)| Some(map)),
        _ => Ok(None),
    }
}

struct UniqueKeys(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UniqueKeys, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueKeys, A::Error> {
        let mut all = Map::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            all.insert(key, value);
        }
        Ok(UniqueKeys(all))
    }
}
