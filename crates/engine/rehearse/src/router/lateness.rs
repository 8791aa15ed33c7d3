//! The lateness of sent packets.

use hdrhistogram::Histogram;
use shortflow_run::{Stalls, TimingError};
use shortflow_units::{Duration, Instant};

/// The maximum of the histogram: an hour.
const MAX_NANOS: u64 = 3_600_000_000_000;

/// Two digits: an error of at most 1 %.
const DIGITS: u8 = 2;

/// All delays between the time at which a packet should have been sent and that at which it was.
#[derive(Debug)]
pub(crate) struct Lateness(Histogram<u32>);

impl Lateness {
    pub(crate) fn new() -> Self {
        Lateness(Histogram::new_with_bounds(1, MAX_NANOS, DIGITS).expect("the bounds are in order"))
    }

    /// A packet that should have been sent at `due` is sent now.
    #[inline]
    pub(crate) fn add(&mut self, due: Instant, now: Instant) {
        self.0.saturating_record(now.since(due.min(now)).nanos());
    }

    /// The result, with the stalls of the thread; `None` if nothing was sent.
    pub(crate) fn found(&self, stalls: Stalls) -> Option<TimingError> {
        let at = |quantile| Duration::from_nanos(self.0.value_at_quantile(quantile));
        let max = Duration::from_nanos(self.0.max());
        (!self.0.is_empty()).then(|| TimingError { p50: at(0.5), p99: at(0.99), max, stalls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_in_a_hundred_is_later_than_the_99th_percentile() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.found(Stalls::default()), None);
        let due = Instant::from_nanos(1_000_000_000);
        for late in 1..=100 {
            lateness.add(due, due + Duration::from_micros(10 * late));
        }
        let TimingError { p50, p99, max, .. } = lateness.found(Stalls::default()).unwrap();
        let within = |found: Duration, micros: u64| {
            let expected = Duration::from_micros(micros).nanos() as f64;
            (found.nanos() as f64 / expected - 1.0).abs() <= 0.01
        };
        assert!(within(p50, 500) && within(p99, 990) && within(max, 1000), "{p50} {p99} {max}");
    }
}
