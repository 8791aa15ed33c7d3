//! The packets that are waiting or on the wire, in one place.
//!
//! A packet keeps its slot from host to host. What ports hand on is a [`Parcel`], which says all
//! that forwarding asks of a packet: a hop copies nothing, and does not touch the packet, which may
//! have left the cache. A slot that falls free is the next to be used; the pool is as large as the
//! most packets there ever were at once.

use shortflow_elements::{Dscp, FlowId, Packet};
use shortflow_scenario::NodeId;

use crate::network::key::Resident;
use crate::network::prefetch::prefetch_element;

/// A packet on its way: its place in the pool, and what ports need to know of it. Whoever holds it
/// owns the packet, so it is not `Clone`.
#[derive(Debug)]
#[must_use]
pub(crate) struct Parcel {
    slot: u32,
    /// The node for which it is.
    pub(crate) to: NodeId,
    /// The host's own name for the flow.
    pub(crate) flow: FlowId,
    /// Bytes times 64, plus the code point: so that a parcel takes 16 bytes.
    size_and_dscp: u32,
}

impl Parcel {
    #[inline]
    fn new(slot: u32, packet: &Resident) -> Self {
        let size_and_dscp = packet.size << DSCP_BITS | u32::from(packet.dscp.value());
        Parcel { slot, to: packet.key.dst, flow: packet.flow, size_and_dscp }
    }

    /// What stays in the books of a port that has handed the parcel on: it counts as the parcel does,
    /// but owns no packet.
    #[inline]
    pub(crate) fn stub(&self) -> Self {
        Parcel { slot: NO_SLOT, ..*self }
    }

    /// Bytes.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size_and_dscp >> DSCP_BITS
    }

    /// The number of the code point.
    #[inline]
    pub(crate) fn dscp(&self) -> usize {
        self.size_and_dscp as usize % Dscp::COUNT
    }
}

/// The slot of a stub.
const NO_SLOT: u32 = u32::MAX;

const DSCP_BITS: u32 = Dscp::COUNT.trailing_zeros();

/// All packets.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    entries: Vec<Entry>,
    free: Vec<u32>,
}

/// A packet in a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Entry(Resident);

impl Pool {
    /// Takes a packet in.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: Resident) -> Parcel {
        if let Some(slot) = self.free.pop() {
            let parcel = Parcel::new(slot, &packet);
            self.entries[slot as usize].0 = packet;
            parcel
        } else {
            let parcel = Parcel::new(self.entries.len() as u32, &packet);
            self.entries.push(Entry(packet));
            parcel
        }
    }

    /// Takes a packet in that elements have had.
    #[inline]
    pub(crate) fn take_back(&mut self, packet: Packet) -> Parcel {
        self.insert(packet.with_key(Into::into))
    }

    /// Gives a packet out, to elements.
    #[inline]
    pub(crate) fn remove(&mut self, parcel: Parcel) -> Packet {
        let resident = &mut self.entries[parcel.slot as usize].0;
        let packet = resident.take_with_key(resident.key.into());
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
    pub(crate) fn packet(&self, parcel: &Parcel) -> &Resident {
        &self.entries[parcel.slot as usize].0
    }

    /// Asks for the packet of a parcel, which is needed soon.
    #[inline]
    pub(crate) fn prefetch(&self, parcel: &Parcel) {
        prefetch_element(self.entries.as_ptr(), parcel.slot as usize);
    }

    /// Lets a conditioner at the packet of a parcel, where it may change the code point.
    #[inline]
    pub(crate) fn change<T>(
        &mut self,
        parcel: &mut Parcel,
        change: impl FnOnce(&mut Packet) -> T,
    ) -> T {
        let resident = &mut self.entries[parcel.slot as usize].0;
        let key = resident.key;
        let mut packet = resident.take_with_key(key.into());
        let result = change(&mut packet);
        *resident = packet.with_key(|_| key);
        *parcel = Parcel::new(parcel.slot, resident);
        result
    }
}
