//! The drop-tail FIFO of a plain port, whose departures follow from the arrivals.

use std::collections::VecDeque;

use shortflow_elements::Backlog;
use shortflow_units::{Bytes, Duration, Instant, Length};

use crate::network::port::Passage;

/// What waits of a wire's packets: the last ones, up to a limit.
#[derive(Debug)]
pub(crate) struct TailDrop {
    limit: Length,
    waiting: Backlog,
    /// When the transmission of the first that waits begins.
    begins: Instant,
}

impl TailDrop {
    pub(crate) fn new(limit: Length) -> Self {
        TailDrop { limit, waiting: Backlog::default(), begins: Instant::NEVER }
    }

    /// What waits, as of the last [`begin`](Self::begin).
    pub(crate) fn waiting(&self) -> Backlog {
        self.waiting
    }

    /// Whether a packet of `size` must not wait.
    #[inline]
    pub(crate) fn is_full(&self, size: u32) -> bool {
        match self.limit {
            Length::Packets(packets) => self.waiting.packets >= packets,
            Length::Bytes(bytes) => self.waiting.bytes + Bytes(u64::from(size)) > bytes,
        }
    }

    /// A packet of `size` waits until `begins`, when the last before it has been sent.
    #[inline]
    pub(crate) fn wait(&mut self, size: u32, begins: Instant) {
        if self.waiting.packets == 0 {
            self.begins = begins;
        }
        self.waiting.packets += 1;
        self.waiting.bytes += Bytes(u64::from(size));
    }

    /// The size of each packet that waits, and when its transmission begins.
    pub(crate) fn beginnings<'w>(
        &self,
        wire: &'w VecDeque<Passage>,
        delay: Duration,
    ) -> impl Iterator<Item = (u32, Instant)> + 'w {
        let waiting = wire.range(wire.len() - self.waiting.packets as usize..);
        waiting.scan(self.begins, move |begins, passage| {
            // The next begins when this one has left, a propagation delay before it arrives.
            let begun = std::mem::replace(begins, passage.arrives - delay);
            Some((passage.parcel.size(), begun))
        })
    }

    /// Takes out those of `wire` whose transmission has begun by `now`: O(1) for each packet, once.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant, wire: &VecDeque<Passage>, delay: Duration) {
        while self.waiting.packets > 0 && self.begins <= now {
            let passage = &wire[wire.len() - self.waiting.packets as usize];
            self.waiting.packets -= 1;
            self.waiting.bytes -= Bytes(u64::from(passage.parcel.size()));
            // The next begins when this one has left, a propagation delay before it arrives.
            self.begins = passage.arrives - delay;
        }
    }
}
