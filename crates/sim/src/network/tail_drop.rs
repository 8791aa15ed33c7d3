//! The drop-tail FIFO of a plain port.

use shortflow_units::{Bytes, Length};

use crate::network::waiting::Waiting;

/// What waits under a limit.
#[derive(Debug)]
pub(crate) struct TailDrop {
    limit: Length,
    pub(crate) waiting: Waiting,
}

impl TailDrop {
    pub(crate) fn new(limit: Length) -> Self {
        TailDrop { limit, waiting: Waiting::nothing() }
    }

    /// Whether a packet of `size` must not wait.
    #[inline]
    pub(crate) fn is_full(&self, size: u32) -> bool {
        let waiting = self.waiting.backlog();
        match self.limit {
            Length::Packets(packets) => waiting.packets >= packets,
            Length::Bytes(bytes) => waiting.bytes + Bytes(u64::from(size)) > bytes,
        }
    }
}
