//! DropTail: first in, first out; what does not fit is dropped.

use shortflow_units::{Instant, Length};

use super::ring::{Ring, checked_limit};
use crate::{Backlog, DropReason, Drops, Packet, ParamsError, QueueDiscipline, Queued};

/// Parameters of a [`Fifo`].
#[derive(Debug, Clone)]
pub struct FifoParams {
    limit: Length,
}

impl FifoParams {
    /// A queue that holds at most `limit`, not counting the packet in transmission.
    pub fn new(limit: Length) -> Result<Self, ParamsError> {
        Ok(FifoParams { limit: checked_limit(limit)? })
    }

    /// What the queue holds.
    pub fn limit(&self) -> Length {
        self.limit
    }
}

/// A first-in-first-out queue. A packet that does not fit is dropped as
/// [`DropReason::Overlimit`]. The packet in transmission is not in the queue. O(1) per packet.
#[derive(Debug)]
pub struct Fifo {
    ring: Ring,
}

impl Fifo {
    /// An empty queue.
    pub fn new(params: FifoParams) -> Self {
        Fifo { ring: Ring::new(params.limit) }
    }
}

impl QueueDiscipline for Fifo {
    fn reserve(&mut self, packets: usize, _flows: usize) {
        self.ring.reserve(packets);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        if self.ring.has_room_for(&packet) {
            self.ring.push(now, packet);
        } else {
            drops.push(packet, DropReason::Overlimit);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops) -> Option<Queued> {
        self.ring.pop()
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.ring.ready_at()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }
}
