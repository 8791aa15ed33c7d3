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
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Timers {
    /// Makes sure that `owner` is looked at no later than `deadline`; `armed` is its entry.
    #[inline]
    pub(crate) fn arm(&mut self, owner: u32, armed: &mut Instant, deadline: Instant) {
        if deadline < *armed {
            *armed = deadline;
            self.heap.push(Reverse((deadline, owner)));
        }
    }

    /// When the first entry comes up, stale or not.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Takes the first entry if it is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let &Reverse((at, owner)) = self.heap.peek()?;
        if at > now {
            return None;
        }
        self.heap.pop();
        Some((at, owner))
    }
}
