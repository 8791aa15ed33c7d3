//! A bounded LRU table of flows, hosts or users.

use hashbrown::HashTable;
use shortflow_units::{Duration, Instant};

use crate::flow_hash::{FlowHash, Hashed};

/// The value of each key, from the least to the most recently seen: an exact LRU list. Entries are in a slab
/// and linked by index, so a hit, an insertion and an eviction are O(1). Removing idle entries is O(1) per
/// packet on average. A bounded table allocates memory for up to [`AT_START`] entries at the start, and never
/// more than its limit needs.
#[derive(Debug)]
pub(crate) struct LruTable<K, V> {
    bounds: TableBounds,
    hash: FlowHash,
    /// The index in `entries` of a key's entry.
    places: HashTable<Slot>,
    entries: Vec<Entry<K, V>>,
    /// The head of the list of free entries.
    free: Slot,
    oldest: Slot,
    newest: Slot,
    stats: TableStats,
}

/// The limits of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableBounds {
    /// The maximum number of entries, at least one. A new entry then replaces the least recently seen one.
    pub(crate) entries: usize,
    /// An entry that has been idle for longer is removed.
    pub(crate) idle_timeout: Duration,
}

/// An index into the entries, or [`NOWHERE`].
type Slot = u32;

const NOWHERE: Slot = Slot::MAX;

/// Larger tables grow when necessary.
const AT_START: usize = 1 << 10;

#[derive(Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    seen_at: Instant,
    older: Slot,
    /// The next newer entry; in the free list, the next free one.
    newer: Slot,
}

/// Counters of a table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TableStats {
    /// Packets whose key was in the table.
    pub(crate) hits: u64,
    /// Packets whose key was not.
    pub(crate) misses: u64,
    /// Entries that were replaced by a new one.
    pub(crate) evictions: u64,
}

/// The entry that a new key replaces.
pub(crate) struct Displaced<'t, V> {
    pub(crate) value: &'t V,
    /// When the last packet of its key arrived.
    pub(crate) seen_at: Instant,
}

/// The entry of a packet's key.
pub(crate) struct Seen<'t, V> {
    pub(crate) value: &'t mut V,
    /// When the last packet of this key arrived; now, for a new one. Never after now.
    pub(crate) before: Instant,
}

impl<K: Copy + Hashed, V> LruTable<K, V> {
    pub(crate) fn new(bounds: TableBounds, hash: FlowHash) -> Self {
        let at_start = bounds.entries.min(AT_START);
        LruTable {
            bounds,
            hash,
            // Twice the entries: removals then never make the hash table grow, but only rehash in place.
            places: HashTable::with_capacity(2 * at_start),
            entries: Vec::with_capacity(at_start),
            free: NOWHERE,
            oldest: NOWHERE,
            newest: NOWHERE,
            stats: TableStats::default(),
        }
    }

    /// Reserves memory for `entries` in total, up to the limit.
    pub(crate) fn reserve(&mut self, entries: usize) {
        let entries = entries.min(self.bounds.entries);
        let LruTable { hash, places, entries: known, .. } = self;
        let more = (2 * entries).saturating_sub(places.len());
        places.reserve(more, |&at| hash.hash(&known[at as usize].key));
        known.reserve(entries.saturating_sub(known.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn stats(&self) -> TableStats {
        self.stats
    }

    /// A packet of `key` has arrived. Returns its value; for a new key the value comes from `fresh`, whose
    /// argument is the entry that it replaces, if any. An instant before the last one counts as the last one,
    /// so that the list is in order of time.
    #[inline]
    pub(crate) fn see(
        &mut self,
        now: Instant,
        key: K,
        fresh: impl FnOnce(Option<Displaced<'_, V>>) -> V,
    ) -> Seen<'_, V> {
        let now =
            self.entries.get(self.newest as usize).map_or(now, |entry| now.max(entry.seen_at));
        self.forget_silent(now);
        let hash = self.hash.hash(&key);
        let entries = &self.entries;
        let found = self.places.find(hash, |&place| entries[place as usize].key == key);
        let place = match found {
            Some(&place) => {
                self.stats.hits += 1;
                if place != self.newest {
                    self.unlink(place);
                    self.link_newest(place);
                }
                place
            }
            None => {
                self.stats.misses += 1;
                self.insert(now, key, fresh, hash)
            }
        };
        let entry = &mut self.entries[place as usize];
        let before = std::mem::replace(&mut entry.seen_at, now);
        Seen { value: &mut entry.value, before }
    }

    #[inline]
    fn forget_silent(&mut self, now: Instant) {
        while let Some(entry) = self.entries.get(self.oldest as usize)
            && now.since(entry.seen_at) > self.bounds.idle_timeout
        {
            self.remove_oldest();
        }
    }

    fn insert(
        &mut self,
        now: Instant,
        key: K,
        fresh: impl FnOnce(Option<Displaced<'_, V>>) -> V,
        hash: u64,
    ) -> Slot {
        let value = if self.len() == self.bounds.entries {
            let Entry { value, seen_at, .. } = &self.entries[self.oldest as usize];
            let value = fresh(Some(Displaced { value, seen_at: *seen_at }));
            self.remove_oldest();
            self.stats.evictions += 1;
            value
        } else {
            fresh(None)
        };
        let entry = Entry { key, value, seen_at: now, older: NOWHERE, newer: NOWHERE };
        let place = self.free;
        let place = if place == NOWHERE {
            self.entries.push(entry);
            Slot::try_from(self.entries.len() - 1).expect("entries are fewer than 2^32")
        } else {
            self.free = self.entries[place as usize].newer;
            self.entries[place as usize] = entry;
            place
        };
        self.link_newest(place);
        let LruTable { entries, hash: hashes, .. } = self;
        self.places.insert_unique(hash, place, |&at| hashes.hash(&entries[at as usize].key));
        place
    }

    fn remove_oldest(&mut self) {
        let place = self.oldest;
        self.unlink(place);
        let entry = &mut self.entries[place as usize];
        entry.newer = self.free;
        self.free = place;
        self.places
            .find_entry(self.hash.hash(&entry.key), |&at| at == place)
            .expect("a linked entry is in the hash table")
            .remove();
    }

    fn unlink(&mut self, place: Slot) {
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

    fn link_newest(&mut self, place: Slot) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::cell::Cell;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use rustc_hash::FxHasher;
    use shortflow_packet::{Address, FlowKey};
    use shortflow_units::Rng;

    use super::*;
    use crate::flow_hash::mix;

    impl Hashed for u16 {
        fn hashed(&self, seed: u64) -> u64 {
            mix(seed ^ u64::from(*self))
        }
    }

    fn hash() -> FlowHash {
        FlowHash::seeded(&mut Rng::stream(1, "table"))
    }

    /// The table as one would tell it: a list, searched from end to end.
    struct Oracle {
        bounds: TableBounds,
        /// Key, packets, when last seen.
        entries: Vec<(u16, u64, Instant)>,
        evictions: u64,
    }

    impl Oracle {
        fn count(&mut self, now: Instant, key: u16) -> u64 {
            self.entries.retain(|entry| now.since(entry.2) <= self.bounds.idle_timeout);
            let count = match self.entries.iter().position(|entry| entry.0 == key) {
                Some(at) => self.entries.remove(at).1 + 1,
                None => 1,
            };
            if self.entries.len() == self.bounds.entries {
                self.evictions += 1;
                self.entries.remove(0);
            }
            self.entries.push((key, count, now));
            count
        }
    }

    fn count(table: &mut LruTable<u16, u64>, now: Instant, key: u16) -> u64 {
        let seen = table.see(now, key, |_| 0);
        *seen.value += 1;
        *seen.value
    }

    proptest! {
        #[test]
        fn the_table_is_an_exact_lru_list_that_forgets_the_silent(
            entries in 1..20usize,
            timeout in 0..50u64,
            arrivals in prop::collection::vec((0..5u64, 0..30u16), 0..400),
        ) {
            let bounds = TableBounds { entries, idle_timeout: Duration::from_nanos(timeout) };
            let mut table = LruTable::new(bounds, hash());
            let mut oracle = Oracle { bounds, entries: Vec::new(), evictions: 0 };
            let mut now = Instant::START;
            for (gap, key) in arrivals {
                now += Duration::from_nanos(gap);
                prop_assert_eq!(count(&mut table, now, key), oracle.count(now, key));
                prop_assert_eq!(table.len(), oracle.entries.len());
            }
            prop_assert_eq!(table.stats().evictions, oracle.evictions);
        }
    }

    #[test]
    fn a_bounded_table_allocates_once_under_a_flood_of_new_keys() {
        for entries in [1, 7, 28, 30, 56, 112, AT_START] {
            let mut table =
                LruTable::new(TableBounds { entries, idle_timeout: Duration::MAX }, hash());
            let allocated = |table: &LruTable<u16, u64>| {
                (table.places.allocation_size(), table.entries.capacity())
            };
            let at_start = allocated(&table);
            for key in 0..=u16::MAX {
                assert_eq!(count(&mut table, Instant::START, key), 1);
            }
            assert_eq!(table.len(), entries);
            assert_eq!(allocated(&table), at_start);
        }
    }

    #[test]
    fn what_was_seen_before_says_when() {
        let at = Instant::from_nanos;
        let mut table =
            LruTable::new(TableBounds { entries: 2, idle_timeout: Duration::MAX }, hash());
        assert_eq!(table.see(at(5), 1, |_| ()).before, at(5), "a new key");
        assert_eq!(table.see(at(9), 1, |_| ()).before, at(5));
        assert_eq!(table.see(at(9), 1, |_| ()).before, at(9));
    }

    #[test]
    fn a_clock_that_runs_backwards_neither_forgets_nor_lets_time_pass_twice() {
        let at = Instant::from_nanos;
        let idle_timeout = Duration::from_nanos(10);
        let mut table = LruTable::new(TableBounds { entries: 4, idle_timeout }, hash());
        table.see(at(100), 1_u16, |_| ());
        assert_eq!(table.see(at(50), 1, |_| ()).before, at(100));
        assert_eq!(table.see(at(105), 1, |_| ()).before, at(100), "not 50");
        table.see(at(60), 2, |_| ());
        assert_eq!((table.len(), table.stats().misses), (2, 2));
    }

    #[test]
    fn a_new_key_is_told_what_it_displaces_and_since_when_that_was_silent() {
        let at = Instant::from_nanos;
        let bounds = TableBounds { entries: 2, idle_timeout: Duration::MAX };
        let mut table = LruTable::new(bounds, hash());
        let mut fresh = |now, key, value| {
            let mut displaced = None;
            table.see(at(now), key, |old| {
                displaced = old.map(|old| (*old.value, old.seen_at));
                value
            });
            displaced
        };
        assert_eq!([fresh(1, 1_u16, 'a'), fresh(2, 2, 'b'), fresh(3, 1, 'x')], [None; 3]);
        assert_eq!(fresh(4, 3, 'c'), Some(('b', at(2))));
        assert_eq!(fresh(5, 4, 'd'), Some(('a', at(3))));
    }

    thread_local! {
        static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    }

    /// A key that counts how often it is compared: once for each probe whose seven bits agree.
    #[derive(Debug, Clone, Copy)]
    struct Compared(FlowKey);

    impl PartialEq for Compared {
        fn eq(&self, other: &Self) -> bool {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Compared {}

    impl Hashed for Compared {
        fn hashed(&self, seed: u64) -> u64 {
            self.0.hashed(seed)
        }
    }

    /// Sources of one IPv6 site whose last 64 bits undo what FxHash makes of the first.
    fn crafted() -> Vec<FlowKey> {
        let fx = |words: (u64, u64)| BuildHasherDefault::<FxHasher>::default().hash_one(words);
        // What FxHash multiplies by, after each word that it adds.
        let factor = 0xf135_7aea_2e62_a9c5_u64;
        let keys = (0..8_000_u64).map(|n| {
            let high = 0x2001_0db8_0000_0000 + n;
            let low = 0_u64.wrapping_sub(n.wrapping_mul(factor));
            let src = Address::v6(u128::from(high) << 64 | u128::from(low));
            let [first, last] = src.halves();
            assert_eq!(fx((first, last)), fx((0x2001_0db8_0000_0000, 0)), "FxHash is misled");
            FlowKey { src, ..FlowKey::default() }
        });
        keys.collect()
    }

    #[test]
    fn keys_that_were_chosen_to_collide_cost_no_more_than_random_ones() {
        let mut rng = Rng::stream(7, "addresses");
        let mut random = || u128::from(rng.below(u64::MAX)) << 64 | u128::from(rng.below(u64::MAX));
        let random: Vec<FlowKey> = (0..8_000)
            .map(|_| FlowKey { src: Address::v6(random()), ..FlowKey::default() })
            .collect();
        let comparisons = |keys: &[FlowKey]| {
            let bounds = TableBounds { entries: 10_000, idle_timeout: Duration::MAX };
            let mut table = LruTable::new(bounds, hash());
            COMPARISONS.set(0);
            for key in keys.iter().chain(keys) {
                table.see(Instant::START, Compared(*key), |_| ());
            }
            COMPARISONS.get() as f64 / (2 * keys.len()) as f64
        };
        let (crafted, random) = (comparisons(&crafted()), comparisons(&random));
        // Half of the operations find their key with one comparison; by chance another of the
        // keys of a group agrees in its seven bits.
        assert!((0.5..0.7).contains(&random), "{random} per operation");
        assert!((0.5..0.7).contains(&crafted), "{crafted} per operation");
    }
}
