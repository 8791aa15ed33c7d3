//! A priority queue whose keys can change.

/// Things by number, ordered by a key: an indexed binary heap. [`first`](Self::first) is O(1), a change O(log
/// n). The order of equal keys depends on the history; if it matters, keys must differ.
#[derive(Debug)]
pub(crate) struct Ranking<K> {
    heap: Vec<(K, u32)>,
    /// The index in `heap` of a thing, or [`NOWHERE`].
    places: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl<K: Ord + Copy> Ranking<K> {
    pub(crate) fn new() -> Self {
        Ranking { heap: Vec::new(), places: Vec::new() }
    }

    /// Reserves memory for things with numbers below `things`.
    pub(crate) fn reserve(&mut self, things: usize) {
        self.heap.reserve(things.saturating_sub(self.heap.len()));
        self.places.reserve(things.saturating_sub(self.places.len()));
    }

    /// The thing with the smallest key.
    #[inline]
    pub(crate) fn first(&self) -> Option<(K, u32)> {
        self.heap.first().copied()
    }

    #[inline]
    pub(crate) fn contains(&self, thing: u32) -> bool {
        self.places.get(thing as usize).is_some_and(|&place| place != NOWHERE)
    }

    /// The key of `thing`, if it is in the heap.
    #[inline]
    pub(crate) fn key(&self, thing: u32) -> Option<K> {
        self.contains(thing).then(|| self.heap[self.places[thing as usize] as usize].0)
    }

    /// Sets the key of `thing`, and adds it if it is new.
    #[inline]
    pub(crate) fn set(&mut self, thing: u32, key: K) {
        if self.contains(thing) {
            let place = self.places[thing as usize] as usize;
            let before = std::mem::replace(&mut self.heap[place].0, key);
            return if key < before { self.rise(place) } else { self.sink(place) };
        }
        if self.places.len() <= thing as usize {
            self.places.resize(thing as usize + 1, NOWHERE);
        }
        self.places[thing as usize] = self.heap.len() as u32;
        self.heap.push((key, thing));
        self.rise(self.heap.len() - 1);
    }

    /// Removes `thing`, which is in the heap.
    #[inline]
    pub(crate) fn remove(&mut self, thing: u32) {
        let place = std::mem::replace(&mut self.places[thing as usize], NOWHERE) as usize;
        let (removed, _) = self.heap.swap_remove(place);
        if let Some(&(key, moved)) = self.heap.get(place) {
            self.places[moved as usize] = place as u32;
            if key < removed { self.rise(place) } else { self.sink(place) }
        }
    }

    /// Moves the entry at `place` up to its position.
    fn rise(&mut self, mut place: usize) {
        let moved = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 <= moved.0 {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, moved);
    }

    /// Moves the entry at `place` down to its position.
    fn sink(&mut self, mut place: usize) {
        let moved = self.heap[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0 < self.heap[child].0 {
                child += 1;
            }
            if moved.0 <= self.heap[child].0 {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, moved);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (K, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_one_that_a_search_finds(
            steps in prop::collection::vec((0..20u32, prop::option::weighted(0.7, 0..50u32)), 0..300),
        ) {
            let mut ranking = Ranking::new();
            let mut plain = BTreeMap::new();
            for (thing, key) in steps {
                prop_assert_eq!(ranking.contains(thing), plain.contains_key(&thing));
                prop_assert_eq!(ranking.key(thing), plain.get(&thing).copied());
                match key {
                    Some(key) => {
                        ranking.set(thing, (key, thing));
                        plain.insert(thing, (key, thing));
                    }
                    None => {
                        if plain.remove(&thing).is_some() {
                            ranking.remove(thing);
                        }
                    }
                }
                let min = plain.iter().map(|(&thing, &key)| (key, thing)).min();
                prop_assert_eq!(ranking.first(), min);
            }
        }
    }
}
