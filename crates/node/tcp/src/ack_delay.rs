//! The adaptive delay of acknowledgements, as in Linux.
//!
//! The delay is short while segments arrive in quick succession. It doubles when a segment arrives too late
//! to share an acknowledgement with the previous one. Flows of a few segments per round trip therefore get
//! one acknowledgement per two segments, where a constant 40 ms would give one per segment. If both sides
//! send data, a prompt answer carries the acknowledgement.

use shortflow_units::{Duration, Instant};

/// The upper limit. A known round-trip time is also a limit.
const MAX_DELAY: Duration = Duration::from_millis(200);

/// The delay of an acknowledgement, in milliseconds as in Linux.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckDelay {
    /// 0 before the first data.
    timeout: u16,
    /// When data last arrived.
    came: u32,
    /// Data were sent soon enough after an arrival to carry its acknowledgement.
    pub(crate) answers: bool,
}

impl AckDelay {
    /// In-order data arrived. Returns whether the pause before them was so long that the sender may have
    /// restarted: then more segments are acknowledged at once.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, min: Duration, rto: Duration) -> bool {
        let (min, rto) = (millis(min), millis(rto));
        let gap = self.since(now);
        self.came = millis_of(now);
        if self.timeout == 0 {
            self.timeout = min;
        } else if gap <= min / 2 {
            self.timeout = self.timeout / 2 + min / 2;
        } else if gap < self.timeout {
            self.timeout = (self.timeout / 2).saturating_add(gap).min(rto);
        } else {
            return gap > rto;
        }
        false
    }

    /// Data have been sent. Not inlined: the compiler would compute the millisecond, a division, for every
    /// call of the sender, even if no data have arrived.
    #[inline(never)]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        self.answers |= self.since(now) < self.timeout;
    }

    /// The time since data last arrived.
    #[inline]
    fn since(&self, now: Instant) -> u16 {
        u16::try_from(millis_of(now).wrapping_sub(self.came)).unwrap_or(u16::MAX)
    }

    /// The delay expired: no more data arrived, and none were sent.
    pub(crate) fn on_expiry(&mut self, min: Duration, rto: Duration) {
        if self.answers {
            self.reset(min);
        } else {
            self.timeout = self.timeout.saturating_mul(2).min(millis(rto));
        }
    }

    /// Resets the delay, as at the start of the connection.
    pub(crate) fn reset(&mut self, min: Duration) {
        self.answers = false;
        self.timeout = millis(min);
    }

    /// Whether data have arrived.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        self.timeout > 0
    }

    /// The delay of the next acknowledgement.
    #[inline]
    pub(crate) fn timeout(&self, min: Duration, smoothed_rtt: Option<Duration>) -> Duration {
        let round_trip = smoothed_rtt.map_or(MAX_DELAY, |rtt| rtt.max(min));
        Duration::from_millis(self.timeout.into()).min(round_trip).min(MAX_DELAY)
    }
}

/// Limited to one minute.
fn millis(duration: Duration) -> u16 {
    u16::try_from(duration.nanos() / 1_000_000).unwrap_or(u16::MAX)
}

/// The lower 32 bits, which wrap after 49 days.
fn millis_of(instant: Instant) -> u32 {
    (instant.nanos() / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_DELAY: Duration = Duration::from_millis(40);
    const RTO: Duration = Duration::from_millis(300);

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// The timeout in milliseconds after data at these times, without a round trip that bounds it.
    fn after(times: &[u64]) -> u64 {
        let mut delay = AckDelay::default();
        for &time in times {
            delay.on_data(at(time), MIN_DELAY, RTO);
        }
        delay.timeout(MIN_DELAY, None).nanos() / 1_000_000
    }

    #[test]
    fn it_begins_with_the_least_and_follows_the_gaps() {
        assert_eq!(after(&[1000]), 40);
        assert_eq!(after(&[1000, 1010]), 40, "half of it and half of the least");
        assert_eq!(after(&[1000, 1030]), 50, "half of it and the gap");
        assert_eq!(after(&[1000, 1030, 1075]), 70);
        assert_eq!(after(&[1000, 1030, 1075, 1076]), 55);
        assert_eq!(after(&[1000, 1040]), 40, "whoever comes later finds it as it was");
    }

    #[test]
    fn it_doubles_where_nothing_came_in_time_up_to_a_round_trip() {
        let mut delay = AckDelay::default();
        delay.on_data(at(0), MIN_DELAY, RTO);
        delay.on_expiry(MIN_DELAY, RTO);
        assert_eq!(delay.timeout(MIN_DELAY, None), Duration::from_millis(80));
        assert_eq!(
            delay.timeout(MIN_DELAY, Some(Duration::from_millis(60))),
            Duration::from_millis(60)
        );
        assert_eq!(delay.timeout(MIN_DELAY, Some(Duration::from_millis(6))), MIN_DELAY);
        (0..40).for_each(|_| delay.on_expiry(MIN_DELAY, RTO));
        assert_eq!(delay.timeout(MIN_DELAY, None), MAX_DELAY);
    }

    #[test]
    fn an_answer_in_time_is_expected_again_until_one_fails_to_come() {
        let mut delay = AckDelay::default();
        delay.on_data_sent(at(1));
        assert!(!delay.answers, "nothing to answer");
        delay.on_data(at(1000), MIN_DELAY, RTO);
        delay.on_data_sent(at(1040));
        assert!(!delay.answers, "too late");
        delay.on_data(at(1100), MIN_DELAY, RTO);
        delay.on_data_sent(at(1139));
        assert!(delay.answers);
        delay.on_expiry(MIN_DELAY, RTO);
        assert!(!delay.answers);
        assert_eq!(delay.timeout(MIN_DELAY, None), MIN_DELAY, "not doubled");
    }

    #[test]
    fn a_gap_longer_than_a_timeout_of_retransmission_tells_of_a_new_beginning() {
        let mut delay = AckDelay::default();
        assert!(!delay.on_data(at(5000), MIN_DELAY, RTO), "the first");
        assert!(!delay.on_data(at(5300), MIN_DELAY, RTO));
        assert!(delay.on_data(at(5601), MIN_DELAY, RTO));
    }
}
