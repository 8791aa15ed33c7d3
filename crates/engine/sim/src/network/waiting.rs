//! The waiting packets among those with fixed departures: the last ones on a port's wire.

use std::collections::VecDeque;

use shortflow_elements::Backlog;
use shortflow_units::{Bytes, Duration, Instant, Length};

use crate::network::pool::Parcel;
use crate::network::port::Passage;

/// How much waits, and until when the first packet waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    backlog: Backlog,
    /// When the transmission of the first waiting packet begins; `NEVER` if none waits.
    begins: Instant,
}

impl Waiting {
    pub(crate) fn nothing() -> Self {
        Waiting { backlog: Backlog::default(), begins: Instant::NEVER }
    }

    /// The waiting packets, as of the last [`begin`](Self::begin).
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Whether a further packet of `size` fits under `limit`.
    #[inline]
    pub(crate) fn has_room(&self, limit: Length, size: u32) -> bool {
        match limit {
            Length::Packets(packets) => self.backlog.packets < packets,
            Length::Bytes(bytes) => self.backlog.bytes + Bytes(u64::from(size)) <= bytes,
        }
    }

    /// A packet of `size` waits until `begins`, when the previous one has been sent.
    #[inline]
    pub(crate) fn push(&mut self, size: u32, begins: Instant) {
        self.begins = self.begins.min(begins);
        self.backlog.add_sized(Bytes(u64::from(size)));
    }

    /// The first waiting packet, as of the last [`begin`](Self::begin).
    #[inline]
    pub(crate) fn first<'w>(&self, wire: &'w VecDeque<Passage>) -> Option<&'w Passage> {
        wire.get(wire.len() - self.backlog.packets as usize)
    }

    /// The sizes and transmission times of the waiting packets.
    pub(crate) fn beginnings<'w>(
        &self,
        wire: &'w VecDeque<Passage>,
        delay: Duration,
    ) -> impl Iterator<Item = (u32, Instant)> + 'w {
        let waiting = wire.range(wire.len() - self.backlog.packets as usize..);
        waiting.scan(self.begins, move |begins, passage| {
            // The next transmission begins when this packet has left, one propagation delay before it
            // arrives.
            let begun = std::mem::replace(begins, passage.arrives - delay);
            Some((passage.parcel.size(), begun))
        })
    }

    /// Removes the packets of `wire` whose transmission has begun by `now`, and reports each with the start
    /// and the end of its transmission: O(1) per packet, once.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        wire: &VecDeque<Passage>,
        delay: Duration,
        mut begun: impl FnMut(Instant, Instant, &Parcel),
    ) {
        while self.begins <= now {
            let passage = &wire[wire.len() - self.backlog.packets as usize];
            self.backlog.remove_sized(Bytes(u64::from(passage.parcel.size())));
            // The next transmission begins when this packet has left, one propagation delay before it
            // arrives.
            let ends = passage.arrives - delay;
            let next_begins = if self.backlog.packets > 0 { ends } else { Instant::NEVER };
            begun(std::mem::replace(&mut self.begins, next_begins), ends, &passage.parcel);
        }
    }
}
