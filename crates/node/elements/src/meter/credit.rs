//! What may be sent at a rate, where a packet's size is known only when it leaves.

use shortflow_units::{Bytes, Instant, Rate};

use super::bucket::{Bucket, Earned, Tokens, time_to_earn};

/// A token bucket that goes into debt for a packet, because a queue does not report the size of its next packet. Nothing
/// more may leave until the debt is paid. In any time t at most rate·t + burst bytes and one packet leave.
#[derive(Debug, Clone)]
pub(crate) struct Credit {
    rate: Rate,
    bucket: Bucket,
    debt: Tokens,
    earned: Earned,
    /// When the debt is paid.
    free_at: Instant,
}

impl Credit {
    /// A full bucket of `burst` bytes. `rate` is above zero.
    pub(crate) fn new(rate: Rate, burst: Bytes) -> Self {
        let (debt, earned) = (Tokens::default(), Earned::default());
        Credit { rate, bucket: Bucket::full(burst), debt, earned, free_at: Instant::START }
    }

    /// When the next packet may leave.
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Pays for `size` bytes that leave at `now`, as far as the bucket allows.
    #[inline]
    pub(crate) fn pay(&mut self, now: Instant, size: Bytes) {
        let tokens = Tokens::earned(self.rate, self.earned.until(now));
        let rest = tokens.minus(self.debt);
        self.debt = self.debt.minus(tokens);
        self.bucket.fill(rest);
        let missing = self.bucket.take_up_to(Tokens::from_bytes(size));
        self.debt = self.debt.plus(missing);
        self.free_at = self.earned.at() + time_to_earn(self.rate, self.debt);
    }
}
