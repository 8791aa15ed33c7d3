//! Flows by name and by number.

use std::hash::{BuildHasher, BuildHasherDefault, Hash};
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// What a queue knows of each flow, found by the flow's name or by a small number that it has while
/// it is known. Numbers are used again, so that the memory grows to the busiest moment and then no
/// more. Each call is O(1).
#[derive(Debug)]
pub(super) struct FlowMap<N, T> {
    numbers: HashTable<u32>,
    flows: Vec<(N, T)>,
    free: Vec<u32>,
}

impl<N: Eq + Hash, T> FlowMap<N, T> {
    pub(super) fn new() -> Self {
        FlowMap { numbers: HashTable::new(), flows: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline]
    pub(super) fn find(&self, name: &N) -> Option<u32> {
        let found = self.numbers.find(hash(name), |&number| self.flows[number as usize].0 == *name);
        found.copied()
    }

    /// Adds a flow whose name is not there, and gives its number.
    pub(super) fn insert(&mut self, name: N, flow: T) -> u32 {
        let hash_of_name = hash(&name);
        let number = match self.free.pop() {
            Some(number) => {
                self.flows[number as usize] = (name, flow);
                number
            }
            None => {
                self.flows.push((name, flow));
                u32::try_from(self.flows.len() - 1).expect("flows are fewer than 2^32")
            }
        };
        let flows = &self.flows;
        self.numbers.insert_unique(hash_of_name, number, |&at| hash(&flows[at as usize].0));
        number
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.numbers
            .find_entry(hash(&self.flows[number as usize].0), |&at| at == number)
            .expect("a flow with a number is in the table")
            .remove();
        self.free.push(number);
    }
}

impl<N, T> Index<u32> for FlowMap<N, T> {
    type Output = T;
    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.flows[number as usize].1
    }
}

impl<N, T> IndexMut<u32> for FlowMap<N, T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.flows[number as usize].1
    }
}

/// FxHash: the names are addresses and ports, and the tables are bounded.
#[inline]
fn hash<N: Hash>(name: &N) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_found_by_name_until_it_is_removed_and_its_number_is_used_again() {
        let mut flows = FlowMap::new();
        let (a, b) = (flows.insert("a", 1), flows.insert("b", 2));
        flows[b] += 40;
        flows.remove(a);
        assert_eq!((flows.find(&"a"), flows.find(&"b"), flows.len()), (None, Some(b), 1));
        assert_eq!(flows.insert("c", 3), a);
        assert_eq!((flows[a], flows[b]), (3, 42));
    }
}
