//! A token bucket: in or out of profile.

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Duration, Instant, Rate};

use super::bucket::{Bucket, Earned, Tokens};
use crate::params::above_zero;
use crate::{Color, Meter, ParamsError, Settling};

/// Parameters of a [`TokenBucket`].
#[derive(Debug, Clone)]
pub struct TokenBucketParams {
    pub(crate) rate: Rate,
    pub(crate) burst: Bytes,
}

/// The settings of a [`TokenBucketParams`], as [`TokenBucketParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucketSettings {
    /// The rate at which tokens arrive.
    pub rate: Rate,
    /// The largest burst.
    pub burst: Bytes,
}

impl TokenBucketParams {
    /// Tokens arrive at `rate`, up to `burst`.
    pub fn new(rate: Rate, burst: Bytes) -> Result<Self, ParamsError> {
        Ok(TokenBucketParams {
            rate: above_zero("rate", rate)?,
            burst: above_zero("burst", burst)?,
        })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> TokenBucketSettings {
        let TokenBucketParams { rate, burst } = self;
        TokenBucketSettings { rate: *rate, burst: *burst }
    }

    /// The rate at which tokens arrive.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The largest burst.
    pub fn burst(&self) -> Bytes {
        self.burst
    }
}

/// A strict token bucket (RFC 3290 §5.1.3, Appendix A). A packet is in profile (green) if the bucket holds a
/// token for each of its bytes, which it then takes. Otherwise it is out of profile (yellow), and takes none.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    params: TokenBucketParams,
    bucket: Bucket,
    earned: Earned,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(params: TokenBucketParams) -> Self {
        TokenBucket { bucket: Bucket::full(params.burst), params, earned: Earned::default() }
    }
}

impl Meter for TokenBucket {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        self.bucket.fill(Tokens::earned(self.params.rate, self.earned.until(now)));
        if self.bucket.try_take(Tokens::from_bytes(packet.bytes())) {
            Color::Green
        } else {
            Color::Yellow
        }
    }
}

impl Settling for TokenBucket {
    fn settled_after(&self) -> Duration {
        self.bucket.time_to_fill(self.params.rate)
    }
}
