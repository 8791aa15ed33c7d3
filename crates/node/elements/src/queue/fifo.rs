//! Drop-tail FIFO.

use shortflow_units::{Instant, Length};

use super::gated::Gated;
use super::ring::{checked_limit, fits_sized};
use crate::{Arrival, Backlog, DropReason, Gate, ParamsError, Verdict};

/// Parameters of a [`Fifo`].
#[derive(Debug, Clone)]
pub struct FifoParams {
    limit: Length,
}

impl FifoParams {
    /// A queue with this `limit`, not counting the packet in transmission.
    pub fn new(limit: Length) -> Result<Self, ParamsError> {
        Ok(FifoParams { limit: checked_limit(limit)? })
    }

    /// The limit of the queue.
    pub fn limit(&self) -> Length {
        self.limit
    }
}

/// A first-in-first-out queue. A packet that does not fit is dropped as
/// [`DropReason::Overlimit`]. The packet in transmission is not in the queue. O(1) per packet.
pub type Fifo = Gated<TailDrop>;

impl Fifo {
    /// An empty queue.
    pub fn new(params: FifoParams) -> Self {
        Gated::behind(TailDrop::new(params))
    }
}

/// The gate of a [`Fifo`]: accepts packets that fit.
#[derive(Debug)]
pub struct TailDrop {
    limit: Length,
    backlog: Backlog,
}

impl TailDrop {
    /// A gate before an empty queue.
    pub fn new(params: FifoParams) -> Self {
        TailDrop { limit: params.limit, backlog: Backlog::default() }
    }
}

impl Gate for TailDrop {
    #[inline]
    fn admit(&mut self, _now: Instant, packet: Arrival) -> Verdict {
        if !fits_sized(self.limit, self.backlog, packet.bytes()) {
            return Verdict::Drop(DropReason::Overlimit);
        }
        self.backlog.add_sized(packet.bytes());
        Verdict::Pass
    }

    #[inline]
    fn begin(&mut self, _now: Instant, _left_at: Instant, packet: Arrival) {
        self.backlog.remove_sized(packet.bytes());
    }

    fn limit(&self) -> Length {
        self.limit
    }
}
