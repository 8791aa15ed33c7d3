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
        waiting.begin(now, wire, delay, |begins, parcel| gate.follow(begins, parcel.arrival()));
    }

    /// What the gate decides of a parcel that arrives at `now`, as of the last [`begin`](Self::begin).
    /// What it lets in is to be sent over the `line`.
    #[inline]
    pub(crate) fn judge(&mut self, now: Instant, parcel: &Parcel, line: &Line) -> Verdict {
        let free_at = line.free_at;
        if free_at <= now {
            return self.gate.pass(now, free_at, parcel.arrival());
        }
        let verdict = self.gate.admit(now, parcel.arrival());
        if !matches!(verdict, Verdict::Drop(_)) {
            self.waiting.push(parcel.size(), free_at);
        }
        verdict
    }
}
