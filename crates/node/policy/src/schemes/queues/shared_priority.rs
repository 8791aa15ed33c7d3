//! `shared-priority`: strict priority over bands that share one buffer.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::{Classifier, DscpSet, DscpTable, MultiField};
use shortflow_elements::queue::{SharedPriority, SharedPriorityParams};
use shortflow_packet::Dscp;
use shortflow_units::Length;

use crate::check::Checker;
use crate::keys::{CodePoint, CodePoints, MatchKeys};
use crate::scheme::{Port, QueueScheme};

/// Strict priority over bands that share one buffer. When the buffer is full, the newest packet of its last
/// band is dropped.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SharedPriority")]
pub(crate) struct Keys {
    /// Limit of all bands together.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Length,
    /// The bands, the first served first. Packets of no band belong to the band "rest", or to the last.
    #[schemars(extend("x-range" = "1 to 64 bands"))]
    bands: Vec<BandKeys>,
}

/// The queue's parameters.
pub type Plan = SharedPriorityParams;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Guo, Zhu, Zhang & Zhang 2005 (HARP)";
    const EXAMPLE: &'static str = r#"[roles.core.queue.shared-priority]
limit = "100 pkt"
bands = ["EF", ["AF11", "AF12"], "rest"]
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.limit(path, self.limit);
        let mut bands = Bands::default();
        for (index, band) in self.bands.iter().enumerate() {
            bands.read(checker, &format!("{path}.bands.{index}"), band);
        }
        if bands.count == 0 || bands.count > SharedPriorityParams::MAX_BANDS {
            let message = format!("shared-priority must have 1 to 64 bands; found {}", bands.count);
            let help = "list 1 to 64 bands in the order of service, for example [\"EF\", \"rest\"]";
            checker.document.mistake(&format!("{path}.bands"), message, help);
            return None;
        }
        let otherwise = bands.rest.unwrap_or(bands.count - 1);
        let params = if bands.has_match {
            let classifier = Classifier::new(bands.rules);
            SharedPriorityParams::by_rules(self.limit, classifier, otherwise)
        } else {
            let rest = DscpTable::filled(otherwise as u8);
            let named = bands.named.iter();
            let table = named.fold(rest, |table, &(dscp, band)| table.with(dscp, band as u8));
            SharedPriorityParams::by_code_point(self.limit, table)
        };
        checker.accept(path, params)
    }

    fn build(plan: &Plan, _: &Port<'_>) -> Box<dyn QueueDiscipline> {
        SharedPriority::new(plan.clone()).into()
    }
}

/// Bands in order, and the rules that assign packets to them.
#[derive(Default)]
struct Bands {
    count: usize,
    named: Vec<(Dscp, usize)>,
    rules: Vec<(MultiField, usize)>,
    has_match: bool,
    rest: Option<usize>,
}

impl Bands {
    fn add(&mut self, code_points: Vec<Dscp>) {
        let set: DscpSet = code_points.iter().copied().collect();
        self.rules.push((MultiField { dscps: Some(set), ..MultiField::default() }, self.count));
        self.named.extend(code_points.into_iter().map(|dscp| (dscp, self.count)));
        self.count += 1;
    }

    fn read(&mut self, checker: &mut Checker<'_>, path: &str, keys: &BandKeys) {
        match keys {
            BandKeys::Rest => {
                if self.rest.replace(self.count).is_some() {
                    let help =
                        "write \"rest\" in one band only, and list the code points of the others";
                    checker.document.mistake(path, "\"rest\" is in two bands", help);
                }
                self.count += 1;
            }
            BandKeys::Rule(rule) => {
                let rule = checker.rule(&format!("{path}.match"), self.count, rule);
                self.rules.push((rule, self.count));
                self.has_match = true;
                self.count += 1;
            }
            BandKeys::List(points) => self.named_band(checker, path, points.iter().collect()),
            BandKeys::Each(points) => {
                points.iter().for_each(|&dscp| self.named_band(checker, path, vec![dscp]));
            }
        }
    }

    fn named_band(&mut self, checker: &mut Checker<'_>, path: &str, code_points: Vec<Dscp>) {
        let mut named: DscpSet = self.named.iter().map(|&(dscp, _)| dscp).collect();
        for &dscp in &code_points {
            if named.contains(dscp) {
                let message = format!("the code point {dscp} is in two bands");
                checker.document.mistake(path, message, "name it in one band only");
                return;
            }
            named = named.with(dscp);
        }
        self.add(code_points);
    }
}

/// Which packets belong to a band of a shared buffer, or to several bands.
#[derive(Debug, Clone)]
enum BandKeys {
    /// A code point, or a range that makes a band of each code point.
    Each(Vec<Dscp>),
    List(CodePoints),
    Rule(Box<MatchKeys>),
    Rest,
}

impl<'de> Deserialize<'de> for BandKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = BandKeys;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a code point, a range such as \"63-0\", a list of code points, \"rest\", or a \
                     table { match = … }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<BandKeys, E> {
                Ok(match text {
                    "rest" => BandKeys::Rest,
                    _ => match range(text) {
                        Some(points) => BandKeys::Each(points),
                        None => {
                            let text = de::value::StrDeserializer::new(text);
                            BandKeys::Each(vec![CodePoint::deserialize(text)?.0])
                        }
                    },
                })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<BandKeys, A::Error> {
                let seq = de::value::SeqAccessDeserializer::new(seq);
                CodePoints::deserialize(seq).map(BandKeys::List)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BandKeys, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                RuleBandKeys::deserialize(map).map(|band| BandKeys::Rule(Box::new(band.rule)))
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for BandKeys {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SharedBand".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A code point, a range such as \"63-0\" (one band for each), a \
                            list of code points, \"rest\", or a table with a `match`.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
                generator.subschema_for::<RuleBandKeys>(),
            ],
        })
    }
}

/// A band whose packets a `match` selects.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SharedRuleBand")]
struct RuleBandKeys {
    /// Which packets belong to the band.
    #[serde(rename = "match")]
    rule: MatchKeys,
}

/// The code points from the first to the last, in this order, if `text` is a range.
fn range(text: &str) -> Option<Vec<Dscp>> {
    let (first, last) = text.split_once('-')?;
    let (first, last): (u8, u8) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let (low, high) = (first.min(last), first.max(last));
    let mut points: Vec<Dscp> = (low..=high).map(Dscp::new).collect::<Option<_>>()?;
    if first > last {
        points.reverse();
    }
    Some(points)
}
