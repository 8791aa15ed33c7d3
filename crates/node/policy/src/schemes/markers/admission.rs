//! `admission`: admission control of streams by measured load.

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::marker::{AdmissionControl, AdmissionParams, LoadWindow};
use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
use shortflow_elements::{Color, Marker, Settling};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Probability, Rate, Rng};

use crate::check::Checker;
use crate::keys::{CodePoint, PerKey};
use crate::scheme::MarkerScheme;

/// Measurement-based admission control (measured sum). A stream is admitted at its first packet if the
/// measured load of admitted streams plus its peak rate fits into the share of the link. Packets of admitted
/// streams are green, those above the declared peak yellow, those of refused streams red; `police` can drop
/// them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Admission")]
pub(crate) struct Keys {
    /// Rate of the link that the streams share.
    #[schemars(extend("x-range" = "above zero"))]
    link: Rate,
    /// Share of the link that admitted streams may use.
    #[schemars(extend("x-range" = "above 0, at most 1"))]
    share: Probability,
    /// The peak rate that each stream declares.
    #[schemars(extend("x-range" = "above zero"))]
    peak: Rate,
    /// Depth of the bucket that limits each stream to its peak. Default: no limit.
    #[schemars(extend("x-range" = "at least 40 B"))]
    depth: Option<Bytes>,
    /// Time over which the load is averaged. A stream should send several packets in it.
    #[serde(default = "sample")]
    #[schemars(extend("x-range" = "above zero"))]
    sample: Duration,
    /// Number of samples in a window. The highest sample is the measured load.
    #[serde(default = "samples")]
    #[schemars(extend("x-range" = "at least 1"))]
    samples: u32,
    /// Which packets are one stream. Default: "flow".
    per: Option<PerKey>,
    /// Code point of admitted packets.
    admitted: CodePoint,
    /// Code point of all other packets.
    #[serde(default = "refused")]
    refused: CodePoint,
}

/// S: a voice stream of 50 packets per second sends 25 packets in it.
fn sample() -> Duration {
    Duration::from_millis(500)
}

/// T/S: Jamin et al. 1997 recommend at least 10.
fn samples() -> u32 {
    10
}

fn refused() -> CodePoint {
    CodePoint(Dscp::BEST_EFFORT)
}

/// The marker's parameters.
pub type Plan = AdmissionParams;

impl MarkerScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Jamin, Danzig, Shenker & Zhang 1997";
    const EXAMPLE: &'static str = r#"[[roles.edge.classes]]
name = "voice"
match = { protocol = "udp" }
marker.admission = { link = "2 Mbit/s", share = 0.5, peak = "80 kbit/s", admitted = "EF" }
police = { red = "drop" }
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        if let Some(depth) = self.depth {
            checker.depth(&format!("{path}.depth"), "depth", depth);
            checker.filling(&format!("{path}.depth"), "depth", depth, self.peak);
        }
        let window = checker.accept(path, LoadWindow::new(self.sample, self.samples));
        let bucket = self.depth.map(|depth| TokenBucketParams::new(self.peak, depth));
        let settled = bucket
            .and_then(Result::ok)
            .map_or(Duration::ZERO, |bucket| TokenBucket::new(bucket).settled_after());
        let streams = checker.per_flow(path, self.per.as_ref(), settled);
        let target = self.link.bits_per_sec() as f64 * self.share.value();
        let params = AdmissionParams::new(
            Rate::from_bits_per_sec(target.round() as u64),
            self.peak,
            self.depth,
            window?,
            streams?,
            [self.admitted.0, self.refused.0],
        );
        checker.accept(path, params)
    }

    fn build(plan: &Plan, _: [Dscp; 3], rng: Rng) -> Box<dyn Marker> {
        AdmissionControl::new(plan.clone(), rng).into()
    }

    fn colors(_: &Plan) -> &'static [Color] {
        &Color::ALL
    }

    fn writes(plan: &Plan, _: [Dscp; 3]) -> Vec<Dscp> {
        plan.code_points().to_vec()
    }
}
