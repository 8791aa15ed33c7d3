//! What a number of rounds of tokens brings all connections together.

use super::tokens::Units;

/// The rooms that connections have for tokens, in ascending order. In a round each gets a unit until it is full.
///
/// Sorted once in O(n log n) for n connections; each question then takes O(log n).
#[derive(Debug, Clone, Default)]
pub struct Rooms {
    steps: Vec<Step>,
}

/// A connection with room.
#[derive(Debug, Clone, Copy)]
struct Step {
    room: Units,
    /// What those with less room have when they are full.
    before: Units,
    /// What all have when this one is full.
    gained: Units,
}

impl Rooms {
    /// Reserves memory for `connections` in total.
    pub(crate) fn reserve(&mut self, connections: usize) {
        self.steps.reserve(connections.saturating_sub(self.steps.len()));
    }

    /// Replaces all rooms with these.
    pub(super) fn set(&mut self, rooms: impl Iterator<Item = Units>) {
        self.steps.clear();
        self.steps.extend(rooms.map(|room| Step { room, before: 0, gained: 0 }));
        self.steps.sort_unstable_by_key(|step| step.room);
        let (mut before, mut left) = (0, self.steps.len() as Units);
        for step in &mut self.steps {
            step.before = before;
            step.gained = before + step.room * left;
            before += step.room;
            left -= 1;
        }
    }

    /// What all connections have after so many rounds.
    pub(super) fn gained(&self, rounds: Units) -> Units {
        let full = self.steps.partition_point(|step| step.room < rounds);
        match self.steps.get(full) {
            Some(step) => step.before + rounds * self.open(full),
            None => self.steps.last().map_or(0, |step| step.gained),
        }
    }

    /// The number of rounds until all have `more`, which must fit into their rooms.
    pub(super) fn rounds_to_gain(&self, more: Units) -> Units {
        if more <= 0 {
            return 0;
        }
        let full = self.steps.partition_point(|step| step.gained < more);
        let missing = more - self.steps[full].before;
        let open = self.open(full);
        (missing + open - 1) / open
    }

    /// The number of connections from this one on.
    fn open(&self, full: usize) -> Units {
        (self.steps.len() - full) as Units
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rounds_bring_what_they_bring_one_by_one(
            list in prop::collection::vec(0..30i128, 1..8), more in 0..100i128,
        ) {
            let mut rooms = Rooms::default();
            rooms.set(list.iter().copied());
            let after = |rounds: Units| list.iter().map(|&room| rounds.min(room)).sum::<Units>();
            for rounds in 0..35 {
                prop_assert_eq!(rooms.gained(rounds), after(rounds));
            }
            if more <= list.iter().sum() {
                let first = (0..).find(|&rounds| after(rounds) >= more).unwrap();
                prop_assert_eq!(rooms.rounds_to_gain(more), first);
            }
        }
    }
}
