//! A policy's queue that is first in, first out behind a gate, so that its departures follow from the
//! arrivals.

use std::collections::VecDeque;

use shortflow_elements::{Gate, Verdict};
use shortflow_units::{Duration, Instant};

use crate::network::line::Line;
use crate::network::pool::Parcel;
use crate::network::port::Passage;
use crate::network::waiting::Waiting;

/// The gate, and what it has let in that waits.
pub(crate) struct Gated {
    pub(crate) gate: Box<dyn Gate>,
    pub(crate) waiting: Waiting,
}

impl Gated {
    pub(crate) fn behind(gate: Box<dyn Gate>) -> Self {
        Gated { gate, waiting: Waiting::nothing() }
    }

    /// Lets transmissions begin that are due by `now`, and tells the gate of each.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant, wire: &VecDeque<Passage>, delay: Duration) {
        let Gated { gate, waiting } = self;
        waiting.begin(now, wire, delay, |begins, ends, parcel| {
            gate.begin(begins, ends, parcel.arrival());
        });
    }

    /// What the gate decides of a parcel that arrives at `now`, as of the last [`begin`](Self::begin),
    /// and which is sent over the `line` if it is let in.
    #[inline]
    pub(crate) fn join(&mut self, now: Instant, parcel: &Parcel, line: &mut Line) -> Verdict {
        let free_at = line.free_at;
        if free_at <= now {
            let before = line.clone();
            line.send(now, parcel.size());
            let verdict = self.gate.pass(now, line.free_at, parcel.arrival());
            if matches!(verdict, Verdict::Drop(_)) {
                *line = before;
            }
            return verdict;
        }
        let verdict = self.gate.admit(now, parcel.arrival());
        if !matches!(verdict, Verdict::Drop(_)) {
            line.send(free_at, parcel.size());
            self.waiting.push(parcel.size(), free_at);
        }
        verdict
    }
}
