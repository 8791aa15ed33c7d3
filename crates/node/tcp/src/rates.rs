//! Delivery rates and pacing, for congestion controls that require them.

use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::congestion::Delivery;

/// Measures the delivery rate on the segment that is timed for the round trip, and spaces outgoing data. Only
/// rate-based connections have one.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// The earliest time for new data.
    release: Instant,
    /// Data wait for `release`.
    waiting: bool,
    /// Bytes acknowledged so far, and the time of the last acknowledgement.
    delivered: u64,
    delivered_at: Instant,
    /// When the segment was sent whose acknowledgement ended the last measurement.
    first_sent_at: Instant,
    /// The current measurement.
    start: Start,
}

/// The state when the timed segment was sent.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    sent_at: Instant,
    first_sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    app_limited: bool,
}

impl Rates {
    /// The timed segment is sent. If it `is_first`, nothing else is in flight, and the time before does not
    /// count.
    pub(crate) fn on_timed_send(&mut self, now: Instant, is_first: bool) {
        if is_first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        self.start = Start {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: false,
        };
    }

    /// The sender has no more to send, though the window had room.
    pub(crate) fn on_app_limited(&mut self) {
        self.start.app_limited = true;
    }

    /// `acknowledged` more bytes arrived. Returns the rate if this `ends` the measurement. Its time is the
    /// longer of the intervals of sending and acknowledging, so neither a burst nor compressed
    /// acknowledgements make the path look faster.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        acknowledged: u64,
        ends: bool,
    ) -> Option<Delivery> {
        self.delivered += acknowledged;
        self.delivered_at = now;
        if !ends {
            return None;
        }
        let start = self.start;
        self.first_sent_at = start.sent_at;
        let sending = start.sent_at.since(start.first_sent_at);
        let elapsed = sending.max(now.since(start.delivered_at)).nanos();
        let bits = u128::from(self.delivered - start.delivered) * 8 * 1_000_000_000;
        let bits_per_sec = u64::try_from(bits.checked_div(u128::from(elapsed))?).ok()?;
        let rate = Rate::from_bits_per_sec(bits_per_sec);
        Some(Delivery { rate, app_limited: start.app_limited })
    }

    /// Whether new data may be sent now. Otherwise they wait.
    pub(crate) fn may_send(&mut self, now: Instant) -> bool {
        self.waiting = now < self.release;
        !self.waiting
    }

    /// `bytes` were sent at `rate`. The next data may follow after their transmission time.
    pub(crate) fn on_send(&mut self, now: Instant, bytes: u64, rate: Option<Rate>) {
        let rate = rate.filter(|rate| *rate > Rate::ZERO);
        let taken = rate.map_or(Duration::ZERO, |rate| rate.time_for(Bytes(bytes)));
        self.release = self.release.max(now) + taken;
    }

    /// When the host must call `on_wake`.
    pub(crate) fn wake(&self) -> Instant {
        if self.waiting { self.release } else { Instant::NEVER }
    }

    /// The host's call at that time.
    pub(crate) fn on_wake(&mut self, now: Instant) {
        if self.release <= now {
            self.waiting = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// 10 KB leave at once and are acknowledged between 100 and 110 ms: 10 KB in 110 ms. The next segment
    /// that is timed leaves 110 ms after the first; until its acknowledgement, 100 ms later, 100 KB come.
    #[test]
    fn the_rate_is_of_the_longer_interval() {
        let mut rates = Rates::default();
        rates.on_timed_send(at(0), true);
        assert_eq!(rates.on_ack(at(101), 1000, false), None);
        let first = rates.on_ack(at(110), 9000, true).unwrap();
        assert_eq!(first.rate, Rate::from_bits_per_sec(10_000 * 8 * 1000 / 110));

        rates.on_timed_send(at(110), false);
        rates.on_ack(at(111), 1000, false);
        let second = rates.on_ack(at(210), 99_000, true).unwrap();
        assert_eq!(second.rate, Rate::from_bits_per_sec(100_000 * 8 * 1000 / 110));
        assert!(!second.app_limited);
    }

    #[test]
    fn a_sender_without_data_says_so_in_its_sample() {
        let mut rates = Rates::default();
        rates.on_timed_send(at(0), true);
        rates.on_app_limited();
        assert!(rates.on_ack(at(100), 1000, true).unwrap().app_limited);
        rates.on_timed_send(at(100), true);
        assert!(!rates.on_ack(at(200), 1000, true).unwrap().app_limited);
    }
}
