//! CUBIC's window growth by RFC 9438: along a curve, in fractions of a segment.

use shortflow_units::{Duration, Instant};

use super::{DECREASE, SCALE};

/// α of RFC 9438 §4.3: with β, as fast as Reno on average.
const RENO_INCREASE: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);

/// A stage of congestion avoidance. Windows are in segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    /// Its start, delayed by the time in which the window did not limit the sender.
    began: Instant,
    /// The last acknowledgement that counted.
    counted: Instant,
    /// W_max, or the window at the start of the stage if that is larger.
    plateau: f64,
    /// cwnd_prior: the window just before the last reduction.
    prior: f64,
    /// K: seconds from the start to the plateau.
    pub(super) until_plateau: f64,
    /// W_est: the window of Reno.
    reno: f64,
}

impl Curve {
    /// RFC 9438 §4.2: starts a stage. If the window is above the plateau, as after a timeout, it becomes the
    /// plateau (§4.8).
    pub(super) fn begin(now: Instant, window: f64, plateau: f64, prior: f64) -> Self {
        let plateau = plateau.max(window);
        let until_plateau = libm::cbrt((plateau - window) / SCALE);
        Curve { began: now, counted: now, plateau, prior, until_plateau, reno: window }
    }

    /// W_cubic, `after` the start (RFC 9438 §4.2, Figure 1).
    fn at(&self, after: Duration) -> f64 {
        let from_plateau = after.as_secs_f64() - self.until_plateau;
        SCALE * from_plateau * from_plateau * from_plateau + self.plateau
    }

    /// The new window after `window`, when this many segments are acknowledged.
    pub(super) fn grow(
        &mut self,
        now: Instant,
        window: f64,
        acknowledged: f64,
        rtt: Duration,
    ) -> f64 {
        // The intervals between acknowledgements that count are below a round trip. A longer pause is due to
        // the application, and does not count as time of growth (RFC 9438 §5.8).
        self.began += now.since(self.counted).saturating_sub(rtt);
        self.counted = now;
        let after = now.since(self.began);

        // RFC 9438 §4.3: α up to the window before the reduction, then as fast as Reno.
        let for_another = if self.reno < self.prior { window / RENO_INCREASE } else { window };
        self.reno += acknowledged / for_another;
        if self.at(after) < self.reno {
            return window.max(self.reno);
        }
        // §4.4 and §4.5; an acknowledgement of two segments counts as two.
        let target = self.at(after + rtt).clamp(window, 1.5 * window);
        (window + acknowledged * (target - window) / window).min(target)
    }
}
