//! The line of a port: serialised transmissions, then propagation.

use std::sync::Arc;

use shortflow_units::{
    Bytes, Duration, Instant, LinkLayer, Rate, RateSchedule, Remainder, Transmission,
};

/// Transmits packets.
#[derive(Debug)]
pub(crate) struct Line {
    /// When it becomes idle.
    pub(crate) free_at: Instant,
    /// The propagation delay.
    pub(crate) delay: Duration,
    rate: Transmission,
    /// Converts a packet's bytes into bytes on the wire.
    link_layer: LinkLayer,
    /// The rate over time, where it changes.
    schedule: Option<Arc<RateSchedule>>,
    /// The rate is constant, and the link layer adds nothing: packets have the same size on the wire.
    is_plain: bool,
    /// Transmission time since counting began, including transmissions that are booked.
    busy: Duration,
}

/// A transmission that the line may accept next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    time: Duration,
    /// When the line becomes idle after it.
    pub(crate) ends: Instant,
    remainder: Remainder,
}

impl Line {
    pub(crate) fn new(rate: Rate, delay: Duration, link_layer: LinkLayer) -> Self {
        let rate = Transmission::at(rate);
        let is_plain = link_layer == LinkLayer::RAW;
        let (free_at, busy) = (Instant::START, Duration::ZERO);
        Line { free_at, delay, rate, link_layer, schedule: None, is_plain, busy }
    }

    /// The same line with a rate that changes.
    pub(crate) fn with_schedule(self, schedule: Option<Arc<RateSchedule>>) -> Self {
        Line { is_plain: self.is_plain && schedule.is_none(), schedule, ..self }
    }

    /// Sends `size` bytes at `starts`, when the line is free. Returns their arrival time at the far end.
    #[inline(always)]
    pub(crate) fn send(&mut self, starts: Instant, size: u32) -> Instant {
        let planned = self.plan(starts, size);
        self.take_up(planned)
    }

    /// As [`send`](Self::send), but only planned, to be [taken up](Self::take_up) or not.
    #[inline(always)]
    pub(crate) fn plan(&self, starts: Instant, size: u32) -> Planned {
        let before = if starts > self.free_at { Remainder::NONE } else { self.rate.remainder() };
        // A packet without headers may have no bytes, but takes one on the wire.
        let (time, remainder) = match self.is_plain && size > 0 {
            true => self.rate.time_after(before, size),
            false => self.time_on_wire(starts, before, size),
        };
        Planned { time, ends: starts + time, remainder }
    }

    #[inline(never)]
    fn time_on_wire(&self, starts: Instant, before: Remainder, size: u32) -> (Duration, Remainder) {
        let size = self.link_layer.wire_size(Bytes(size.into())).0 as u32;
        match &self.schedule {
            Some(schedule) => (schedule.finish(starts, size).since(starts), Remainder::NONE),
            None => self.rate.time_after(before, size),
        }
    }

    /// Executes the last planned transmission. Returns the arrival time at the far end.
    #[inline(always)]
    pub(crate) fn take_up(&mut self, planned: Planned) -> Instant {
        self.rate.set_remainder(planned.remainder);
        self.busy += planned.time;
        self.free_at = planned.ends;
        self.free_at + self.delay
    }

    /// Transmission time until `now`. Transmissions of a plain FIFO are booked ahead, without gaps, up to
    /// `free_at`.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.busy.saturating_sub(self.free_at.since(now))
    }

    /// Restarts counting. Booked transmissions count from here on.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.busy = self.free_at.since(now);
    }
}
