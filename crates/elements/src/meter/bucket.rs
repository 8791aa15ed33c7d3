//! Token arithmetic without rounding.

use shortflow_units::{Bytes, Duration, Instant, Rate};

/// How many bit-nanoseconds per second make a byte: a rate in bit/s times an elapsed time in ns
/// counts tokens in these, a whole number.
const PER_BYTE: u128 = 8_000_000_000;

/// A part of a byte that a rate earns, exact to the last nanosecond.
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

    /// How many these are, in bit-nanoseconds per second.
    pub(crate) fn units(self) -> u128 {
        self.0
    }

    /// So many bit-nanoseconds per second.
    pub(crate) fn of_units(units: u128) -> Self {
        Tokens(units)
    }

    /// The whole bytes that these are.
    pub(crate) fn bytes(self) -> Bytes {
        Bytes((self.0 / PER_BYTE) as u64)
    }

    /// The difference, or none when `fewer` is more.
    #[inline]
    pub(crate) fn minus(self, fewer: Tokens) -> Self {
        Tokens(self.0.saturating_sub(fewer.0))
    }
}

/// How long `rate` takes to earn `amount`, rounded up to a whole nanosecond; for ever without a
/// rate, or beyond what a duration can be.
pub(crate) fn time_to_earn(rate: Rate, amount: Tokens) -> Duration {
    let nanos = match rate.bits_per_sec() {
        0 => return Duration::MAX,
        rate => amount.0.div_ceil(u128::from(rate)),
    };
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// When tokens were earned last. Time that has passed is paid for once: a clock that is set back
/// earns nothing until it is where it was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Earned(Instant);

impl Earned {
    /// The time from the last look to `now`, which becomes the last look unless it is earlier.
    #[inline]
    pub(crate) fn until(&mut self, now: Instant) -> Duration {
        let elapsed = now.since(self.0);
        self.0 = self.0.max(now);
        elapsed
    }

    /// The last look.
    #[inline]
    pub(crate) fn at(self) -> Instant {
        self.0
    }
}

/// A bucket that holds up to its depth; it starts full.
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

    /// How long `rate` takes to fill the bucket when it is empty.
    pub(crate) fn time_to_fill(&self, rate: Rate) -> Duration {
        time_to_earn(rate, self.depth)
    }

    /// Puts in `tokens`; what no longer fits comes back.
    #[inline]
    pub(crate) fn fill(&mut self, tokens: Tokens) -> Tokens {
        let wanted = self.held.0 + tokens.0;
        self.held = Tokens(wanted.min(self.depth.0));
        Tokens(wanted - self.held.0)
    }

    /// Takes out `tokens` if all of them are there.
    #[inline]
    pub(crate) fn try_take(&mut self, tokens: Tokens) -> bool {
        let there = self.held >= tokens;
        if there {
            self.held.0 -= tokens.0;
        }
        there
    }

    /// Takes out `tokens` or all that is there; what is lacking comes back.
    #[inline]
    pub(crate) fn take_up_to(&mut self, tokens: Tokens) -> Tokens {
        let lacking = tokens.minus(self.held);
        self.held = self.held.minus(tokens);
        lacking
    }

    /// Whether `tokens` are there.
    #[inline]
    pub(crate) fn holds(&self, tokens: Tokens) -> bool {
        self.held >= tokens
    }

    /// How long `rate` takes to earn what `tokens` want, rounded up to a whole nanosecond; `None`
    /// when the bucket is not so deep.
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
