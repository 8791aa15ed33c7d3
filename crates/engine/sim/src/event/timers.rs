//! The timers of all connections, behind one entity of the calendar.
//!
//! TCP moves a timer to a later time at almost every acknowledgement. Its entry therefore stays in place, and
//! is checked when it is due: if the timer has moved, it is set again. Each owner remembers its current entry
//! (`armed`); its other entries are stale.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shortflow_units::Instant;

/// The pending entries, earliest first; equal times by owner.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Entry>>,
}

/// An instant and, in lower bits, the owner of its timer. A single number lets a heap compare without
/// branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    fn new(at: Instant, owner: u32) -> Self {
        Entry(u128::from(at.nanos()) << u32::BITS | u128::from(owner))
    }

    #[inline]
    fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> u32::BITS) as u64)
    }

    #[inline]
    fn owner(self) -> u32 {
        self.0 as u32
    }
}

impl Timers {
    /// Ensures that `owner` is checked by `deadline`; `armed` is its current entry.
    #[inline]
    pub(crate) fn arm(&mut self, owner: u32, armed: &mut Instant, deadline: Instant) {
        if deadline < *armed {
            *armed = deadline;
            self.heap.push(Reverse(Entry::new(deadline, owner)));
        }
    }

    /// When the first entry is due, stale or not.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse(first)| first.at())
    }

    /// Removes the first entry if it is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let Reverse(first) = *self.heap.peek()?;
        if first.at() > now {
            return None;
        }
        self.heap.pop();
        Some((first.at(), first.owner()))
    }
}
