//! Linked lists in one allocation.

/// The index of a value in a [`Slab`].
pub(crate) type Slot = u32;

const NOWHERE: Slot = Slot::MAX;

/// Values in lists, each value in one list. Slots are reused, so the slab grows to its maximum size and then
/// allocates no more. Each call is O(1).
#[derive(Debug)]
pub(crate) struct Slab<T> {
    nodes: Vec<Node<T>>,
    /// The first free node; its `after` is the next one.
    free: Slot,
}

#[derive(Debug)]
struct Node<T> {
    value: Option<T>,
    before: Slot,
    after: Slot,
}

/// The ends of a list whose values are in a [`Slab`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct List {
    first: Slot,
    last: Slot,
}

impl Default for List {
    fn default() -> Self {
        List::EMPTY
    }
}

impl List {
    pub(crate) const EMPTY: List = List { first: NOWHERE, last: NOWHERE };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.first == NOWHERE
    }
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Slab { nodes: Vec::new(), free: NOWHERE }
    }

    /// Reserves memory for `values` in total.
    pub(crate) fn reserve(&mut self, values: usize) {
        self.nodes.reserve(values.saturating_sub(self.nodes.len()));
    }

    #[inline]
    pub(crate) fn push_back(&mut self, list: &mut List, value: T) -> Slot {
        let node = Node { value: Some(value), before: list.last, after: NOWHERE };
        let slot = self.free;
        let slot = if slot == NOWHERE {
            self.nodes.push(node);
            Slot::try_from(self.nodes.len() - 1).expect("values are fewer than 2^32")
        } else {
            self.free = self.nodes[slot as usize].after;
            self.nodes[slot as usize] = node;
            slot
        };
        match self.nodes.get_mut(list.last as usize) {
            Some(last) => last.after = slot,
            None => list.first = slot,
        }
        list.last = slot;
        slot
    }

    /// Removes the value at `slot`, which is in `list`.
    #[inline]
    pub(crate) fn remove(&mut self, list: &mut List, slot: Slot) -> T {
        let node = &mut self.nodes[slot as usize];
        let value = node.value.take().expect("a slot in a list has a value");
        let (before, after) = (node.before, node.after);
        node.after = self.free;
        self.free = slot;
        match self.nodes.get_mut(before as usize) {
            Some(node) => node.after = after,
            None => list.first = after,
        }
        match self.nodes.get_mut(after as usize) {
            Some(node) => node.before = before,
            None => list.last = before,
        }
        value
    }

    #[inline]
    pub(crate) fn pop_front(&mut self, list: &mut List) -> Option<T> {
        (!list.is_empty()).then(|| self.remove(list, list.first))
    }

    #[inline]
    pub(crate) fn pop_back(&mut self, list: &mut List) -> Option<T> {
        (!list.is_empty()).then(|| self.remove(list, list.last))
    }

    #[inline]
    pub(crate) fn front(&self, list: List) -> Option<&T> {
        self.nodes.get(list.first as usize)?.value.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_that_share_a_slab_do_not_touch_each_other(
            steps in prop::collection::vec((0..3usize, 0..4u8, 0..8usize), 0..200),
        ) {
            let mut slab = Slab::new();
            let mut lists = [List::EMPTY; 3];
            let mut plain: [VecDeque<(usize, Slot)>; 3] = Default::default();
            for (number, (which, step, place)) in steps.into_iter().enumerate() {
                let (list, plain) = (&mut lists[which], &mut plain[which]);
                let value = |held: Option<(usize, Slot)>| held.map(|(value, _)| value);
                match step {
                    0 | 1 => plain.push_back((number, slab.push_back(list, number))),
                    2 => prop_assert_eq!(slab.pop_front(list), value(plain.pop_front())),
                    _ => {
                        if let Some((value, slot)) = plain.remove(place) {
                            prop_assert_eq!(slab.remove(list, slot), value);
                        } else {
                            prop_assert_eq!(slab.pop_back(list), value(plain.pop_back()));
                        }
                    }
                }
                prop_assert_eq!(slab.front(*list).copied(), value(plain.front().copied()));
                prop_assert_eq!(list.is_empty(), plain.is_empty());
            }
        }
    }

    #[test]
    fn a_slab_is_as_long_as_its_busiest_moment() {
        let mut slab = Slab::new();
        let mut list = List::EMPTY;
        for number in 0..1000 {
            slab.push_back(&mut list, number);
            if number >= 5 {
                slab.pop_front(&mut list);
            }
        }
        assert_eq!(slab.nodes.len(), 6);
    }
}
