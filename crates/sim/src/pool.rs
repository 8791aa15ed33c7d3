//! The packets that are waiting or on the wire, in one place.
//!
//! A packet keeps its slot from host to host. What ports hand on is a [`Parcel`], which says all
//! that forwarding asks of a packet: a hop copies nothing, and does not touch the packet, which may
//! have left the cache. A slot that falls free is the next to be used; the pool is as large as the
//! most packets there ever were at once.

use shortflow_elements::{Dscp, Packet};

use crate::network::node_of;
use crate::prefetch::prefetch;
use crate::routes::NodeIndex;

/// A packet on its way: its place in the pool, and what ports need to know of it. Whoever holds it
/// owns the packet, so it is not `Clone`.
#[derive(Debug)]
#[must_use]
pub(crate) struct Parcel {
    slot: u32,
    /// Bytes.
    pub(crate) size: u32,
    /// The node for which it is.
    pub(crate) to: NodeIndex,
    pub(crate) dscp: Dscp,
}

/// All packets.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

/// A packet in a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Entry(Packet);

impl Pool {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> Parcel {
        let (size, to, dscp) = (packet.size, node_of(packet.key.dst), packet.dscp);
        let slot = if let Some(slot) = self.free.pop() {
            self.entries[slot as usize].0 = packet;
            slot
        } else {
            self.entries.push(Entry(packet));
            self.entries.len() as u32 - 1
        };
        Parcel { slot, size, to, dscp }
    }

    /// Gives a packet out.
    #[inline]
    pub(crate) fn remove(&mut self, parcel: Parcel) -> Packet {
        let packet = std::mem::take(&mut self.entries[parcel.slot as usize].0);
        self.release(parcel);
        packet
    }

    /// Forgets a packet, which has arrived.
    #[inline]
    pub(crate) fn release(&mut self, parcel: Parcel) {
        self.free.push(parcel.slot);
    }

    /// The packet of a parcel.
    #[inline]
    pub(crate) fn packet(&self, parcel: &Parcel) -> &Packet {
        &self.entries[parcel.slot as usize].0
    }

    /// Asks for the packet of a parcel, which is needed soon.
    #[inline]
    pub(crate) fn prefetch(&self, parcel: &Parcel) {
        if let Some(entry) = self.entries.get(parcel.slot as usize) {
            prefetch(entry);
        }
    }

    /// Lets a conditioner at the packet of a parcel, where it may change the code point.
    #[inline]
    pub(crate) fn change<T>(
        &mut self,
        parcel: &mut Parcel,
        change: impl FnOnce(&mut Packet) -> T,
    ) -> T {
        let packet = &mut self.entries[parcel.slot as usize].0;
        let result = change(packet);
        parcel.dscp = packet.dscp;
        result
    }
}
