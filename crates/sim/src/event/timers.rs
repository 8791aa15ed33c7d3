//! The retransmission and delayed-ACK timers of all connections, behind one entity of the calendar.
//!
//! TCP moves a timer later at almost every acknowledgement, so an entry is left where it is and
//! looked at when it comes up: a timer that moved later is then set again, at no cost meanwhile.
//! Each owner remembers the entry that counts (`armed`); other entries of its are stale.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shortflow_units::Instant;

/// The pending entries, earliest first; ties go to the lower owner.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Entry>>,
}

/// An instant above the owner of its timer: one number, so that a heap compares without branches.
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
    /// Makes sure that `owner` is looked at no later than `deadline`; `armed` is its entry.
    #[inline]
    pub(crate) fn arm(&mut self, owner: u32, armed: &mut Instant, deadline: Instant) {
        if deadline < *armed {
            *armed = deadline;
            self.heap.push(Reverse(Entry::new(deadline, owner)));
        }
    }

    /// When the first entry comes up, stale or not.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse(first)| first.at())
    }

    /// Takes the first entry if it is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let Reverse(first) = *self.heap.peek()?;
        if first.at() > now {
            return None;
        }
        self.heap.pop();
        Some((first.at(), first.owner()))
    }
}
