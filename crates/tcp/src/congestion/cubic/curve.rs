//! How CUBIC's window grows by RFC 9438: along a curve, in parts of a segment.

use shortflow_units::{Duration, Instant};

use super::{DECREASE, SCALE};

/// α of RFC 9438 §4.3: with β, as fast as Reno on the average.
const RENO_INCREASE: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);

/// A stage of congestion avoidance; windows are in segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    /// When it began, moved on by the time in which the window did not hold the sender back.
    began: Instant,
    /// The last acknowledgement that counted.
    counted: Instant,
    /// W_max, or where the stage began if that is more.
    plateau: f64,
    /// cwnd_prior: the window just before the last reduction.
    prior: f64,
    /// K: seconds from the beginning to the plateau.
    pub(super) until_plateau: f64,
    /// W_est: where Reno would be.
    reno: f64,
}

impl Curve {
    /// RFC 9438 §4.2: where the stage begins. Above the plateau, as after a timeout, it begins a new one
    /// (§4.8).
    pub(super) fn begin(now: Instant, window: f64, plateau: f64, prior: f64) -> Self {
        let plateau = plateau.max(window);
        let until_plateau = libm::cbrt((plateau - window) / SCALE);
        Curve { began: now, counted: now, plateau, prior, until_plateau, reno: window }
    }

    /// W_cubic, `after` the beginning (RFC 9438 §4.2, Figure 1).
    fn at(&self, after: Duration) -> f64 {
        let from_plateau = after.as_secs_f64() - self.until_plateau;
        SCALE * from_plateau * from_plateau * from_plateau + self.plateau
    }

    /// What `window` becomes when so many segments are acknowledged.
    pub(super) fn grow(
        &mut self,
        now: Instant,
        window: f64,
        acknowledged: f64,
        rtt: Duration,
    ) -> f64 {
        // Acknowledgements that count come within a round trip of each other; a longer silence is the
        // application's, and is no time of growth (RFC 9438 §5.8).
        self.began += now.since(self.counted).saturating_sub(rtt);
        self.counted = now;
        let after = now.since(self.began);

        // RFC 9438 §4.3: as Reno from where the window was reduced, and as fast as Reno beyond.
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
