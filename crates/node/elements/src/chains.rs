//! Linked lists of indices.

/// The links between `n` indices, each of which is in at most one [`Chain`] at a time. Every operation is
/// O(1), and only [`add`](Chains::add) allocates.
#[derive(Debug, Default)]
pub(crate) struct Chains(Vec<Link>);

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

impl Link {
    const NONE: Link = Link { before: NONE, after: NONE };
}

/// An ordered list of indices, whose links are in [`Chains`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;

impl Chain {
    pub(crate) const EMPTY: Chain = Chain { first: NONE, last: NONE };

    #[inline]
    pub(crate) fn first(&self) -> Option<usize> {
        index(self.first)
    }

    /// Whether it contains exactly one index.
    #[inline]
    pub(crate) fn is_of_one(&self) -> bool {
        self.first == self.last && self.first != NONE
    }
}

impl Chains {
    /// The number of indices.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Reserves memory for this many further indices.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// Adds an index that is in no chain.
    pub(crate) fn add(&mut self) {
        assert!(self.0.len() < NONE as usize, "indices are fewer than 2^32 - 1");
        self.0.push(Link::NONE);
    }

    #[inline]
    pub(crate) fn push_last(&mut self, chain: &mut Chain, at: usize) {
        let before = std::mem::replace(&mut chain.last, at as u32);
        self.0[at] = Link { before, after: NONE };
        match self.0.get_mut(before as usize) {
            Some(link) => link.after = at as u32,
            None => chain.first = at as u32,
        }
    }

    /// Removes `at` from its chain.
    #[inline]
    pub(crate) fn remove(&mut self, chain: &mut Chain, at: usize) {
        let Link { before, after } = self.0[at];
        match self.0.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => chain.first = after,
        }
        match self.0.get_mut(after as usize) {
            Some(link) => link.before = before,
            None => chain.last = before,
        }
    }

    /// The indices of `chain`, first to last.
    pub(crate) fn iter(&self, chain: &Chain) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(chain.first(), |&at| index(self.0[at].after))
    }
}

fn index(at: u32) -> Option<usize> {
    (at != NONE).then_some(at as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle is two deques, searched from end to end.
        #[test]
        fn two_chains_are_two_lists(moves in prop::collection::vec((0..8usize, 0..3usize), 0..200)) {
            let mut chains = Chains::default();
            (0..8).for_each(|_| chains.add());
            let mut linked = [Chain::EMPTY; 2];
            let mut lists = [VecDeque::new(), VecDeque::new()];
            for (at, to) in moves {
                for (chain, list) in linked.iter_mut().zip(&mut lists) {
                    if let Some(place) = list.iter().position(|&other| other == at) {
                        list.remove(place);
                        chains.remove(chain, at);
                    }
                }
                if to < 2 {
                    lists[to].push_back(at);
                    chains.push_last(&mut linked[to], at);
                }
                for (chain, list) in linked.iter().zip(&lists) {
                    prop_assert!(chains.iter(chain).eq(list.iter().copied()));
                    prop_assert_eq!(chain.is_of_one(), list.len() == 1);
                }
            }
        }
    }
}
