//! Which packets a link loses: how it is written, checked, and described to editors. A model has one
//! place in each of the three.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};
use shortflow_elements::Dscp;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::dropper::{Bernoulli, LossParams};
use shortflow_text::{Document, Named};
use shortflow_units::Probability;

/// Loss on a link as it is written: a probability, or a table of what is below.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LossFile {
    Always(Probability),
    Table(Named<LossFile>),
}

impl<'de> Deserialize<'de> for LossFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = LossFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability from 0 to 1, or a table of them")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<LossFile, E> {
                Probability::deserialize(value.into_deserializer()).map(LossFile::Always)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LossFile, E> {
                self.visit_f64(value as f64)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LossFile, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                Named::deserialize(map).map(LossFile::Table)
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

/// What is lost forward and back, where it is written right.
pub(crate) fn both_ways(
    document: &mut Document,
    path: &str,
    file: &LossFile,
) -> Option<[Option<LossParams>; 2]> {
    let directions = match file {
        LossFile::Table(table) if table.names().any(|name| DIRECTIONS.contains(&name)) => table,
        both => {
            let loss = model(document, path, both)?;
            return Some([Some(loss.clone()), Some(loss)]);
        }
    };
    let mut ways = [None, None];
    for (name, file) in directions.iter() {
        let path = format!("{path}.{name}");
        let Some(way) = DIRECTIONS.iter().position(|direction| *direction == name) else {
            let help = "allowed beside a direction: `forward`, `back`";
            document.mistake_in_key(&path, format!("unknown key `{name}`"), help);
            return None;
        };
        ways[way] = Some(model(document, &path, file)?);
    }
    Some(ways)
}

/// The model of one direction.
fn model(document: &mut Document, path: &str, file: &LossFile) -> Option<LossParams> {
    let loss = by_code_point(document, path, file)?;
    Some(LossParams::Bernoulli(Bernoulli { loss }))
}

/// A probability for each code point: one for all, or a table of them.
fn by_code_point(
    document: &mut Document,
    path: &str,
    file: &LossFile,
) -> Option<DscpTable<Probability>> {
    let table = match file {
        LossFile::Always(probability) => return Some(DscpTable::filled(*probability)),
        LossFile::Table(table) => table,
    };
    let mut rest = Probability::ZERO;
    let mut named = Vec::new();
    for (name, value) in table.iter() {
        let path = format!("{path}.{name}");
        let probability = match value {
            LossFile::Always(probability) => *probability,
            LossFile::Table(_) => {
                let message = "expected a probability from 0 to 1; found a table";
                document.mistake(&path, message, "");
                return None;
            }
        };
        match name.parse::<Dscp>() {
            _ if name == "rest" => rest = probability,
            Ok(dscp) => named.push((dscp, probability)),
            Err(message) => {
                let (message, help) = message.split_once("; ").unwrap_or((&message, ""));
                document.mistake_in_key(&path, message, format!("{help}, and `rest`"));
                return None;
            }
        }
    }
    let filled = DscpTable::filled(rest);
    Some(named.into_iter().fold(filled, |table, (dscp, p)| table.with(dscp, p)))
}

const DIRECTIONS: [&str; 2] = ["forward", "back"];

impl JsonSchema for LossFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Loss".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<Probability>();
        let code_points = schemars::json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^(rest|[0-9]+|[A-Z]+[0-9]*)$" },
            "additionalProperties": one,
        });
        let way = schemars::json_schema!({ "anyOf": [one, code_points] });
        schemars::json_schema!({
            "anyOf": [
                way,
                {
                    "type": "object",
                    "properties": { "forward": way, "back": way },
                    "additionalProperties": false,
                },
            ],
        })
    }
}
