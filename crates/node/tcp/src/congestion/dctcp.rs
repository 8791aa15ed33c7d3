//! DCTCP (RFC 8257): the window shrinks in proportion to the share of marked bytes.

use shortflow_units::{Bytes, Instant};

use super::{Ack, Aimd, Congestion, CongestionControl};
use crate::EchoRule;

/// g of RFC 8257 §3.3 and §4.2: the weight of the latest window.
const GAIN: f64 = 1.0 / 16.0;

/// Grows and reacts to losses as Reno does (RFC 8257 §3.4 and §3.5), and reacts to marks by their share.
#[derive(Debug)]
pub(crate) struct Dctcp {
    aimd: Aimd,
    /// DCTCP.Alpha: the estimated share of bytes that met congestion.
    alpha: f64,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked: in this window of data.
    acknowledged: u64,
    marked: u64,
    /// Bytes to be acknowledged until DCTCP.WindowEnd.
    left: u64,
}

impl Dctcp {
    /// Grows as `aimd` does, and starts with α = 1: the first mark halves the window (RFC 8257 §4.2).
    pub(crate) fn new(aimd: Aimd) -> Self {
        Dctcp { aimd, alpha: 1.0, acknowledged: 0, marked: 0, left: 0 }
    }

    /// RFC 8257 §3.3, steps 2 to 8.
    fn estimate(&mut self, ack: &Ack) {
        self.acknowledged += ack.acknowledged.0;
        self.marked += ack.marked.0;
        self.left = self.left.saturating_sub(ack.acknowledged.0);
        if self.left > 0 || self.acknowledged == 0 {
            return;
        }
        let share = self.marked as f64 / self.acknowledged as f64;
        self.alpha = self.alpha * (1.0 - GAIN) + share * GAIN;
        self.left = ack.in_flight.0.saturating_sub(ack.acknowledged.0);
        self.acknowledged = 0;
        self.marked = 0;
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        self.estimate(ack);
        self.aimd.on_ack(now, ack);
    }

    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes) {
        if event == Congestion::Ecn {
            // RFC 8257 §3.3, step 9.
            let left = self.aimd.window().0 as f64 * (1.0 - self.alpha / 2.0);
            self.aimd.reduce_to(Bytes(left as u64));
        } else {
            self.aimd.on_congestion(now, event, in_flight);
        }
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.aimd.cap_window(limit);
    }

    fn window(&self) -> Bytes {
        self.aimd.window()
    }

    fn is_slow_start(&self) -> bool {
        self.aimd.is_slow_start()
    }

    fn echo(&self) -> EchoRule {
        EchoRule::Exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn acknowledge(control: &mut Dctcp, bytes: u64, in_flight: u64, is_marked: bool) {
        let plain = Ack::plain(Bytes(bytes), Bytes(in_flight));
        let marked = Bytes(if is_marked { bytes } else { 0 });
        control.on_ack(Instant::START, &Ack { marked, ..plain });
    }

    fn starting_with(segments: u64) -> Dctcp {
        Dctcp::new(Aimd::new(1000, Bytes(segments * MSS)))
    }

    /// A window of ten segments, of which the first `marked` are marked; the next window is sent
    /// meanwhile.
    fn window_of_ten(control: &mut Dctcp, marked: u64) {
        for segment in 0..10 {
            acknowledge(control, MSS, 10 * MSS, segment < marked);
        }
    }

    /// RFC 8257 §3.3: α = 15/16 · α + 1/16 · M, once in a window of data.
    #[test]
    fn alpha_moves_by_a_sixteenth_towards_the_share_of_marks() {
        let mut control = starting_with(10);
        // The first acknowledgement ends the empty window before it: M = 0, and 9 segments are left.
        acknowledge(&mut control, MSS, 10 * MSS, false);
        assert!((control.alpha - 15.0 / 16.0).abs() < 1e-12);
        for segment in 0..9 {
            acknowledge(&mut control, MSS, 10 * MSS, segment < 3);
        }
        let expected = 15.0 / 16.0 * 15.0 / 16.0 + 3.0 / 9.0 / 16.0;
        assert!((control.alpha - expected).abs() < 1e-12);
    }

    /// RFC 8257 §3.3, step 9: cwnd = cwnd · (1 − α/2).
    #[test]
    fn a_mark_takes_half_of_alpha_from_the_window() {
        let mut control = starting_with(100);
        control.alpha = 0.2;
        control.on_congestion(Instant::START, Congestion::Ecn, Bytes(100 * MSS));
        assert_eq!(control.window(), Bytes(90 * MSS));
        assert!(!control.is_slow_start());
        control.alpha = 1.0;
        control.on_congestion(Instant::START, Congestion::Ecn, Bytes(90 * MSS));
        assert_eq!(control.window(), Bytes(45 * MSS));
    }

    /// RFC 8257 §3.4.
    #[test]
    fn a_loss_halves_the_window_whatever_alpha_is() {
        let mut control = starting_with(40);
        control.alpha = 0.1;
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(40 * MSS));
        assert_eq!(control.window(), Bytes(20 * MSS));
    }

    /// RFC 5681 §4.1: after an idle time the window is no more than the restart window.
    #[test]
    fn a_cap_shrinks_the_window_and_never_widens_it() {
        let mut control = starting_with(40);
        control.cap_window(Bytes(10 * MSS));
        assert_eq!(control.window(), Bytes(10 * MSS));
        control.cap_window(Bytes(20 * MSS));
        assert_eq!(control.window(), Bytes(10 * MSS));
    }

    #[test]
    fn without_marks_alpha_decays_and_the_window_grows_as_renos() {
        let mut control = starting_with(10);
        control.on_congestion(Instant::START, Congestion::Ecn, Bytes(10 * MSS));
        for _ in 0..100 {
            window_of_ten(&mut control, 0);
        }
        assert!(control.alpha < 0.01);
        let mut reno = Aimd::new(1000, Bytes(10 * MSS));
        reno.reduce_to(Bytes(5 * MSS));
        for _ in 0..1000 {
            reno.on_ack(Instant::START, &Ack::plain(Bytes(MSS), Bytes(10 * MSS)));
        }
        assert_eq!(control.window(), reno.window());
    }

    /// Alizadeh et al. (2010), §3.3: where a queue marks all of a window that exceeds W* segments, the
    /// window swings between (W* + 1)(1 − α/2) and W* + 1, and α² (1 − α/4) = (2W* + 1)/(W* + 1)².
    #[test]
    fn alpha_settles_where_the_fluid_model_has_it() {
        for limit in [200_u64, 2000] {
            let mut control = starting_with(limit);
            let (mut sum, mut count) = (0.0, 0);
            for round in 0..3000 {
                let window = control.window().0 / MSS;
                let is_marked = window > limit;
                for _ in 0..window {
                    acknowledge(&mut control, MSS, window * MSS, is_marked);
                }
                if is_marked {
                    control.on_congestion(Instant::START, Congestion::Ecn, Bytes(window * MSS));
                }
                if round > 1500 {
                    sum += control.alpha;
                    count += 1;
                }
            }
            let alpha = sum / f64::from(count);
            let peak = limit as f64 + 1.0;
            let model = fixed_point((2.0 * limit as f64 + 1.0) / (peak * peak));
            // A cycle of 1/α rounds may be one or two longer than the model's: rounds are whole here.
            let tolerance = 2.0 * model;
            assert!((alpha / model - 1.0).abs() < tolerance, "α {alpha}, the model has {model}");
            // The same, where α is small: α ≈ √(2/W*).
            let rough = libm::sqrt(2.0 / limit as f64);
            assert!((alpha / rough - 1.0).abs() < tolerance, "α {alpha}, roughly {rough}");
        }
    }

    /// The root of α² (1 − α/4) = `right` between 0 and 1.
    fn fixed_point(right: f64) -> f64 {
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if middle * middle * (1.0 - middle / 4.0) < right {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}
