//! Two token buckets, tried one after the other: the edge-router token-bucket marker of Noureddine & Tobagi
//! (2002, §6.3), and their per-user policer that remarks down (§4).

use shortflow_packet::Packet;
use shortflow_units::{Duration, Instant};

use super::ColorMode;
use super::bucket::{Bucket, Earned, Tokens};
use super::token_bucket::TokenBucketParams;
use crate::{Color, Meter, Settling};

/// Parameters of a [`TwoBuckets`].
#[derive(Debug, Clone)]
pub struct TwoBucketsParams {
    /// The bucket of green packets.
    pub green: TokenBucketParams,
    /// The bucket of yellow packets.
    pub yellow: TokenBucketParams,
    /// Whether the meter respects the colour of arriving packets.
    pub mode: ColorMode,
}

/// Green while the first bucket has tokens for the packet, else yellow while the second has, else red. A
/// packet takes tokens of its own colour only. Both rates are therefore allowed together, and a packet too
/// many for one bucket may still find tokens in the next. (RFC 2698 decides red first, and a green packet
/// takes tokens from both buckets.)
///
/// In colour-aware mode it is a policer: a packet tries the bucket of its own colour, and is moved down if
/// there are no tokens. O(1) per packet.
#[derive(Debug, Clone)]
pub struct TwoBuckets {
    params: TwoBucketsParams,
    green: Bucket,
    yellow: Bucket,
    earned: Earned,
}

impl TwoBuckets {
    /// Both buckets full.
    pub fn new(params: TwoBucketsParams) -> Self {
        TwoBuckets {
            green: Bucket::full(params.green.burst),
            yellow: Bucket::full(params.yellow.burst),
            params,
            earned: Earned::default(),
        }
    }
}

impl Meter for TwoBuckets {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let elapsed = self.earned.until(now);
        self.green.fill(Tokens::earned(self.params.green.rate, elapsed));
        self.yellow.fill(Tokens::earned(self.params.yellow.rate, elapsed));

        let tokens = Tokens::from_bytes(packet.bytes());
        let incoming = self.params.mode.incoming(packet);
        if incoming == Color::Green && self.green.try_take(tokens) {
            Color::Green
        } else if incoming <= Color::Yellow && self.yellow.try_take(tokens) {
            Color::Yellow
        } else {
            Color::Red
        }
    }
}

impl Settling for TwoBuckets {
    fn settled_after(&self) -> Duration {
        let green = self.green.time_to_fill(self.params.green.rate);
        green.max(self.yellow.time_to_fill(self.params.yellow.rate))
    }
}
