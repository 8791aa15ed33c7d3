//! Slow start and congestion avoidance (RFC 5681 §3.1).

use shortflow_units::{Bytes, Instant};

use super::{Ack, Congestion, CongestionControl};

/// Additive increase of one segment per round trip, multiplicative decrease by a half. Fields have 32 bits,
/// as receive windows do, because each end of each connection has one.
#[derive(Debug)]
pub struct Aimd {
    mss: u16,
    growth: Growth,
    /// Whether a reduced window is a whole number of segments.
    in_whole_segments: bool,
    /// cwnd.
    window: u32,
    /// ssthresh; at first "arbitrarily high".
    threshold: u32,
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    counted: u32,
}

/// How congestion avoidance opens the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// By a segment for each window of bytes acknowledged, as RFC 5681 §3.1 recommends.
    Bytes,
    /// By SMSS·SMSS/cwnd for each acknowledgement (RFC 5681 §3.1, eq. 3).
    Acknowledgements,
}

impl Aimd {
    /// Starts with `initial_window`, in slow start.
    pub fn new(mss: u16, initial_window: Bytes) -> Self {
        Aimd {
            mss,
            growth: Growth::Bytes,
            in_whole_segments: false,
            window: capped(initial_window),
            threshold: u32::MAX,
            counted: 0,
        }
    }

    /// Adds SMSS·SMSS/cwnd per acknowledgement in congestion avoidance, however much it acknowledges (RFC
    /// 5681 §3.1, eq. 3). The window then grows by a little less than a segment per round trip, and by half
    /// of that with delayed acknowledgements.
    pub fn counting_acknowledgements(self) -> Self {
        Aimd { growth: Growth::Acknowledgements, ..self }
    }

    /// Rounds reduced windows down to whole segments.
    #[must_use]
    pub fn in_whole_segments(self) -> Self {
        Aimd { in_whole_segments: true, ..self }
    }

    #[inline]
    fn avoid_congestion(&mut self, acknowledged: u32) {
        if self.growth == Growth::Acknowledgements {
            // RFC 5681 §3.1: a formula that yields 0 is rounded up to a byte.
            let step = (self.segment() * self.segment() / self.window).max(1);
            self.window = self.window.saturating_add(step);
            return;
        }
        self.counted = self.counted.saturating_add(acknowledged);
        if self.counted >= self.window {
            self.counted -= self.window;
            self.window = self.window.saturating_add(self.segment());
        }
    }

    /// Opens the window by `bytes`.
    pub(super) fn widen(&mut self, bytes: Bytes) {
        self.window = self.window.saturating_add(capped(bytes));
    }

    #[inline]
    fn segment(&self) -> u32 {
        u32::from(self.mss)
    }

    /// The window after a reduction of `window`.
    fn left_of(&self, window: Bytes) -> u32 {
        let window = capped(window);
        if self.in_whole_segments { window - window % self.segment() } else { window }
    }

    /// RFC 5681 §3.1, eq. 4.
    fn set_threshold(&mut self, window: Bytes) {
        self.threshold = self.left_of(window).max(2 * self.segment());
    }

    /// Continues in congestion avoidance from `window`, or from one segment (RFC 3168 §6.1.2).
    pub fn reduce_to(&mut self, window: Bytes) {
        self.counted = 0;
        self.set_threshold(window);
        self.window = self.left_of(window).max(self.segment());
    }
}

/// Limited to 32 bits.
#[inline]
fn capped(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

impl CongestionControl for Aimd {
    #[inline]
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        if !ack.opens_window() {
            return;
        }
        let acknowledged = capped(ack.acknowledged);
        if self.window < self.threshold {
            self.window = self.window.saturating_add(capped(ack.slow_start_increase));
        } else {
            self.avoid_congestion(acknowledged);
        }
    }

    fn on_congestion(&mut self, _now: Instant, event: Congestion, in_flight: Bytes) {
        self.counted = 0;
        let half = Bytes(in_flight.0 / 2);
        match event {
            Congestion::Loss => {
                self.set_threshold(half);
                self.window = self.threshold;
            }
            Congestion::Ecn => self.reduce_to(half), // RFC 3168 §6.1.2
            Congestion::Timeout => {
                self.set_threshold(half);
                self.window = self.segment();
            }
            // RFC 5681 §3.1: "the value of ssthresh is held constant".
            Congestion::RepeatedTimeout => self.window = self.segment(),
        }
    }

    fn cap_window(&mut self, limit: Bytes) {
        self.window = self.window.min(capped(limit));
    }

    fn threshold(&self) -> Option<Bytes> {
        Some(Bytes(u64::from(self.threshold)))
    }

    fn restore(&mut self, window: Bytes, threshold: Bytes) {
        self.window = self.window.max(capped(window));
        self.threshold = capped(threshold);
    }

    #[inline]
    fn window(&self) -> Bytes {
        Bytes(u64::from(self.window))
    }

    fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn acknowledge(control: &mut Aimd, bytes: u64) {
        let ack = Ack::plain(Bytes(bytes), control.window());
        control.on_ack(Instant::START, &ack);
    }

    #[test]
    fn slow_start_doubles_the_window_in_a_round_trip() {
        let mut control = Aimd::new(1000, Bytes(4 * MSS));
        for _ in 0..4 {
            acknowledge(&mut control, MSS);
        }
        assert_eq!(control.window(), Bytes(8 * MSS));
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_in_a_round_trip() {
        let mut control = Aimd::new(1000, Bytes(20 * MSS));
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(20 * MSS));
        assert!(!control.is_slow_start());
        for _ in 0..9 {
            acknowledge(&mut control, MSS);
        }
        assert_eq!(control.window(), Bytes(10 * MSS));
        acknowledge(&mut control, MSS);
        assert_eq!(control.window(), Bytes(11 * MSS));
    }

    #[test]
    fn a_loss_begins_the_count_of_acknowledged_bytes_anew() {
        let mut control = Aimd::new(1000, Bytes(20 * MSS));
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(20 * MSS));
        // Nine of ten segments are counted when the next loss comes, at the same window.
        acknowledge(&mut control, 9 * MSS);
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(20 * MSS));
        acknowledge(&mut control, 9 * MSS);
        assert_eq!(control.window(), Bytes(10 * MSS), "a whole window after the loss, not before");
        acknowledge(&mut control, MSS);
        assert_eq!(control.window(), Bytes(11 * MSS));
    }

    #[test]
    fn acknowledgements_of_two_segments_count_for_one_where_acknowledgements_are_counted() {
        let after_a_window = |control: Aimd| {
            let mut control = control;
            control.on_congestion(Instant::START, Congestion::Loss, Bytes(20 * MSS));
            for _ in 0..5 {
                acknowledge(&mut control, 2 * MSS);
            }
            control.window().0 / MSS
        };
        let fresh = || Aimd::new(1000, Bytes(20 * MSS));
        assert_eq!(after_a_window(fresh()), 11);
        assert_eq!(after_a_window(fresh().counting_acknowledgements()), 10);
    }

    // RFC 5681 §3.1, eq. 3: 10,000 + 100 + 1,000,000/10,100 + …
    #[test]
    fn an_acknowledgement_that_is_counted_adds_its_share_of_a_segment_at_once() {
        let mut control = Aimd::new(1000, Bytes(20 * MSS)).counting_acknowledgements();
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(20 * MSS));
        let windows = [10_100, 10_199, 10_297, 10_394].map(Bytes);
        for window in windows {
            acknowledge(&mut control, MSS);
            assert_eq!(control.window(), window);
        }
    }

    #[test]
    fn a_share_of_less_than_a_byte_is_a_byte() {
        let mut control = Aimd::new(1000, Bytes(4_000_000)).counting_acknowledgements();
        control.on_congestion(Instant::START, Congestion::Loss, Bytes(4_000_000));
        acknowledge(&mut control, MSS);
        assert_eq!(control.window(), Bytes(2_000_001));
    }

    #[test]
    fn each_sign_of_congestion_has_its_window_and_threshold() {
        let after = |event, flight| {
            let mut control = Aimd::new(1000, Bytes(40 * MSS));
            control.on_congestion(Instant::START, event, Bytes(flight));
            (control.window / 1000, control.threshold / 1000)
        };
        assert_eq!(after(Congestion::Loss, 20 * MSS), (10, 10));
        assert_eq!(after(Congestion::Loss, 3 * MSS), (2, 2));
        assert_eq!(after(Congestion::Ecn, 20 * MSS), (10, 10));
        assert_eq!(after(Congestion::Ecn, 2 * MSS), (1, 2));
        assert_eq!(after(Congestion::Timeout, 20 * MSS), (1, 10));
    }

    #[test]
    fn a_repeated_timeout_holds_the_threshold() {
        let mut control = Aimd::new(1000, Bytes(40 * MSS));
        control.on_congestion(Instant::START, Congestion::Timeout, Bytes(40 * MSS));
        control.on_congestion(Instant::START, Congestion::RepeatedTimeout, Bytes(MSS));
        assert_eq!((control.window, control.threshold), (1000, 20_000));
    }
}
