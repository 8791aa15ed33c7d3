//! The fields of the TCP header that endpoints read.

use shortflow_packet::TcpFlags;

use crate::timestamps::Tsecr;

/// Up to three SACK blocks (RFC 2018 §3), the most recent first: sequence numbers from (included) and to
/// (excluded). They are stored outside the header, because few segments have any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SackBlocks(Option<Box<Blocks>>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Blocks {
    /// The blocks; only the first `len` are valid.
    blocks: [(u32, u32); SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// The number of blocks that fit next to a timestamp option.
    pub const MAX: usize = 3;

    /// Adds a block if it fits.
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

/// What timestamps (RFC 7323 §3) distinguish, as far as the simulation needs it, one bit each. Data segments
/// and acknowledgements show which transmission of the data they are, or answer. They also show the
/// receiver's round trips. Segments without timestamps have these bits too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps(u8);

impl Stamps {
    /// The data are a retransmission.
    pub const AGAIN: Stamps = Stamps(1);
    /// The acknowledgement answers a retransmission: the segment that last moved the cumulative
    /// acknowledgement, or the first of several segments that wait for one acknowledgement (RFC 7323 §4.3).
    pub const ANSWERS_AGAIN: Stamps = Stamps(2);
    /// A receiver's timestamp. One bit is enough to recognise it when data echo it.
    pub const RECEIVER: Stamps = Stamps(4);
    /// The peer's timestamp, echoed.
    pub const CARRIED: Stamps = Stamps(8);

    /// Whether this bit is set.
    #[inline]
    pub const fn has(self, what: Stamps) -> bool {
        self.0 & what.0 != 0
    }

    /// With this bit set if `so`, else cleared.
    #[inline]
    #[must_use]
    pub const fn with(self, what: Stamps, so: bool) -> Stamps {
        Stamps(self.0 & !what.0 | if so { what.0 } else { 0 })
    }

    /// With the echo of `peer`'s timestamp.
    #[inline]
    #[must_use]
    pub(crate) const fn carrying(self, peer: Stamps) -> Stamps {
        Stamps(self.0 & !Stamps::CARRIED.0 | (peer.0 & Stamps::RECEIVER.0) << 1)
    }

    /// Whether `peer` echoes this timestamp.
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
    /// Distinguishes transmissions, without a byte on the wire.
    pub stamps: Stamps,
    /// The echoed timestamp. TSval is the time at which the host sent the segment.
    pub tsecr: Tsecr,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}
