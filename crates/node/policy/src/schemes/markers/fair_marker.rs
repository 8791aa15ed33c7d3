//! `fair-marker`: the first packets of each flow are green.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{FairMarker, FairMarkerParams, FlowTableSize};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Duration, Rng};

use crate::check::Checker;
use crate::keys::tsw_keys;
use crate::scheme::{MarkerScheme, TWO_COLORS};

tsw_keys! {
    /// The Fair Marker: the first packets of each flow are green. Further packets are green while the profile
    /// has room for them.
    #[schemars(rename = "FairMarker")]
    struct Keys {
        /// How many packets of a flow are green first (t_ft).
        #[serde(default = "threshold")]
        threshold: u64,
        /// How many flows the Short-Range Flow Table holds, or "unlimited". It counts the first packets of each
        /// flow. At 0 no packet is green because it is early in its flow, as with TSW2CM. Default: 30.
        #[schemars(extend("x-range" = "0 to 10000000"))]
        table_size: Option<TableSizeKey>,
        /// A flow that has been idle for this long leaves an unlimited table. Required if the table is
        /// unlimited.
        #[schemars(extend("x-range" = "above zero"))]
        idle_timeout: Option<Duration>,
    }
}

/// Casetti & Mellia 2005, §4: t_ft = 7.
fn threshold() -> u64 {
    7
}

/// Casetti & Mellia 2005, §4: the flow table holds 30 flows.
const DEFAULT_TABLE_SIZE: usize = 30;

/// The meter's parameters.
pub type Plan = FairMarkerParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Casetti & Mellia 2005";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.fair-marker = { cir = "6.4 Mbit/s", threshold = 7, table_size = 30 }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let tsw = self.tsw(checker, path);
        let table = self.table(checker, path)?;
        checker.accept(path, FairMarkerParams::new(tsw?, self.threshold, table))
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(FairMarker::new(plan.clone(), rng).into(), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        TWO_COLORS
    }
}

impl Keys {
    fn table(&self, checker: &mut Checker<'_>, path: &str) -> Option<FlowTableSize> {
        match (self.table_size, self.idle_timeout) {
            (Some(TableSizeKey::Unlimited), Some(idle_timeout)) => {
                Some(FlowTableSize::Unlimited { idle_timeout })
            }
            (Some(TableSizeKey::Unlimited), None) => {
                let message = "an unlimited table requires `idle_timeout`";
                let help = "add `idle_timeout = \"…\"`, after which an idle flow leaves the table";
                checker.document.mistake(&format!("{path}.table_size"), message, help);
                None
            }
            (_, Some(_)) => {
                let message = "idle_timeout has no effect unless table_size is `\"unlimited\"`";
                let help = "set `table_size = \"unlimited\"`, or remove `idle_timeout`";
                checker.document.mistake_in_key(&format!("{path}.idle_timeout"), message, help);
                None
            }
            (Some(TableSizeKey::AtMost(size)), None) => Some(FlowTableSize::AtMost(size)),
            (None, None) => Some(FlowTableSize::AtMost(DEFAULT_TABLE_SIZE)),
        }
    }
}

/// A number of flows, or no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableSizeKey {
    AtMost(usize),
    Unlimited,
}

impl<'de> Deserialize<'de> for TableSizeKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl Visitor<'_> for Forms {
            type Value = TableSizeKey;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of flows from 0 to 10000000, or \"unlimited\"")
            }
            fn visit_i64<E: de::Error>(self, flows: i64) -> Result<TableSizeKey, E> {
                match usize::try_from(flows) {
                    Ok(size) if size <= 10_000_000 => Ok(TableSizeKey::AtMost(size)),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(flows), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<TableSizeKey, E> {
                match text {
                    "unlimited" => Ok(TableSizeKey::Unlimited),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Forms)
    }
}

impl JsonSchema for TableSizeKey {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TableSize".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "unlimited" }],
        })
    }
}
