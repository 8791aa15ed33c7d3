//! The header fields of TCP that endpoints look at.

use shortflow_elements::TcpFlags;

use crate::timestamps::Tsecr;

/// Up to three SACK blocks (RFC 2018 §3), the most recent first: sequence numbers from (included)
/// and to (excluded). They are kept beside the header, since few segments carry any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SackBlocks(Option<Box<Blocks>>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Blocks {
    /// The blocks; only the first `len` mean something.
    blocks: [(u32, u32); SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// How many blocks fit beside a timestamp option.
    pub const MAX: usize = 3;

    /// Adds a block; one that no longer fits is left out.
    pub fn push(&mut self, from: u32, to: u32) {
        let held = self.0.get_or_insert_default();
        if let Some(place) = held.blocks.get_mut(usize::from(held.len)) {
            *place = (from, to);
            held.len += 1;
        }
    }

    /// The blocks, most recent first.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        self.0.as_ref().map_or(&[], |held| &held.blocks[..usize::from(held.len)])
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// What timestamps tell apart (RFC 7323 §3), as far as it matters, a bit for each: transmissions of the same data, of which
/// each data segment says which it is, and each acknowledgement which it answers; and the receiver's round trips. Segments
/// without timestamps have them, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps(u8);

impl Stamps {
    /// The data were sent before.
    pub const AGAIN: Stamps = Stamps(1);
    /// What is answered had been sent before: what moved the cumulative acknowledgement last, and of several
    /// segments that wait for one acknowledgement the first (RFC 7323 §4.3).
    pub const ANSWERS_AGAIN: Stamps = Stamps(2);
    /// A receiver's timestamp, of which a bit is enough to know it again when data carry it back.
    pub const RECEIVER: Stamps = Stamps(4);
    /// The peer's, carried back.
    pub const CARRIED: Stamps = Stamps(8);

    /// Whether it says this.
    #[inline]
    pub const fn has(self, what: Stamps) -> bool {
        self.0 & what.0 != 0
    }

    /// The same, which says this if it is `so`, and else not.
    #[inline]
    #[must_use]
    pub const fn with(self, what: Stamps, so: bool) -> Stamps {
        Stamps(self.0 & !what.0 | if so { what.0 } else { 0 })
    }

    /// The same, which carries back what `peer` says of its round trips.
    #[inline]
    #[must_use]
    pub(crate) const fn carrying(self, peer: Stamps) -> Stamps {
        Stamps(self.0 & !Stamps::CARRIED.0 | (peer.0 & Stamps::RECEIVER.0) << 1)
    }

    /// Whether `peer` carries back what this says of its round trips.
    #[inline]
    pub(crate) const fn is_carried_by(self, peer: Stamps) -> bool {
        (self.0 << 1 ^ peer.0) & Stamps::CARRIED.0 == 0
    }
}

/// The sequence fields of a TCP header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Receive window in bytes, after scaling (RFC 7323 §2.3).
    pub window: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// Transmissions told apart, without a byte on the wire.
    pub stamps: Stamps,
    /// The echoed timestamp. TSval is the time at which the host sent the segment.
    pub tsecr: Tsecr,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}
