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

/// A transfer: a connection that carried a request and its reply. Of one that is not complete, the
/// times of the parts that it did not reach are zero.
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
    /// How many of these had reached the client, of a transfer that is not complete.
    pub carried_bytes: u64,
    /// Between whom it ran.
    pub ends: Ends,
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

/// Between whom a transfer runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// The index of the node that asked.
    pub client: u32,
    /// The index of the node that answered.
    pub server: u32,
    /// The client's port; 0 where several connections carried it, as those of a page.
    pub client_port: u16,
    /// The server's port, likewise.
    pub server_port: u16,
}

/// What had become of a transfer by the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferState {
    /// Its last byte had come.
    Completed,
    /// It was under way.
    Open,
    /// One of its ends had given it up.
    Failed,
}

impl TransferState {
    /// Its name in `transfers-*.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            TransferState::Completed => "completed",
            TransferState::Open => "open",
            TransferState::Failed => "failed",
        }
    }
}

impl Transfer {
    /// From the opening of the connection to the last byte of the reply; the close is not counted.
    /// Of a complete transfer only.
    pub fn completion(&self) -> Duration {
        self.handshake + self.request + self.reply
    }
}
