//! Token arithmetic without rounding.

use shortflow_units::{Bytes, Duration, Rate};

/// How many bit-nanoseconds per second make a byte: a rate in bit/s times an elapsed time in ns
/// counts tokens in these, a whole number.
const PER_BYTE: u128 = 8_000_000_000;

/// A part of a byte that a rate earns, exact to the last nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Tokens(u128);

impl Tokens {
    #[inline]
    pub(crate) fn of(bytes: Bytes) -> Self {
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

/// A bucket that holds up to its depth; it starts full.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    depth: Tokens,
    held: Tokens,
}

impl Bucket {
    pub(crate) fn full(depth: Bytes) -> Self {
        let depth = Tokens::of(depth);
        Bucket { depth, held: depth }
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

    /// Whether `tokens` are there.
    #[inline]
    pub(crate) fn holds(&self, tokens: Tokens) -> bool {
        self.held >= tokens
    }

    /// How long `rate` takes to earn what `tokens` want, rounded up to a whole nanosecond; `None`
    /// when the bucket is not so deep.
    pub(crate) fn time_until(&self, tokens: Tokens, rate: Rate) -> Option<Duration> {
        let lacking = tokens.0.saturating_sub(self.held.0);
        let nanos = lacking.div_ceil(u128::from(rate.bits_per_sec()));
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        (tokens <= self.depth).then_some(Duration::from_nanos(nanos))
    }
}
