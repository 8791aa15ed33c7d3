//! The earliest of many instants, one for each index.

use shortflow_units::Instant;

/// A tournament over instants: node `i` holds the earlier of nodes `2i` and `2i + 1`, and the
/// leaves are those of the indices. O(log n) to set one, O(1) to see the earliest.
#[derive(Debug)]
pub(super) struct Earliest {
    nodes: Vec<Instant>,
}

impl Earliest {
    /// One instant, as yet never, for each index below `indices`.
    pub(super) fn new(indices: usize) -> Self {
        Earliest { nodes: vec![Instant::NEVER; 2 * indices.next_power_of_two()] }
    }

    #[inline]
    pub(super) fn set(&mut self, index: usize, instant: Instant) {
        let mut node = self.nodes.len() / 2 + index;
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

    /// The least index whose instant is the earliest.
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
            moves in prop::collection::vec((0..10usize, 0..6u64), 1..100),
        ) {
            let mut earliest = Earliest::new(indices);
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
