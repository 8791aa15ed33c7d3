//! The counters of a shaper of an aggregate.

use shortflow_units::{Duration, Instant};

use shortflow_packet::SenderEvent;

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stats {
    /// Packets that conformed on arrival.
    pub(super) passed: u64,
    /// Packets that waited and were sent.
    shaped: u64,
    /// For these, the sum of the times from when a packet could have conformed to when it was sent.
    error: Duration,
    pub(super) timers_set: u64,
    pub(super) timers_cancelled: u64,
    timers_expired: u64,
    /// How often each event was a trigger while packets waited.
    pub(super) triggered: [u64; SenderEvent::ALL.len()],
}

impl Stats {
    /// A waiting packet is sent this much later than it could have been.
    pub(super) fn shaped(&mut self, late: Duration) {
        self.shaped += 1;
        self.error += late;
    }

    /// The timer expired every `period` from `first` to `last`.
    pub(super) fn timer_expired(&mut self, first: Instant, last: Instant, period: Duration) {
        self.timers_expired += last.since(first).nanos() / period.nanos() + 1;
    }

    pub(super) fn visit(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("packets passed at once", self.passed);
        visit("packets shaped", self.shaped);
        visit("shaping error, sum (us)", self.error.nanos() / 1000);
        visit("timers set", self.timers_set);
        visit("timers cancelled", self.timers_cancelled);
        visit("timers expired", self.timers_expired);
        for event in SenderEvent::ALL {
            visit(event.trigger(), self.triggered[event as usize]);
        }
    }
}
