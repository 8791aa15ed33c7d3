//! The token bucket that delays the packets of a priority.

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Instant, Rate};

use crate::meter::TokenBucketParams;
use crate::meter::bucket::{Bucket, Earned, Tokens};

/// A token bucket that packets wait for, instead of being coloured by it. It starts full.
#[derive(Debug, Clone)]
pub(super) struct Regulator {
    rate: Rate,
    bucket: Bucket,
    earned: Earned,
}

impl Regulator {
    pub(super) fn new(params: &TokenBucketParams) -> Self {
        let bucket = Bucket::full(params.burst);
        Regulator { rate: params.rate, bucket, earned: Earned::default() }
    }

    /// Adds the tokens earned by `now`.
    #[inline]
    pub(super) fn fill(&mut self, now: Instant) {
        self.bucket.fill(Tokens::earned(self.rate, self.earned.until(now)));
    }

    /// Whether there are tokens for a packet of `size` bytes, as of the last [`fill`](Self::fill).
    #[inline]
    pub(super) fn admits(&self, size: u32) -> bool {
        self.bucket.holds(Tokens::from_bytes(Bytes(u64::from(size))))
    }

    /// Takes the tokens of `packet`, which is admitted.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet) {
        let taken = self.bucket.try_take(Tokens::from_bytes(packet.bytes()));
        assert!(taken, "only a packet that finds its tokens is sent");
    }

    /// When a packet of `size` bytes has its tokens, if no other takes any; `NEVER` if it is larger than the
    /// bucket.
    pub(super) fn admits_at(&self, size: u32) -> Instant {
        match self.bucket.time_until(Tokens::from_bytes(Bytes(u64::from(size))), self.rate) {
            Some(time) => self.earned.at() + time,
            None => Instant::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Duration;

    use super::*;
    use crate::test_packet;

    #[test]
    fn a_packet_is_admitted_at_the_nanosecond_that_was_said_and_not_before() {
        // 3 kbit/s: a byte lasts 2 666 666 2/3 ns.
        let rate = Rate::from_bits_per_sec(3_000);
        let mut regulator = Regulator::new(&TokenBucketParams::new(rate, Bytes(1000)).unwrap());
        let packet = |size| Packet { size, ..test_packet() };
        regulator.take(&packet(1000));
        let at = regulator.admits_at(1);
        assert_eq!(at, Instant::from_nanos(2_666_667));
        regulator.fill(at - Duration::from_nanos(1));
        assert!(!regulator.admits(1));
        regulator.fill(at);
        assert!(regulator.admits(1));
        assert_eq!(regulator.admits_at(1001), Instant::NEVER);
    }
}
