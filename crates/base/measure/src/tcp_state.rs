//! The state of a connection's sender at an instant, as a kernel reports it.

use shortflow_units::{Duration, Instant};

use crate::Ends;

/// How a sender stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpState {
    /// What its congestion control is about.
    pub phase: Phase,
    /// The congestion window, in segments.
    pub window: u32,
    /// The slow start threshold, in segments; none before the first loss.
    pub threshold: Option<u32>,
    /// The smoothed round-trip time.
    pub round_trip: Duration,
    /// The mean deviation of the round-trip time.
    pub variation: Duration,
    /// The retransmission timeout.
    pub timeout: Duration,
    /// Bytes of a full segment.
    pub segment: u32,
    /// Segments sent and not acknowledged.
    pub outstanding: u32,
    /// Segments of these that the sender takes for lost.
    pub lost: u32,
    /// Segments sent again since the connection began, SYNs included.
    pub retransmissions: u32,
    /// Segments delivered since the connection began; `None` if the kernel does not report it.
    pub delivered: Option<u32>,
    /// Segments of these that were acknowledged with a mark of congestion.
    pub marked: Option<u32>,
    /// Retransmission timeouts since the connection began, those of SYNs included.
    pub timeouts: Option<u32>,
}

/// What a sender's congestion control is about, by the names of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is amiss.
    #[default]
    Open,
    /// There were duplicate acknowledgements, or a SACK: something is late or lost.
    Disorder,
    /// The window is being reduced, as after a mark of congestion.
    Reduced,
    /// Lost segments are being sent again.
    Recovery,
    /// The same after a timeout.
    Loss,
}

impl Phase {
    /// Its name in `tcp-info-*.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Disorder => "disorder",
            Phase::Reduced => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
}

/// Why one looked at a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// It was time to.
    Interval,
    /// A transfer over it is complete.
    Completed,
    /// It broke, or its transfer was given up.
    Failed,
    /// The run ended while it was open.
    Open,
}

impl Occasion {
    /// Its name in `tcp-info-*.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Occasion::Interval => "interval",
            Occasion::Completed => "completed",
            Occasion::Failed => "failed",
            Occasion::Open => "open",
        }
    }
}

/// A look at the sender of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSample {
    /// When.
    pub at: Instant,
    /// Why.
    pub occasion: Occasion,
    /// The row of results for which the connection counts, by its index.
    pub workload: u16,
    /// The transfer that it carries, by its number in `transfers-*.csv`; `None` if it carries several, or one that is
    /// not listed there.
    pub id: Option<u64>,
    /// Between whom it runs.
    pub ends: Ends,
    /// Whether the server is the sender, or the client.
    pub is_server: bool,
    /// How the sender stands.
    pub state: TcpState,
}
