//! `tsw3cm`: time sliding window three colour marker.

use shortflow_elements::marker::ColorMarker;
use shortflow_elements::meter::{Tsw3Cm, Tsw3CmParams};
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Rate, Rng};

use crate::check::Checker;
use crate::keys::tsw_keys;
use crate::scheme::MarkerScheme;

tsw_keys! {
    /// Time sliding window three colour marker. Above the committed rate packets are yellow, above the peak
    /// rate red, each with a probability in proportion to the excess.
    #[schemars(rename = "Tsw3Cm")]
    struct Keys {
        /// Peak information rate.
        #[schemars(extend("x-range" = "at least `cir`"))]
        pir: Rate,
    }
}

/// The meter's parameters.
pub type Plan = Tsw3CmParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "RFC 2859";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
marker.tsw3cm = { cir = "5 Mbit/s", pir = "8 Mbit/s" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let params = self.tsw(checker, path)?;
        checker.accept(path, Tsw3CmParams::new(params, self.pir))
    }

    fn build(plan: &Plan, code_points: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        ColorMarker::new(Tsw3Cm::new(plan.clone(), rng).into(), code_points).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }
}
