//! Window-based shaping (Mehra, Tewari & Kandlur 1999, §3.3): a window of at most r·rtt limits the mean rate
//! to r.

use shortflow_units::{Bytes, Duration, Instant, Rate};

use super::{Ack, Congestion, CongestionControl, Controller};
use crate::EchoRule;

/// Limits the window of any control to what `rate` delivers in the smoothed round-trip time, at least one
/// segment. This limits the mean rate of payload, but neither its peak nor its bursts.
#[derive(Debug)]
pub(crate) struct RateWindow {
    inner: Controller,
    mss: u16,
    rate: Rate,
    /// The window limit; unset until there is a round-trip time.
    max: Option<Bytes>,
}

impl RateWindow {
    pub(crate) fn new(inner: Controller, mss: u16, rate: Rate) -> Self {
        RateWindow { inner, mss, rate, max: None }
    }

    fn set_max(&mut self, rtt: Duration) {
        self.max = Some(self.rate.volume(rtt).max(Bytes(self.mss.into())));
    }
}

impl CongestionControl for RateWindow {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        self.inner.on_ack(now, ack);
        if let Some(rtt) = ack.smoothed_rtt {
            self.set_max(rtt);
        }
    }

    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes) {
        self.inner.on_congestion(now, event, in_flight);
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.inner.cap_window(limit);
    }

    fn window(&self) -> Bytes {
        self.max.map_or(self.inner.window(), |max| self.inner.window().min(max))
    }

    fn is_slow_start(&self) -> bool {
        self.inner.is_slow_start()
    }

    fn is_rate_based(&self) -> bool {
        self.inner.is_rate_based()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }

    fn echo(&self) -> EchoRule {
        self.inner.echo()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Aimd;
    use super::*;

    fn acknowledge(control: &mut RateWindow, millis: u64) {
        let plain = Ack::plain(Bytes(1000), control.window());
        let smoothed_rtt = Some(Duration::from_millis(millis));
        control.on_ack(Instant::START, &Ack { smoothed_rtt, ..plain });
    }

    #[test]
    fn the_window_is_what_the_rate_delivers_in_a_round_trip_and_a_segment_at_least() {
        let reno = Controller::Aimd(Aimd::new(1000, Bytes(40_000)));
        let mut control = RateWindow::new(reno, 1000, Rate::from_bits_per_sec(800_000));
        assert_eq!(control.window(), Bytes(40_000), "there is no round-trip time yet");
        for (millis, bytes) in [(300, 30_000), (50, 5_000), (5, 1_000), (9_000, 44_000)] {
            acknowledge(&mut control, millis);
            assert_eq!(control.window(), Bytes(bytes), "{millis} ms");
        }
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(20_000));
        assert_eq!(control.window(), Bytes(10_000), "a loss is the inner control's business");
    }
}
