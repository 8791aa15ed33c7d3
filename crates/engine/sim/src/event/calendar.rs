//! The event queue: at most one pending event per entity. Finds the earliest without branches.
//!
//! A winner tree over one `u64` per entity: the high bits are the nanosecond, the low bits the entity's
//! index. The smallest key is the next event. Simultaneous events run in the order of entity indices, so ties
//! never depend on the order of insertion. Setting, moving and clearing an event cost at most one pass from
//! leaf to root: O(log entities), without allocation. Four siblings are adjacent in memory, so that a pass
//! touches few cache lines.

use shortflow_units::Instant;

/// The owner of an event: an index into the simulator's list of entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entity(pub(crate) u32);

/// The pending events.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// The tree's nodes in groups of four siblings, the root's children first. Node `n` is in group `n / 4`,
    /// and is the winner of group `n + 1`. Nodes from `leaves` on are entities.
    groups: Vec<[u64; 4]>,
    leaves: usize,
    /// The overall winner.
    first: u64,
    entity_bits: u32,
    /// The number of bits of a key that hold the entity's index.
    entity_mask: u64,
    /// The last instant that fits into a key.
    horizon: Instant,
}

const NONE: u64 = u64::MAX;

impl Calendar {
    /// A calendar for entities 0 to `entities - 1`, without events.
    pub(crate) fn new(entities: usize) -> Self {
        let entity_bits = Calendar::entity_bits(entities);
        let horizon = Calendar::horizon_of(entities);
        // Each inner node replaces one leaf and has room for four.
        let leaves = entities.saturating_sub(4).div_ceil(3);
        let groups = vec![[NONE; 4]; leaves + 1];
        let entity_mask = (1 << entity_bits) - 1;
        Calendar { groups, leaves, first: NONE, entity_bits, entity_mask, horizon }
    }

    /// The number of bits for an entity's index.
    fn entity_bits(entities: usize) -> u32 {
        entities.max(2).next_power_of_two().trailing_zeros()
    }

    /// The last instant that fits into a key with this number of entities.
    pub(crate) fn horizon_of(entities: usize) -> Instant {
        Instant::from_nanos((u64::MAX >> Calendar::entity_bits(entities)) - 1)
    }

    /// The last instant that fits into a key.
    pub(crate) fn horizon(&self) -> Instant {
        self.horizon
    }

    /// Sets or moves the event of `entity`. [`Instant::NEVER`] clears it.
    #[inline]
    pub(crate) fn set(&mut self, entity: Entity, at: Instant) {
        // Events after the horizon are after the end of the run.
        let mut winner = if at > self.horizon {
            NONE
        } else {
            (at.nanos() << self.entity_bits) | u64::from(entity.0)
        };
        let mut node = self.leaves + entity.0 as usize;
        // There is no group above the root's children.
        while let Some(group) = self.groups.get_mut(node / 4) {
            let place = node % 4;
            if group[place] == winner {
                return; // nothing changes further up
            }
            group[place] = winner;
            // Compares only siblings, so that no level waits for the store of the level below. A minimum of all
            // four takes fewer instructions, but more time.
            let siblings = group[place ^ 1].min(group[place ^ 2]).min(group[place ^ 3]);
            winner = winner.min(siblings);
            node = (node / 4).wrapping_sub(1);
        }
        self.first = winner;
    }

    /// The earliest event, without removing it, if it is due by `until`, which is at most the horizon.
    #[inline]
    pub(crate) fn next(&self, until: Instant) -> Option<(Instant, Entity)> {
        debug_assert!(until <= self.horizon, "no event comes after the horizon");
        // If there is no event, this is after the horizon.
        let at = Instant::from_nanos(self.first >> self.entity_bits);
        let entity = Entity((self.first & self.entity_mask) as u32);
        (at <= until).then_some((at, entity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    /// Takes out all events in order.
    fn drain(calendar: &mut Calendar) -> Vec<(u64, u32)> {
        let mut events = Vec::new();
        while let Some((time, entity)) = calendar.next(calendar.horizon()) {
            events.push((time.nanos(), entity.0));
            calendar.set(entity, Instant::NEVER);
        }
        events
    }

    #[test]
    fn events_come_in_order_of_time_then_of_entity() {
        let mut calendar = Calendar::new(5);
        for (entity, time) in [(4, 30), (2, 10), (0, 30), (3, 20)] {
            calendar.set(Entity(entity), at(time));
        }
        assert_eq!(drain(&mut calendar), [(10, 2), (20, 3), (30, 0), (30, 4)]);
    }

    #[test]
    fn an_event_that_is_moved_has_left_its_old_place() {
        let mut calendar = Calendar::new(2);
        calendar.set(Entity(0), at(10));
        calendar.set(Entity(1), at(20));
        calendar.set(Entity(0), at(30));
        assert_eq!(drain(&mut calendar), [(20, 1), (30, 0)]);
    }

    proptest::proptest! {
        #[test]
        fn the_calendar_agrees_with_a_sorted_list(
            moves in proptest::collection::vec((0u32..37, 0u64..100), 0..200),
        ) {
            let mut calendar = Calendar::new(37);
            let mut oracle = std::collections::BTreeMap::new();
            for (entity, time) in moves {
                calendar.set(Entity(entity), at(time));
                oracle.insert(entity, time);
            }
            let mut expected: Vec<_> = oracle.into_iter().map(|(e, t)| (t, e)).collect();
            expected.sort_unstable();
            proptest::prop_assert_eq!(drain(&mut calendar), expected);
        }
    }
}
