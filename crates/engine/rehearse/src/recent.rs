//! A cache of the most recently used keys.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// A table that cannot grow without end: what was asked for among the last `half` different keys is in it, and at
/// most twice as many are. Keys that are asked for move from the old half into the young one; when that is full, what is
/// left in the old half is forgotten.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    half: usize,
    young: FxHashMap<K, V>,
    old: FxHashMap<K, V>,
}

impl<K: Copy + Eq + Hash, V> Recent<K, V> {
    /// Nothing is remembered yet.
    ///
    /// # Panics
    /// When nothing is to be remembered ever.
    pub(crate) fn new(half: usize) -> Self {
        assert!(half > 0, "what is put in is in it");
        Recent { half, young: FxHashMap::default(), old: FxHashMap::default() }
    }

    /// How many keys are remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// What is remembered of a key, if anything.
    pub(crate) fn get(&mut self, key: K) -> Option<&mut V> {
        if !self.young.contains_key(&key) {
            let value = self.old.remove(&key)?;
            self.put(key, value);
        }
        self.young.get_mut(&key)
    }

    /// What is remembered of a key; of one that is new or forgotten, a fresh value.
    pub(crate) fn get_or_insert(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        if !self.young.contains_key(&key) {
            let value = self.old.remove(&key).unwrap_or_default();
            self.put(key, value);
        }
        self.young.get_mut(&key).expect("it was just put there")
    }

    /// Remembers this of a key.
    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_new_keys_takes_no_more_than_its_room_and_what_is_asked_for_stays() {
        let mut recent = Recent::new(100);
        *recent.get_or_insert(7_u32) = "kept";
        for key in 1000..50_000 {
            recent.put(key, "flood");
            assert!(recent.len() <= 200, "{}", recent.len());
            if key % 90 == 0 {
                assert_eq!(recent.get(7), Some(&mut "kept"));
            }
        }
        assert_eq!(recent.get(1000), None);
        assert_eq!(recent.get_or_insert(1000), &mut "", "afresh");
    }

    #[test]
    fn as_many_keys_as_one_half_has_are_remembered_at_least() {
        let mut recent = Recent::new(100);
        (0..1000).for_each(|key| recent.put(key, key));
        assert!((900..1000).all(|key| recent.get(key) == Some(&mut { key })));
    }
}
