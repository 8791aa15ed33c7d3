//! Checks texts of results that others may have written: control characters could affect a terminal or a page.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use shortflow_files::{control_char, control_char_in_lines};

use super::Manifest;

/// Refuses JSON with a text that holds a control character.
pub(super) fn check_json(text: &str) -> serde_json::Result<()> {
    serde_json::from_str::<Plain>(text).map(drop)
}

/// Refuses a manifest with a control character anywhere but in the files that were read, which are shown as they are
/// nowhere.
pub(super) fn check_manifest(manifest: &Manifest) -> serde_json::Result<()> {
    let Manifest { label, engine, policy, version, command, .. } = manifest;
    let Manifest { tcp, sweep, settings, bind, inputs, warnings, tables, .. } = manifest;
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let policy = policy.as_deref().unwrap_or_default();
    for name in [label, engine, policy].into_iter().chain(names) {
        refuse::<serde_json::Error>(control_char(name))?;
    }
    let options = (tables, &manifest.tcp_info, &manifest.design);
    let texts = (version, command, tcp, sweep, settings, bind, warnings, options);
    let others = serde_json::to_value(texts)?;
    Plain::deserialize(others).map(drop)
}

/// Refuses lines with a control character.
pub(super) fn check_lines(text: &str) -> Result<(), String> {
    let at = |(number, line)| Some((number + 1, control_char_in_lines(line)?));
    match text.lines().enumerate().find_map(at) {
        Some((line, found)) => Err(format!("line {line}: {}", message(found))),
        None => Ok(()),
    }
}

fn refuse<E: serde::de::Error>(found: Option<char>) -> Result<(), E> {
    found.map_or(Ok(()), |found| Err(E::custom(message(found))))
}

fn message(found: char) -> String {
    let code = u32::from(found);
    format!("a text contains the control character U+{code:04X}, which terminals would interpret")
}

/// Any value whose texts are plain.
struct Plain;

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Plain)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Plain, E> {
        refuse(control_char_in_lines(text)).map(|()| Plain)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Plain, A::Error> {
        while items.next_element::<Plain>()?.is_some() {}
        Ok(Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Plain, A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            refuse::<A::Error>(control_char(&key))?;
            entries.next_value::<Plain>()?;
        }
        Ok(Plain)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain)
    }
}
