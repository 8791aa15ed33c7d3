//! A common store for the packets of many queues.

use crate::slab::{List, Slab};
use crate::{Backlog, Queued};

/// Holds the packets of any number of [`PacketList`]s.
pub(crate) type PacketStore = Slab<Queued>;

/// A first-in-first-out list of packets in a [`PacketStore`], with its totals.
#[derive(Debug, Default)]
pub(crate) struct PacketList {
    list: List,
    backlog: Backlog,
}

impl PacketList {
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The totals without the first packet.
    pub(crate) fn behind_first(&self, store: &PacketStore) -> Backlog {
        let mut backlog = self.backlog;
        if let Some(first) = self.first(store) {
            backlog.remove(&first.packet);
        }
        backlog
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, store: &mut PacketStore, queued: Queued) {
        self.backlog.add(&queued.packet);
        store.push_back(&mut self.list, queued);
    }

    #[inline]
    pub(crate) fn pop(&mut self, store: &mut PacketStore) -> Option<Queued> {
        let queued = store.pop_front(&mut self.list)?;
        self.backlog.remove(&queued.packet);
        Some(queued)
    }

    /// Removes the newest packet.
    pub(crate) fn pop_newest(&mut self, store: &mut PacketStore) -> Option<Queued> {
        let queued = store.pop_back(&mut self.list)?;
        self.backlog.remove(&queued.packet);
        Some(queued)
    }

    /// The packet that [`pop`](Self::pop) would return.
    #[inline]
    pub(crate) fn first<'s>(&self, store: &'s PacketStore) -> Option<&'s Queued> {
        store.front(self.list)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use shortflow_packet::Packet;
    use shortflow_units::Instant;

    use super::*;
    use crate::test_packet;

    proptest! {
        /// The oracle is a deque of sizes for each list.
        #[test]
        fn each_list_keeps_its_own_order(moves in prop::collection::vec((0..3usize, 0..5u8), 0..300)) {
            let mut store = PacketStore::new();
            let mut lists = [(); 3].map(|()| PacketList::default());
            let mut oracle = [(); 3].map(|()| VecDeque::new());
            for (number, (list, step)) in moves.into_iter().enumerate() {
                if step == 0 {
                    let popped = lists[list].pop_newest(&mut store);
                    let size = popped.map(|queued| queued.packet.size);
                    prop_assert_eq!(size, oracle[list].pop_back());
                } else if step <= 2 {
                    let size = lists[list].first(&store).map(|queued| queued.packet.size);
                    let popped = lists[list].pop(&mut store).map(|queued| queued.packet.size);
                    prop_assert_eq!((popped, size), (oracle[list].pop_front(), popped));
                } else {
                    let packet = Packet { size: number as u32, ..test_packet() };
                    lists[list].push(&mut store, Queued { packet, since: Instant::START });
                    oracle[list].push_back(number as u32);
                }
                let backlog = lists[list].backlog();
                let bytes = oracle[list].iter().map(|&size| u64::from(size)).sum();
                prop_assert_eq!((backlog.packets, backlog.bytes.0), (oracle[list].len() as u64, bytes));
                let behind = lists[list].behind_first(&store);
                let first = oracle[list].front().map_or(0, |&size| u64::from(size));
                let packets = backlog.packets.saturating_sub(1);
                prop_assert_eq!((behind.packets, behind.bytes.0), (packets, bytes - first));
            }
        }
    }
}
