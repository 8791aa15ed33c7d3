//! Packet loss on links: its text form, its check and its JSON Schema. Each model is in all three.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};
use shortflow_elements::ParamsError;
use shortflow_elements::classifier::DscpTable;
use shortflow_elements::dropper::{Bernoulli, GilbertElliottParams, LossParams};
use shortflow_packet::Dscp;
use shortflow_policy::Role;
use shortflow_text::{Document, Item, Key, Named, Value, nearest, suggestion};
use shortflow_units::Probability;

use crate::model::Scenario;
use crate::workloads::WorkloadKind;

/// Loss on a link: a probability, or a table with the keys below.
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

/// The loss forward and back, if it is valid.
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
            let help = "keys allowed here: `forward`, `back`";
            document.mistake_in_key(&path, format!("unknown key `{name}`"), help);
            return None;
        };
        ways[way] = Some(model(document, &path, file)?);
    }
    Some(ways)
}

/// The loss model of one direction.
fn model(document: &mut Document, path: &str, file: &LossFile) -> Option<LossParams> {
    match file {
        LossFile::Table(table) if table.names().any(|name| name == GILBERT_ELLIOTT) => {
            gilbert_elliott(document, path, table)
        }
        _ => {
            let loss = by_code_point(document, path, file)?;
            Some(LossParams::Bernoulli(Box::new(Bernoulli { loss })))
        }
    }
}

/// Loss in bursts: `gilbert-elliott = { to_bad = 0.01, to_good = 0.25 }`.
fn gilbert_elliott(
    document: &mut Document,
    path: &str,
    table: &Named<LossFile>,
) -> Option<LossParams> {
    let path = format!("{path}.{GILBERT_ELLIOTT}");
    let [(GILBERT_ELLIOTT, LossFile::Table(keys))] = table.iter().collect::<Vec<_>>()[..] else {
        let help =
            "write, for example, { to_bad = 0.01, to_good = 0.25 }, without keys next to the model";
        document.mistake_in_key(
            &path,
            "the model must be the only key of its table, and its value a table",
            help,
        );
        return None;
    };
    let [mut to_bad, mut to_good] = [None, None];
    let (mut loss_good, mut loss_bad) =
        (DscpTable::filled(Probability::ZERO), DscpTable::filled(Probability::ONE));
    for (name, value) in keys.iter() {
        let at = format!("{path}.{name}");
        match (name, value) {
            ("to_bad", LossFile::Always(probability)) => to_bad = Some(*probability),
            ("to_good", LossFile::Always(probability)) => to_good = Some(*probability),
            ("loss_good", loss) => loss_good = by_code_point(document, &at, loss)?,
            ("loss_bad", loss) => loss_bad = by_code_point(document, &at, loss)?,
            ("to_bad" | "to_good", LossFile::Table(_)) => {
                let message = format!("{name} must be a probability from 0 to 1; found a table");
                document.mistake_in_key(&at, message, "");
                return None;
            }
            _ => {
                let help = suggestion(name, "keys allowed here", &GILBERT_ELLIOTT_KEYS);
                document.mistake_in_key(&at, format!("unknown key `{name}`"), help);
                return None;
            }
        }
    }
    let (Some(to_bad), Some(to_good)) = (to_bad, to_good) else {
        let help = "`to_bad` is the probability that a good link turns bad after a packet, `to_good` the \
                    probability that a bad link turns good; a burst has 1/to_good packets on average";
        document.mistake_in_key(
            &path,
            "`gilbert-elliott` requires both `to_bad` and `to_good`",
            help,
        );
        return None;
    };
    let params = GilbertElliottParams::new(to_bad, to_good, loss_good, loss_bad);
    let refuse = |error: ParamsError| {
        let at = format!("{path}.{}", error.parameter());
        document.mistake(&at, error.to_string(), "");
    };
    params.map_err(refuse).ok().map(Box::new).map(LossParams::GilbertElliott)
}

/// A probability for each code point: one for all, or a table.
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
        if let Some(meant) = nearest(name, [GILBERT_ELLIOTT, "forward", "back"]) {
            let help = format!("did you mean `{meant}`?");
            document.mistake_in_key(&path, format!("unknown key `{name}`"), help);
            return None;
        }
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
            Err(error) => {
                let help = format!("{}, and `rest`", error.help());
                document.mistake_in_key(&path, error.message(), help);
                return None;
            }
        }
    }
    let filled = DscpTable::filled(rest);
    Some(named.into_iter().fold(filled, |table, (dscp, p)| table.with(dscp, p)))
}

/// Warns of each link with loss for code points that no packet has.
pub(crate) fn warn_of_unsent(document: &mut Document, scenario: &Scenario) {
    let sent = sent(scenario);
    let links = match document.root().get("links").map(|links| &links.value) {
        Some(Value::Table(links)) => links,
        _ => return,
    };
    let unsent = |(link, keys): &(Key, Item)| {
        let mut found = Vec::new();
        let path = format!("links.{}.loss", link.name);
        unsent_in(keys.get("loss")?, &path, &sent, &mut found);
        let (path, _) = found.first()?.clone();
        let names: BTreeSet<Dscp> = found.into_iter().map(|(_, dscp)| dscp).collect();
        let names = names.iter().map(Dscp::to_string).collect::<Vec<_>>().join(", ");
        Some((path, names))
    };
    for (path, names) in links.iter().filter_map(unsent).collect::<Vec<_>>() {
        let message = format!("no packet has the code point {names}, so its loss has no effect");
        let help = "bind a role that writes it, or set the `dscp` of a `cbr` or `poisson` workload";
        document.warning(&path, message, help);
    }
}

/// The code points that workloads send and bound roles write.
fn sent(scenario: &Scenario) -> BTreeSet<Dscp> {
    let of_workload =
        |kind: &WorkloadKind| kind.traffic().datagrams().map_or(Dscp::BEST_EFFORT, |one| one.dscp);
    let roles = scenario.bindings.iter().filter_map(|b| scenario.policy.as_ref()?.role(&b.role));
    let written = roles.flat_map(Role::written_code_points);
    scenario.workloads.iter().map(|one| of_workload(&one.kind)).chain(written).collect()
}

/// The keys of code points in a table of loss that are not `sent`, with their paths.
fn unsent_in(item: &Item, path: &str, sent: &BTreeSet<Dscp>, found: &mut Vec<(String, Dscp)>) {
    let Value::Table(entries) = &item.value else { return };
    for (key, value) in entries {
        let path = format!("{path}.{}", key.name);
        match key.name.parse::<Dscp>() {
            Ok(dscp) if !sent.contains(&dscp) => found.push((path, dscp)),
            _ => unsent_in(value, &path, sent, found),
        }
    }
}

/// The name of the model of loss in bursts.
pub(crate) const GILBERT_ELLIOTT: &str = "gilbert-elliott";
const GILBERT_ELLIOTT_KEYS: [&str; 4] = ["to_bad", "to_good", "loss_good", "loss_bad"];
const DIRECTIONS: [&str; 2] = ["forward", "back"];

impl JsonSchema for LossFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Loss".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<Probability>();
        let code_points = schemars::json_schema!({
            "type": "object",
            "propertyNames": { "pattern": "^(rest|BE|DF|LE|EF|CS[0-7]|AF[1-4][1-3]|[0-9]{1,2})$" },
            "additionalProperties": one,
        });
        let gilbert_elliott = schemars::json_schema!({
            "type": "object",
            "description": "Loss in bursts: the link is in a good or a bad state, and may change after each packet.",
            "properties": {
                GILBERT_ELLIOTT: {
                    "type": "object",
                    "properties": {
                        "to_bad": one,
                        "to_good": one,
                        "loss_good": { "anyOf": [one, code_points] },
                        "loss_bad": { "anyOf": [one, code_points] },
                    },
                    "required": ["to_bad", "to_good"],
                    "additionalProperties": false,
                },
            },
            "required": [GILBERT_ELLIOTT],
            "additionalProperties": false,
        });
        let way = schemars::json_schema!({ "anyOf": [one, code_points, gilbert_elliott] });
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
