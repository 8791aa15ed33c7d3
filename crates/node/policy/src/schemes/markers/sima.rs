//! `sima`: marks by the momentary bit rate, compared with the nominal one.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::classifier::SimaClass;
use shortflow_elements::marker::{SimaMarker, SimaParams};
use shortflow_elements::meter::MomentaryRateParams;
use shortflow_elements::{Color, Marker};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Rate, Rng};

use crate::check::Checker;
use crate::keys::{CodePoints, OneOf, PerKey, choices};
use crate::scheme::MarkerScheme;

/// The access node of SIMA (Simple Integrated Media Access): the slower a customer sends, compared with the
/// agreed nominal bit rate, the better its packets are protected. The drop precedence is 4 at the nominal
/// rate, one more per halving up to 6, one less per doubling down to 0. Packets of precedence 6 are green,
/// those of 0 red, the others yellow.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SimaMarker")]
pub(crate) struct Keys {
    /// Nominal bit rate.
    #[schemars(extend("x-range" = "above zero"))]
    nbr: Rate,
    /// Service class. A `sima` queue chooses the buffer by it.
    class: OneOf<SimaClass>,
    /// Rate of the access link on which the packets arrive.
    #[schemars(extend("x-range" = "above zero"))]
    link: Rate,
    /// Weight of one slot in the average that is the momentary bit rate. The time constant is about a slot
    /// divided by the weight. Default: 0.01 for real time, else 0.001.
    #[schemars(extend("x-range" = "above 0, below 1"))]
    weight: Option<f64>,
    /// The packet whose transmission time on the access link is one slot.
    #[serde(default = "slot")]
    #[schemars(extend("x-range" = "above zero"))]
    slot: Bytes,
    /// Which packets share a nominal bit rate: "flow", "source" and so on. Default: "all".
    per: Option<PerKey>,
    /// The code points of drop precedences 0 to 6. Default: those that a `sima` queue expects, which are 3,
    /// 7, … 27, or 35, 39, … 59 for real time.
    code_points: Option<CodePoints>,
}

choices!(SimaClass as "SimaClass" {
    /// Real time (RT): its buffer is served first.
    "real-time" => SimaClass::RealTime,
    /// Non-real time (NRT).
    "non-real-time" => SimaClass::NonRealTime,
});

/// A full packet of Ethernet.
fn slot() -> Bytes {
    Bytes(1500)
}

/// Laatu, Harju & Loula 2003, §3.4.
fn default_weight(class: SimaClass) -> f64 {
    match class {
        SimaClass::RealTime => 0.01,
        SimaClass::NonRealTime => 0.001,
    }
}

/// The marker's parameters.
pub type Plan = SimaParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str =
        "Laatu, Harju & Loula 2003; the momentary bit rate after Kilkki 1997";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "web"
match = { protocol = "tcp", src_port = 80 }
marker.sima = { nbr = "300 kbit/s", class = "real-time", link = "10 Mbit/s" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        let OneOf(class) = self.class;
        let weight = self.weight.unwrap_or(default_weight(class));
        let meter = checker.accept(path, MomentaryRateParams::new(self.link, self.slot, weight));
        let default = SimaParams::default_code_points(class);
        let code_points = self.code_points.as_ref();
        let code_points =
            code_points.map_or(Some(default), |points| checker.each_precedence(path, points));
        let (meter, code_points) = (meter?, code_points?);
        // The parameters determine the settling time of an account, which `per` needs.
        let all = SimaParams::new(self.nbr, meter.clone(), None, code_points);
        let settled = checker.accept(path, all)?.settled_after();
        let per = checker.per(path, self.per.as_ref(), settled)?;
        checker.accept(path, SimaParams::new(self.nbr, meter, per, code_points))
    }

    fn build(plan: &Plan, _: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        SimaMarker::new(plan.clone(), rng).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }

    fn writes(plan: &Plan, _: [Dscp; 3]) -> Vec<Dscp> {
        plan.code_points().to_vec()
    }
}
