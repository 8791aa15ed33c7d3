//! Tables with user-defined names, and suggestions for misspelt names.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::elsewhere::here;

/// A table with user-defined names, in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<T> Named<T> {
    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The names and their entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table with names as keys")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for Named<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let entry = generator.subschema_for::<T>();
        schemars::json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": entry,
        })
    }
}

/// The name in `names` that was probably meant by `text`.
pub fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let simple = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = simple(text);
    let names: Vec<&'a str> = names.into_iter().collect();
    let known = here(&wanted).and_then(|here| names.iter().find(|name| **name == here).copied());
    let alike = || nearest_spelling(&wanted, &names, simple);
    known.or_else(alike)
}

/// The name that is spelt most like `wanted`, if one is.
fn nearest_spelling<'a>(
    wanted: &str,
    names: &[&'a str],
    simple: impl Fn(&str) -> String,
) -> Option<&'a str> {
    names
        .iter()
        .map(|name| (likeness(wanted, &simple(name)), *name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// The similarity of two names, from 0 to 1. One typing error leaves even short names similar: a letter that
/// is wrong, missing, added, or swapped with its neighbour.
fn likeness(wanted: &str, name: &str) -> f64 {
    let is_slip = wanted.len() > 2 && strsim::osa_distance(wanted, name) == 1;
    strsim::jaro_winkler(wanted, name).max(if is_slip { 0.85 } else { 0.0 })
}

/// The help for an unknown name: the most similar name, and all allowed names.
pub fn suggestion<'a>(text: &str, allowed: &str, names: &[&'a str]) -> String {
    let nearest: Option<&'a str> = nearest(text, names.iter().copied());
    let list = match names {
        [] => format!("{allowed}: none"),
        names => {
            let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{allowed}: {}", quoted.join(", "))
        }
    };
    match nearest {
        Some(name) => format!("did you mean `{name}`? {list}"),
        None => list,
    }
}

/// Whether `name` is valid for a role, a node or a workload. It appears in results and in keys.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The rule of [`is_name`], for messages.
pub const NAME_RULE: &str = "use only letters, digits, `-` and `_`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name() {
        assert_eq!(nearest("durration", ["delay", "duration", "drain"]), Some("duration"));
        assert_eq!(nearest("warm-up", ["warm_up", "workloads"]), Some("warm_up"));
        assert_eq!(nearest("xyz", ["warm_up", "workloads"]), None);
        assert_eq!(nearest("pei", ["fifo", "pie", "red"]), Some("pie"));
    }

    #[test]
    fn a_name_of_other_programs_finds_what_it_is_called_here_where_that_is_allowed() {
        assert_eq!(nearest("cake", ["drr", "host-fair"]), Some("host-fair"));
        assert_eq!(nearest("drop-tail", ["fifo", "pie"]), Some("fifo"));
        assert_eq!(nearest("cake", ["warm_up", "workloads"]), None);
    }
}
