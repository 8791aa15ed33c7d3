//! The line of a port: one transmission after the other, then the way to the far end.

use shortflow_units::{Bytes, Duration, Instant, LinkLayer, Rate, Remainder, Transmission};

/// What sends packets on their way.
#[derive(Debug)]
pub(crate) struct Line {
    /// When it falls idle.
    pub(crate) free_at: Instant,
    /// The time that the last bit of a packet takes to the far end.
    pub(crate) delay: Duration,
    rate: Transmission,
    /// What makes of a packet's bytes those on the wire.
    link_layer: LinkLayer,
    /// Time for which it was or will be sending, since counting began.
    busy: Duration,
}

/// A transmission that the line may take up next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    time: Duration,
    /// When the line falls idle after it.
    pub(crate) ends: Instant,
    remainder: Remainder,
}

impl Line {
    pub(crate) fn new(rate: Rate, delay: Duration, link_layer: LinkLayer) -> Self {
        let rate = Transmission::at(rate);
        Line { free_at: Instant::START, delay, rate, link_layer, busy: Duration::ZERO }
    }

    /// Sends `size` bytes from `starts` on, which is not before the line is free: when they arrive at
    /// the far end.
    #[inline(always)]
    pub(crate) fn send(&mut self, starts: Instant, size: u32) -> Instant {
        let planned = self.plan(starts, size);
        self.take_up(planned)
    }

    /// As [`send`](Self::send), to be [taken up](Self::take_up) or not.
    #[inline(always)]
    pub(crate) fn plan(&self, starts: Instant, size: u32) -> Planned {
        let before = if starts > self.free_at { Remainder::NONE } else { self.rate.remainder() };
        let size = self.link_layer.wire_size(Bytes(size.into())).0 as u32;
        let (time, remainder) = self.rate.time_after(before, size);
        Planned { time, ends: starts + time, remainder }
    }

    /// Does what was planned just before: when the packet arrives at the far end.
    #[inline(always)]
    pub(crate) fn take_up(&mut self, planned: Planned) -> Instant {
        self.rate.set_remainder(planned.remainder);
        self.busy += planned.time;
        self.free_at = planned.ends;
        self.free_at + self.delay
    }

    /// Time spent sending until `now`. A plain FIFO's transmissions are booked ahead, without a gap up
    /// to `free_at`.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.busy.saturating_sub(self.free_at.since(now))
    }

    /// Starts counting anew. What is booked already counts from here on.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.busy = self.free_at.since(now);
    }
}
