//! The packets of many queues in one store.

use crate::{Backlog, Queued};

/// Holds the packets of any number of [`PacketList`]s. Places are used again, so that the store
/// grows to its busiest moment and then allocates no more, however packets spread over the lists.
#[derive(Debug, Default)]
pub(crate) struct PacketStore {
    places: Vec<Place>,
    /// The first of the places that wait to be used again.
    free: Option<u32>,
}

#[derive(Debug)]
struct Place {
    held: Option<Queued>,
    next: Option<u32>,
}

/// A first-in-first-out list of packets in a [`PacketStore`].
#[derive(Debug, Default)]
pub(crate) struct PacketList {
    first: Option<u32>,
    last: Option<u32>,
    backlog: Backlog,
}

impl PacketList {
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl PacketStore {
    #[inline]
    pub(crate) fn push(&mut self, list: &mut PacketList, queued: Queued) {
        list.backlog.add(&queued.packet);
        let place = Place { held: Some(queued), next: None };
        let at = match self.free {
            Some(at) => {
                let freed = std::mem::replace(&mut self.places[at as usize], place);
                self.free = freed.next;
                at
            }
            None => {
                self.places.push(place);
                u32::try_from(self.places.len() - 1).expect("packets are fewer than 2^32")
            }
        };
        match list.last.replace(at) {
            Some(last) => self.places[last as usize].next = Some(at),
            None => list.first = Some(at),
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self, list: &mut PacketList) -> Option<Queued> {
        let at = list.first?;
        let place = &mut self.places[at as usize];
        let queued = place.held.take().expect("a listed place holds a packet");
        list.first = std::mem::replace(&mut place.next, self.free);
        self.free = Some(at);
        if list.first.is_none() {
            list.last = None;
        }
        list.backlog.remove(&queued.packet);
        Some(queued)
    }

    /// The packet that [`pop`](Self::pop) would give.
    #[inline]
    pub(crate) fn first(&self, list: &PacketList) -> Option<&Queued> {
        self.places[list.first? as usize].held.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use shortflow_units::Instant;

    use super::*;
    use crate::Packet;
    use crate::packet::test_packet;

    proptest! {
        /// The oracle is a deque of sizes for each list.
        #[test]
        fn each_list_keeps_its_own_order(moves in prop::collection::vec((0..3usize, 0..2u8), 0..300)) {
            let mut store = PacketStore::default();
            let mut lists = [(); 3].map(|()| PacketList::default());
            let mut oracle = [(); 3].map(|()| VecDeque::new());
            let mut most = 0;
            for (number, (list, is_pop)) in moves.into_iter().enumerate() {
                if is_pop == 1 {
                    let size = store.first(&lists[list]).map(|queued| queued.packet.size);
                    let popped = store.pop(&mut lists[list]).map(|queued| queued.packet.size);
                    prop_assert_eq!((popped, size), (oracle[list].pop_front(), popped));
                } else {
                    let packet = Packet { size: number as u32, ..test_packet() };
                    store.push(&mut lists[list], Queued { packet, since: Instant::START });
                    oracle[list].push_back(number as u32);
                }
                let backlog = lists[list].backlog();
                let bytes = oracle[list].iter().map(|&size| u64::from(size)).sum();
                prop_assert_eq!((backlog.packets, backlog.bytes.0), (oracle[list].len() as u64, bytes));
                most = most.max(oracle.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(store.places.len(), most);
        }
    }
}
