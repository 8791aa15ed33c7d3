//! A batch of packets.

use std::ops::Range;

use super::sightings::Seen;

/// Bytes of a batch: of packets of 1500 bytes, 174.
const BYTES: usize = 1 << 18;

/// Packets of a batch: with this many they have 128 bytes on average.
const PACKETS: usize = 1 << 11;

/// Packets with their bytes, in room that is never given back.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    packets: Vec<Kept>,
}

/// A packet of a batch.
#[derive(Debug)]
struct Kept {
    seen: Seen,
    at: Range<usize>,
    /// Packets that were skipped before it.
    missed: u64,
}

impl Batch {
    /// An empty one.
    pub(crate) fn new() -> Self {
        // Pages that were written to once are there: who fills the batch does not wait for the kernel.
        let mut bytes = vec![1; BYTES];
        bytes.clear();
        Batch { bytes, packets: Vec::with_capacity(PACKETS) }
    }

    /// Whether a packet of this size fits. Every packet fits into an empty batch.
    pub(crate) fn has_room(&self, length: usize) -> bool {
        self.packets.len() < PACKETS && self.bytes.len() + length <= BYTES
    }

    /// Adds a packet, before which this number was skipped.
    pub(crate) fn push(&mut self, seen: Seen, bytes: &[u8], missed: u64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.packets.push(Kept { seen, at: start..self.bytes.len(), missed });
    }

    /// All packets in order, each with its bytes and the number skipped before it.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (&Seen, &[u8], u64)> {
        let of = |kept: &Kept| &self.bytes[kept.at.clone()];
        self.packets.iter().map(move |kept| (&kept.seen, of(kept), kept.missed))
    }

    /// Forgets all packets.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
    }
}
