//! A policy's queue that is first in, first out behind a gate, so that its departures follow from the
//! arrivals.

use std::collections::VecDeque;

use shortflow_elements::queue::AnyGate;
use shortflow_elements::{Arrival, Gate, Verdict};
use shortflow_units::{Duration, Instant};

use crate::network::port::Passage;
use crate::network::waiting::Waiting;

/// The gate, and what it has let in that waits.
pub(crate) struct Gated {
    pub(crate) gate: AnyGate,
    pub(crate) waiting: Waiting,
}

impl Gated {
    pub(crate) fn behind(gate: AnyGate) -> Self {
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

    /// What the gate decides of what arrives at `now`, as of the last [`begin`](Self::begin), and which
    /// would be sent from `starts` until `ends`.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        arrival: Arrival,
        starts: Instant,
        ends: Instant,
    ) -> Verdict {
        if starts > now {
            self.gate.admit(now, arrival)
        } else {
            self.gate.pass(now, ends, arrival)
        }
    }
}
