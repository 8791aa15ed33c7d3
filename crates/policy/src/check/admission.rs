//! Checks admission control.

use shortflow_elements::marker::{AdmissionParams, LoadWindow};
use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
use shortflow_elements::{Dscp, Settling};
use shortflow_units::{Duration, Rate};

use super::Checker;
use crate::file::AdmissionFile;
use crate::model::MarkerPlan;

impl Checker<'_> {
    pub(super) fn admission(&mut self, path: &str, file: &AdmissionFile) -> Option<MarkerPlan> {
        let admitted = self.dscp(&format!("{path}.admitted"), &file.admitted);
        let refused = file.refused.as_ref();
        let refused =
            refused.map_or(Dscp::BEST_EFFORT, |dscp| self.dscp(&format!("{path}.refused"), dscp));
        let sample = file.sample.unwrap_or(DEFAULT_SAMPLE);
        let window = LoadWindow::new(sample, file.samples.unwrap_or(DEFAULT_SAMPLES));
        let window = self.accept(path, window);
        let bucket = file.depth.map(|depth| TokenBucketParams::new(file.peak, depth));
        let settled = bucket
            .and_then(Result::ok)
            .map_or(Duration::ZERO, |bucket| TokenBucket::new(bucket).settled_after());
        let streams = self.per_flow(path, file.per.as_ref(), settled);
        let target = file.link.bits_per_sec() as f64 * file.share.value();
        let params = AdmissionParams::new(
            Rate::from_bits_per_sec(target.round() as u64),
            file.peak,
            file.depth,
            window?,
            streams?,
            [admitted, refused],
        );
        self.accept(path, params).map(MarkerPlan::Admission)
    }
}

/// S, in which a voice stream of 50 packets a second sends 25.
const DEFAULT_SAMPLE: Duration = Duration::from_millis(500);
/// T/S: Jamin et al. 1997 want it to be at least 10.
const DEFAULT_SAMPLES: u32 = 10;
