//! The line that takes packets out of a queue, one after the other.

use shortflow_units::{Bytes, Duration, Instant, LinkLayer, Rate, Remainder, Transmission};

/// How late a transmission may begin and still count from its due time, so that a late wakeup costs no rate.
const MAX_LATE: Duration = Duration::from_millis(2);

/// Transmits at a rate.
#[derive(Debug)]
pub(crate) struct Line {
    rate: Transmission,
    link_layer: LinkLayer,
    free_at: Instant,
}

impl Line {
    pub(crate) fn new(rate: Rate, link_layer: LinkLayer) -> Self {
        Line { rate: Transmission::at(rate), link_layer, free_at: Instant::START }
    }

    /// When the last transmission ends.
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When a transmission that is looked at `now` and was due at `due` begins.
    pub(crate) fn begins(due: Instant, now: Instant) -> Instant {
        let earliest = Instant::from_nanos(now.nanos().saturating_sub(MAX_LATE.nanos()));
        due.max(earliest).min(now)
    }

    /// Transmits `size` bytes from `at` on.
    pub(crate) fn send(&mut self, at: Instant, size: u32) {
        let before = if at > self.free_at { Remainder::NONE } else { self.rate.remainder() };
        let size = self.link_layer.wire_size(Bytes(size.into())).0 as u32;
        let (time, remainder) = self.rate.time_after(before, size);
        self.rate.set_remainder(remainder);
        self.free_at = at + time;
    }
}
