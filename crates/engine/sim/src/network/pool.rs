//! The pool of all packets that wait or are on the wire.
//!
//! A packet keeps its slot from host to host. Ports hand on a [`Parcel`], which has everything that
//! forwarding needs. A hop therefore copies nothing, and does not access the packet, which may not be in the
//! cache. Elements other than gates get what a router would show them: a [`Packet`] with the slot as the
//! place of its bytes. A free slot is used next, so the pool is as large as the maximum number of packets at
//! the same time.

use std::sync::Arc;

use shortflow_elements::Arrival;
use shortflow_packet::{Dscp, Ecn, FrameId, Packet, TrafficClass};
use shortflow_scenario::{Addresses, NodeId};
use shortflow_tcp::TcpHeader;
use shortflow_units::Instant;

use crate::host::flow::FlowId;
use crate::network::key::NodeKey;
use crate::network::prefetch::prefetch_element;

/// A packet in transit: its slot in the pool, and what ports need to know. It owns the packet, so it is not
/// `Clone`.
#[derive(Debug)]
#[must_use]
pub(crate) struct Parcel {
    slot: u32,
    /// The receiving node.
    pub(crate) to: NodeId,
    /// The host's name for the flow.
    pub(crate) flow: FlowId,
    /// Bytes times 256, plus the traffic class, so that a parcel takes 16 bytes.
    size_and_class: u32,
}

impl Parcel {
    #[inline]
    fn new(slot: u32, packet: &Resident) -> Self {
        let class = TrafficClass::new(packet.dscp, packet.ecn);
        let size_and_class = size_and_class(packet.size, class);
        Parcel { slot, to: packet.key.dst, flow: packet.flow, size_and_class }
    }

    /// The entry that stays at a port that has handed the parcel on. It counts as the parcel does, but owns
    /// no packet.
    #[inline]
    pub(crate) fn stub(&self) -> Self {
        Parcel { slot: NO_SLOT, ..*self }
    }

    /// Bytes.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size_and_class >> TrafficClass::BITS
    }

    /// The number of the code point.
    #[inline]
    pub(crate) fn dscp(&self) -> usize {
        usize::from(self.class().dscp().value())
    }

    #[inline]
    fn class(&self) -> TrafficClass {
        TrafficClass(self.size_and_class as u8)
    }

    /// The view of a gate on the packet.
    #[inline]
    pub(crate) fn arrival(&self) -> Arrival {
        Arrival { size: self.size(), class: self.class() }
    }

    #[inline]
    fn set_class(&mut self, dscp: Dscp, ecn: Ecn) {
        self.size_and_class = size_and_class(self.size(), TrafficClass::new(dscp, ecn));
    }
}

#[inline]
fn size_and_class(size: u32, class: TrafficClass) -> u32 {
    size << TrafficClass::BITS | u32::from(class.0)
}

/// The slot of a stub.
const NO_SLOT: u32 = u32::MAX;

/// All packets.
#[derive(Debug)]
pub(crate) struct Pool {
    entries: Vec<Resident>,
    free: Vec<u32>,
    /// The addresses shown to elements.
    pub(crate) addresses: Arc<Addresses>,
}

/// A packet in transit, in its own cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Resident {
    /// When its host sent it.
    pub(crate) sent_at: Instant,
    /// The host's name for the flow.
    pub(crate) flow: FlowId,
    /// Bytes: payload and headers.
    pub(crate) size: u32,
    /// Bytes of payload.
    pub(crate) payload: u16,
    pub(crate) dscp: Dscp,
    pub(crate) ecn: Ecn,
    pub(crate) tcp: TcpHeader,
    pub(crate) key: NodeKey,
}

impl Resident {
    /// The view of elements on it.
    #[inline]
    fn shown(&self, slot: u32, addresses: &Addresses) -> Packet {
        Packet {
            size: self.size,
            bytes: FrameId::new(slot),
            payload: self.payload,
            dscp: self.dscp,
            ecn: self.ecn,
            flags: self.tcp.flags,
            key: self.key.flow_key(addresses),
        }
    }
}

impl Pool {
    /// An empty pool, for hosts with these addresses.
    pub(crate) fn new(addresses: Arc<Addresses>) -> Self {
        Pool { entries: Vec::new(), free: Vec::new(), addresses }
    }

    /// Adds a packet.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: Resident) -> Parcel {
        if let Some(slot) = self.free.pop() {
            let parcel = Parcel::new(slot, &packet);
            self.entries[slot as usize] = packet;
            parcel
        } else {
            let parcel = Parcel::new(self.entries.len() as u32, &packet);
            self.entries.push(packet);
            parcel
        }
    }

    /// Lends a packet to elements, which may keep it for some time.
    #[inline]
    pub(crate) fn lend(&self, parcel: Parcel) -> Packet {
        self.shown(&parcel)
    }

    /// Takes back a lent packet, with its current code point and ECN field.
    #[inline]
    pub(crate) fn take_back(&mut self, packet: Packet) -> Parcel {
        let slot = packet.bytes.expect("a packet that was lent names its slot").number();
        let resident = &mut self.entries[slot as usize];
        resident.dscp = packet.dscp;
        resident.ecn = packet.ecn;
        Parcel::new(slot, resident)
    }

    /// Gives a conditioner access to the packet of a parcel. It may change the code point and the ECN field.
    #[inline]
    pub(crate) fn change<T>(
        &mut self,
        parcel: &mut Parcel,
        change: impl FnOnce(&mut Packet) -> T,
    ) -> T {
        let resident = &mut self.entries[parcel.slot as usize];
        let mut packet = resident.shown(parcel.slot, &self.addresses);
        let result = change(&mut packet);
        resident.dscp = packet.dscp;
        resident.ecn = packet.ecn;
        parcel.set_class(packet.dscp, packet.ecn);
        result
    }

    /// Sets the ECN mark of a parcel's packet.
    #[cold]
    pub(crate) fn mark(&mut self, parcel: &mut Parcel) {
        let resident = &mut self.entries[parcel.slot as usize];
        resident.ecn = Ecn::Ce;
        parcel.set_class(resident.dscp, Ecn::Ce);
    }

    /// The view of elements on the packet of a parcel.
    pub(crate) fn shown(&self, parcel: &Parcel) -> Packet {
        self.packet(parcel).shown(parcel.slot, &self.addresses)
    }

    /// Removes a packet, which has arrived or was dropped.
    #[inline]
    pub(crate) fn release(&mut self, parcel: Parcel) {
        self.free.push(parcel.slot);
    }

    /// The packet of a parcel.
    #[inline]
    pub(crate) fn packet(&self, parcel: &Parcel) -> &Resident {
        &self.entries[parcel.slot as usize]
    }

    /// Prefetches the packet of a parcel.
    #[inline]
    pub(crate) fn prefetch(&self, parcel: &Parcel) {
        prefetch_element(self.entries.as_ptr(), parcel.slot as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_under_way_fits_into_a_cache_line() {
        assert_eq!(size_of::<Resident>(), 64);
    }
}
