//! A map of flows, by name and by number.

use std::ops::{Index, IndexMut};

use hashbrown::HashTable;

use crate::flow_hash::{FlowHash, Hashed};

/// The state of each flow in a queue, by the flow's name or by a small number that it has while it is known.
/// Numbers are reused, so memory grows to the maximum number of flows at the same time. Each call is O(1).
#[derive(Debug)]
pub(crate) struct FlowMap<N, T> {
    hash: FlowHash,
    numbers: HashTable<u32>,
    flows: Vec<(N, T)>,
    free: Vec<u32>,
}

impl<N: Hashed, T> FlowMap<N, T> {
    /// An empty map with memory for `flows`.
    pub(crate) fn new(hash: FlowHash, flows: usize) -> Self {
        FlowMap {
            hash,
            // Twice the flows: removals then never make it grow, but only rehash in place.
            numbers: HashTable::with_capacity(2 * flows),
            flows: Vec::with_capacity(flows),
            free: Vec::with_capacity(flows),
        }
    }

    /// Reserves memory for `flows` in total.
    pub(crate) fn reserve(&mut self, flows: usize) {
        let FlowMap { hash, numbers, flows: known, free } = self;
        let more = (2 * flows).saturating_sub(numbers.len());
        numbers.reserve(more, |&at| hash.hash(&known[at as usize].0));
        known.reserve(flows.saturating_sub(known.len()));
        free.reserve(flows.saturating_sub(free.len()));
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    #[inline]
    pub(crate) fn find(&self, name: &N) -> Option<u32> {
        let found = self
            .numbers
            .find(self.hash.hash(name), |&number| self.flows[number as usize].0 == *name);
        found.copied()
    }

    /// Adds a flow that is not in the map, and returns its number.
    pub(crate) fn insert(&mut self, name: N, flow: T) -> u32 {
        let hash_of_name = self.hash.hash(&name);
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
        let FlowMap { hash, flows, .. } = self;
        self.numbers.insert_unique(hash_of_name, number, |&at| hash.hash(&flows[at as usize].0));
        number
    }

    pub(crate) fn remove(&mut self, number: u32) {
        self.numbers
            .find_entry(self.hash.hash(&self.flows[number as usize].0), |&at| at == number)
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

#[cfg(test)]
mod tests {
    use shortflow_packet::Address;
    use shortflow_units::Rng;

    use super::*;

    #[test]
    fn a_flow_is_found_by_name_until_it_is_removed_and_its_number_is_used_again() {
        let [first, second, third] = [1, 2, 3].map(Address::v4);
        let mut flows = FlowMap::new(FlowHash::seeded(&mut Rng::stream(1, "flows")), 0);
        let (a, b) = (flows.insert(first, 1), flows.insert(second, 2));
        flows[b] += 40;
        flows.remove(a);
        assert_eq!((flows.find(&first), flows.find(&second), flows.len()), (None, Some(b), 1));
        assert_eq!(flows.insert(third, 3), a);
        assert_eq!((flows[a], flows[b]), (3, 42));
    }
}
