//! The packets that are waiting or on the wire, in one place.
//!
//! A packet keeps its slot from host to host: ports only link slots into lists, so a hop copies
//! nothing. A slot that falls free is the next to be used, while it is still in the cache; the pool
//! is as large as the most packets there ever were at once.

use shortflow_elements::Packet;
use shortflow_units::Instant;

/// The place of a packet in the pool. Whoever holds it owns the packet, so it is not `Clone`.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Slot(u32);

/// All slots.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    entries: Vec<Entry>,
    free: List,
}

#[derive(Debug)]
struct Entry {
    packet: Packet,
    /// When the packet arrives at the far end of its link.
    arrives: Instant,
    /// The slot behind it in its list.
    next: u32,
}

/// A place in a list, to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(u32);

impl Cursor {
    /// Behind the last of any list.
    pub(crate) const NOWHERE: Cursor = Cursor(NONE);
}

impl Slot {
    /// The slot's place in whatever list it is in.
    #[inline]
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor(self.0)
    }
}

/// Slots in a row, first in, first out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;

impl Default for List {
    fn default() -> Self {
        List { first: NONE, last: NONE }
    }
}

impl List {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

impl Pool {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> Slot {
        let slot = self.free.first;
        if slot == NONE {
            self.entries.push(Entry { packet, arrives: Instant::NEVER, next: NONE });
            return Slot(self.entries.len() as u32 - 1);
        }
        let entry = &mut self.entries[slot as usize];
        self.free.first = entry.next;
        entry.packet = packet;
        Slot(slot)
    }

    /// Gives a packet out.
    pub(crate) fn remove(&mut self, slot: Slot) -> Packet {
        let packet = std::mem::take(&mut self.entries[slot.0 as usize].packet);
        self.release(slot);
        packet
    }

    /// Forgets a packet, which has arrived.
    #[inline]
    pub(crate) fn release(&mut self, slot: Slot) {
        self.entries[slot.0 as usize].next = self.free.first;
        self.free.first = slot.0;
    }

    /// The packet in a slot.
    #[inline]
    pub(crate) fn packet(&self, slot: &Slot) -> &Packet {
        &self.entries[slot.0 as usize].packet
    }

    /// The packet in a slot, to be changed.
    #[inline]
    pub(crate) fn packet_mut(&mut self, slot: &Slot) -> &mut Packet {
        &mut self.entries[slot.0 as usize].packet
    }

    /// Appends a packet that arrives at `arrives`.
    #[inline]
    pub(crate) fn append(&mut self, list: &mut List, slot: Slot, arrives: Instant) {
        let entry = &mut self.entries[slot.0 as usize];
        entry.arrives = arrives;
        entry.next = NONE;
        if list.first == NONE {
            list.first = slot.0;
        } else {
            self.entries[list.last as usize].next = slot.0;
        }
        list.last = slot.0;
    }

    /// Takes the first out.
    #[inline]
    pub(crate) fn take_first(&mut self, list: &mut List) -> Option<Slot> {
        let first = list.first;
        if first == NONE {
            return None;
        }
        list.first = self.entries[first as usize].next;
        Some(Slot(first))
    }

    /// When the first arrives; never, when there is none.
    #[inline]
    pub(crate) fn first_arrival(&self, list: &List) -> Instant {
        if list.first == NONE {
            return Instant::NEVER;
        }
        self.entries[list.first as usize].arrives
    }

    /// The first of a list.
    #[inline]
    pub(crate) fn first(&self, list: &List) -> Cursor {
        Cursor(list.first)
    }

    /// The packet at a cursor; none behind the last.
    #[inline]
    pub(crate) fn at(&self, cursor: Cursor) -> Option<&Packet> {
        self.entries.get(cursor.0 as usize).map(|entry| &entry.packet)
    }

    /// The place behind a cursor.
    #[inline]
    pub(crate) fn behind(&self, cursor: Cursor) -> Cursor {
        Cursor(self.entries[cursor.0 as usize].next)
    }
}
