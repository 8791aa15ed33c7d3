//! Exact token arithmetic.

use shortflow_units::{Bytes, Duration, Instant, Rate};

/// The number of bit-nanoseconds per second in a byte. A rate in bit/s times a time in ns is a whole number
/// of these units.
const PER_BYTE: u128 = 8_000_000_000;

/// An amount of tokens, exact to a nanosecond of any rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Tokens(u128);

impl Tokens {
    #[inline]
    pub(crate) fn from_bytes(bytes: Bytes) -> Self {
        Tokens(u128::from(bytes.0) * PER_BYTE)
    }

    #[inline]
    pub(crate) fn earned(rate: Rate, elapsed: Duration) -> Self {
        Tokens(u128::from(rate.bits_per_sec()) * u128::from(elapsed.nanos()))
    }

    #[inline]
    pub(crate) fn plus(self, more: Tokens) -> Self {
        Tokens(self.0 + more.0)
    }

    /// The amount in bit-nanoseconds per second.
    pub(crate) fn units(self) -> u128 {
        self.0
    }

    /// An amount in bit-nanoseconds per second.
    pub(crate) fn of_units(units: u128) -> Self {
        Tokens(units)
    }

    /// The amount in bytes, rounded down.
    pub(crate) fn bytes(self) -> Bytes {
        Bytes((self.0 / PER_BYTE) as u64)
    }

    /// The difference, or zero if `fewer` is more.
    #[inline]
    pub(crate) fn minus(self, fewer: Tokens) -> Self {
        Tokens(self.0.saturating_sub(fewer.0))
    }
}

/// How long `rate` takes to earn `amount`, rounded up to a whole nanosecond. The maximum duration if the rate
/// is zero or the time is too long.
pub(crate) fn time_to_earn(rate: Rate, amount: Tokens) -> Duration {
    let nanos = match rate.bits_per_sec() {
        0 => return Duration::MAX,
        rate => amount.0.div_ceil(u128::from(rate)),
    };
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// When tokens were last earned. Each time interval counts once: if the clock is set back, nothing is earned
/// until it reaches its former value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Earned(Instant);

impl Earned {
    /// The time from the last call to `now`, which becomes the last call unless it is earlier.
    #[inline]
    pub(crate) fn until(&mut self, now: Instant) -> Duration {
        let elapsed = now.since(self.0);
        self.0 = self.0.max(now);
        elapsed
    }

    /// The time of the last call.
    #[inline]
    pub(crate) fn at(self) -> Instant {
        self.0
    }
}

/// A bucket that holds up to its depth. It starts full.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    depth: Tokens,
    held: Tokens,
}

impl Bucket {
    pub(crate) fn full(depth: Bytes) -> Self {
        let depth = Tokens::from_bytes(depth);
        Bucket { depth, held: depth }
    }

    /// How long `rate` takes to fill the empty bucket.
    pub(crate) fn time_to_fill(&self, rate: Rate) -> Duration {
        time_to_earn(rate, self.depth)
    }

    /// Adds `tokens`. Returns those that do not fit.
    #[inline]
    pub(crate) fn fill(&mut self, tokens: Tokens) -> Tokens {
        let wanted = self.held.0 + tokens.0;
        self.held = Tokens(wanted.min(self.depth.0));
        Tokens(wanted - self.held.0)
    }

    /// Removes `tokens` if it holds all of them.
    #[inline]
    pub(crate) fn try_take(&mut self, tokens: Tokens) -> bool {
        let there = self.held >= tokens;
        if there {
            self.held.0 -= tokens.0;
        }
        there
    }

    /// Removes `tokens`, or all that it holds. Returns those that are missing.
    #[inline]
    pub(crate) fn take_up_to(&mut self, tokens: Tokens) -> Tokens {
        let lacking = tokens.minus(self.held);
        self.held = self.held.minus(tokens);
        lacking
    }

    /// Whether it holds `tokens`.
    #[inline]
    pub(crate) fn holds(&self, tokens: Tokens) -> bool {
        self.held >= tokens
    }

    /// How long `rate` takes to earn the missing part of `tokens`, rounded up to a whole nanosecond. `None`
    /// if the bucket is not deep enough.
    pub(crate) fn time_until(&self, tokens: Tokens, rate: Rate) -> Option<Duration> {
        (tokens <= self.depth).then(|| time_to_earn(rate, tokens.minus(self.held)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_earned_once_however_the_clock_is_set() {
        let at = Instant::from_nanos;
        let mut earned = Earned::default();
        let times = [100, 40, 90, 110, 110].map(|now| earned.until(at(now)).nanos());
        assert_eq!(times, [100, 0, 0, 10, 0]);
    }

    #[test]
    fn without_a_rate_nothing_is_ever_earned() {
        let time = |rate, bytes| {
            time_to_earn(Rate::from_bits_per_sec(rate), Tokens::from_bytes(Bytes(bytes)))
        };
        assert_eq!(time(0, 1), Duration::MAX);
        assert_eq!(time(3, 1), Duration::from_nanos(2_666_666_667));
        assert_eq!(time(8, 1), Duration::from_secs(1));
    }
}
