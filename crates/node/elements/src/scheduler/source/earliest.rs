//! The minimum of instants, one per index.

use shortflow_units::Instant;

/// A tournament tree over instants: node `i` has the earlier of nodes `2i` and `2i + 1`, and the leaves
/// belong to the indices. O(log n) to set one, O(1) to read the earliest. It covers only indices that were
/// ever set, and few of them fit into a cache line.
#[derive(Debug)]
pub(super) struct Earliest {
    nodes: Vec<Instant>,
}

/// The leaves of the smallest tree, which takes 64 bytes.
const MIN_LEAVES: usize = 4;

impl Earliest {
    /// `NEVER` for each index.
    pub(super) fn new() -> Self {
        Earliest { nodes: vec![Instant::NEVER; 2 * MIN_LEAVES] }
    }

    /// Reserves memory for indices below `indices`.
    pub(super) fn reserve(&mut self, indices: usize) {
        let before = self.nodes.len() / 2;
        let leaves = indices.next_power_of_two();
        if leaves > before {
            let set = self.nodes.split_off(before);
            self.nodes.clear();
            self.nodes.resize(2 * leaves, Instant::NEVER);
            for (index, instant) in set.into_iter().enumerate() {
                self.set(index, instant);
            }
        }
    }

    #[inline]
    pub(super) fn set(&mut self, index: usize, instant: Instant) {
        let mut node = self.nodes.len() / 2 + index;
        if node >= self.nodes.len() {
            self.reserve(index + 1);
            node = self.nodes.len() / 2 + index;
        }
        if self.nodes[node] == instant {
            return;
        }
        self.nodes[node] = instant;
        while node > 1 {
            node /= 2;
            let winner = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    #[inline]
    pub(super) fn instant(&self) -> Instant {
        self.nodes[1]
    }

    /// The smallest index with the earliest instant.
    #[inline]
    pub(super) fn index(&self) -> usize {
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            node = if self.nodes[2 * node] == self.nodes[1] { 2 * node } else { 2 * node + 1 };
        }
        node - leaves
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_earliest_is_the_minimum(
            indices in 1..10usize,
            reserved in 0..10usize,
            moves in prop::collection::vec((0..10usize, 0..6u64), 1..100),
        ) {
            let mut earliest = Earliest::new();
            earliest.reserve(reserved);
            let mut plain = vec![Instant::NEVER; indices];
            for (index, nanos) in moves {
                let index = index % indices;
                let instant = if nanos == 0 { Instant::NEVER } else { Instant::from_nanos(nanos) };
                plain[index] = instant;
                earliest.set(index, instant);
                let first = plain.iter().copied().min().unwrap();
                prop_assert_eq!(earliest.instant(), first);
                prop_assert_eq!(earliest.index(), plain.iter().position(|&at| at == first).unwrap());
            }
        }
    }
}
