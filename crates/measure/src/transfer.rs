//! The record of one transfer.

use shortflow_units::{Duration, Instant};

/// The colours by which a transfer's packets are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TransferColor {
    /// Within the committed profile.
    Green = 0,
    /// Above the committed profile.
    Yellow = 1,
    /// Above every profile.
    Red = 2,
    /// Never metered: best effort and the like.
    Other = 3,
}

/// A completed transfer: a connection that carried a request and its reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transfer {
    /// The workload's index in the plan.
    pub workload: u16,
    /// The transfer's number within the replica.
    pub id: u64,
    /// When the client opened the connection.
    pub start: Instant,
    /// From the opening until the client's request could leave.
    pub handshake: Duration,
    /// From there until the server had the whole request.
    pub request: Duration,
    /// From there until the client had the last byte of the reply.
    pub reply: Duration,
    /// Bytes of the request, without headers.
    pub request_bytes: u64,
    /// Bytes of the reply, without headers.
    pub reply_bytes: u64,
    /// Segments sent again, both directions.
    pub retransmissions: u32,
    /// Retransmission timeouts with data outstanding, both directions; not those of SYNs.
    pub timeouts: u32,
    /// SYNs and SYN-ACKs sent again.
    pub syn_retransmissions: u32,
    /// Packets sent, both directions.
    pub sent: u32,
    /// Packets dropped, both directions.
    pub dropped: u32,
    /// Packets sent as green, yellow, red and other (see [`TransferColor`]), both directions.
    pub colors: [u32; 4],
}

/// A transfer that was not complete at the end of the run: still open, or given up by then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// The workload's index in the plan.
    pub workload: u16,
    /// When it began.
    pub start: Instant,
    /// Bytes of its reply, without headers.
    pub reply_bytes: u64,
    /// How many of these had reached the client.
    pub carried_bytes: u64,
}

impl Transfer {
    /// From the opening of the connection to the last byte of the reply; the close is not counted.
    pub fn completion(&self) -> Duration {
        self.handshake + self.request + self.reply
    }
}
