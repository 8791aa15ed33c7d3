//! `tsw2cm`: time sliding window two colour marker.

use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{Tsw2Cm, TswParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::Rng;

use crate::check::Checker;
use crate::keys::tsw_keys;
use crate::scheme::{MarkerScheme, TWO_COLORS};

tsw_keys! {
    /// Time sliding window two colour marker. Above the committed rate, packets are yellow with a probability
    /// in proportion to the excess.
    #[schemars(rename = "Tsw2Cm")]
    struct Keys {}
}

/// The meter's parameters.
pub type Plan = TswParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2859, with its peak rate at the committed rate";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.tsw2cm = { cir = "6.4 Mbit/s" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        self.tsw(checker, path)
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(Tsw2Cm::new(plan.clone(), rng).into(), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        TWO_COLORS
    }
}
