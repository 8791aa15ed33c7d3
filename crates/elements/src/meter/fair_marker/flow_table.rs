//! The Short-Range Flow Table: how many packets each recent flow has sent.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use shortflow_units::{Duration, Instant};

use super::FlowTableSize;
use crate::FlowKey;

/// Flows from the least to the most recently seen, found by their key. An exact LRU list: entries
/// sit in a slab and are linked by their index, so that a hit, an insertion and an eviction each
/// take the same few steps. A bounded table allocates once.
#[derive(Debug)]
pub(super) struct FlowTable {
    size: FlowTableSize,
    /// Where in `entries` a key's flow sits.
    places: HashTable<Place>,
    entries: Vec<Entry>,
    /// The end of the list of entries that wait to be used again.
    free: Place,
    oldest: Place,
    newest: Place,
    stats: TableStats,
}

/// An index into the entries, or [`NOWHERE`].
type Place = u32;

const NOWHERE: Place = Place::MAX;

#[derive(Debug)]
struct Entry {
    key: FlowKey,
    /// Packets seen before the last one.
    count: u64,
    seen_at: Instant,
    older: Place,
    /// The next newer flow; in the list of free entries, the next free one.
    newer: Place,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableStats {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) evictions: u64,
}

impl FlowTable {
    pub(super) fn new(size: FlowTableSize) -> Self {
        let flows = match size {
            FlowTableSize::AtMost(flows) => flows,
            FlowTableSize::Unlimited { .. } => 0,
        };
        FlowTable {
            size,
            // Twice the flows: then removals never make the hash table grow, only tidy itself.
            places: HashTable::with_capacity(2 * flows),
            entries: Vec::with_capacity(flows),
            free: NOWHERE,
            oldest: NOWHERE,
            newest: NOWHERE,
            stats: TableStats::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn stats(&self) -> TableStats {
        self.stats
    }

    /// Counts a packet of the flow `key`, and gives how many the table had seen of it before.
    #[inline]
    pub(super) fn count(&mut self, now: Instant, key: FlowKey) -> u64 {
        if let FlowTableSize::Unlimited { idle_timeout } = self.size {
            self.forget_silent(now, idle_timeout);
        }
        let hash = hash(&key);
        let entries = &self.entries;
        let found = self.places.find(hash, |&place| entries[place as usize].key == key);
        let Some(&place) = found else {
            self.stats.misses += 1;
            self.insert(now, key, hash);
            return 0;
        };
        self.stats.hits += 1;
        if place != self.newest {
            self.unlink(place);
            self.link_newest(place);
        }
        let entry = &mut self.entries[place as usize];
        entry.seen_at = now;
        entry.count += 1;
        entry.count
    }

    /// Removes the flows that have been silent for longer than `timeout`: each once, so that the
    /// work is O(1) per packet when spread over all packets.
    fn forget_silent(&mut self, now: Instant, timeout: Duration) {
        while let Some(entry) = self.entries.get(self.oldest as usize)
            && now.since(entry.seen_at) > timeout
        {
            self.remove_oldest();
        }
    }

    fn insert(&mut self, now: Instant, key: FlowKey, hash: u64) {
        if let FlowTableSize::AtMost(flows) = self.size
            && self.len() == flows
        {
            if flows == 0 {
                return;
            }
            self.remove_oldest();
            self.stats.evictions += 1;
        }
        let entry = Entry { key, count: 0, seen_at: now, older: NOWHERE, newer: NOWHERE };
        let place = self.free;
        let place = if place == NOWHERE {
            self.entries.push(entry);
            Place::try_from(self.entries.len() - 1).expect("flows are fewer than 2^32")
        } else {
            self.free = self.entries[place as usize].newer;
            self.entries[place as usize] = entry;
            place
        };
        self.link_newest(place);
        let entries = &self.entries;
        self.places.insert_unique(hash, place, |&at| self::hash(&entries[at as usize].key));
    }

    fn remove_oldest(&mut self) {
        let place = self.oldest;
        self.unlink(place);
        let entry = &mut self.entries[place as usize];
        entry.newer = self.free;
        self.free = place;
        self.places
            .find_entry(hash(&entry.key), |&at| at == place)
            .expect("a linked flow is in the hash table")
            .remove();
    }

    fn unlink(&mut self, place: Place) {
        let Entry { older, newer, .. } = self.entries[place as usize];
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
    }

    fn link_newest(&mut self, place: Place) {
        let before = std::mem::replace(&mut self.newest, place);
        let entry = &mut self.entries[place as usize];
        entry.older = before;
        entry.newer = NOWHERE;
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.newer = place,
            None => self.oldest = place,
        }
    }
}

fn hash(key: &FlowKey) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table as the paper tells it (§4.1): a list, searched from end to end.
    struct Oracle {
        size: usize,
        flows: Vec<(FlowKey, u64)>,
        evictions: u64,
    }

    impl Oracle {
        fn count(&mut self, key: FlowKey) -> u64 {
            let count = match self.flows.iter().position(|(flow, _)| *flow == key) {
                Some(at) => self.flows.remove(at).1 + 1,
                None => 0,
            };
            if self.flows.len() == self.size {
                self.evictions += 1;
                self.flows.remove(0);
            }
            self.flows.push((key, count));
            count
        }
    }

    fn key(port: u16) -> FlowKey {
        FlowKey { src_port: port, ..FlowKey::default() }
    }

    proptest! {
        #[test]
        fn the_table_is_an_exact_lru_list(
            size in 1..20usize,
            ports in prop::collection::vec(0..30u16, 0..400),
        ) {
            let mut table = FlowTable::new(FlowTableSize::AtMost(size));
            let mut oracle = Oracle { size, flows: Vec::new(), evictions: 0 };
            for port in ports {
                prop_assert_eq!(table.count(Instant::START, key(port)), oracle.count(key(port)));
                prop_assert_eq!(table.len(), oracle.flows.len());
            }
            prop_assert_eq!(table.stats().evictions, oracle.evictions);
        }
    }

    #[test]
    fn a_bounded_table_allocates_once_under_a_flood_of_new_flows() {
        for size in [1, 7, 28, 30, 56, 112] {
            let mut table = FlowTable::new(FlowTableSize::AtMost(size));
            let allocated =
                |table: &FlowTable| (table.places.allocation_size(), table.entries.capacity());
            let at_start = allocated(&table);
            for port in 0..=u16::MAX {
                assert_eq!(table.count(Instant::START, key(port)), 0);
            }
            assert_eq!(table.len(), size);
            assert_eq!(allocated(&table), at_start);
        }
    }
}
