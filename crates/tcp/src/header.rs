//! The header fields of TCP that endpoints look at.

use shortflow_elements::TcpFlags;

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

/// What timestamps tell apart (RFC 7323 §3), as far as it matters: transmissions of the same data. Each data segment
/// says which it is, and each acknowledgement which it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamps {
    /// The data were sent before.
    pub again: bool,
    /// What is answered had been sent before: what moved the cumulative acknowledgement last, and of several
    /// segments that wait for one acknowledgement the first (RFC 7323 §4.3).
    pub answers_again: bool,
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
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}
