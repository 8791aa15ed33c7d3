//! How much a sender may have in flight.

mod aimd;
mod controller;
mod cubic;

use std::fmt;

use shortflow_units::{Bytes, Duration, Instant};

pub use aimd::Aimd;
pub(crate) use controller::Controller;
pub use cubic::Cubic;

/// What an acknowledgement of new data tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub acknowledged: Bytes,
    /// By how much slow start opens the window: the bytes acknowledged, up to L segments (RFC 3465
    /// §2.2).
    pub slow_start_increase: Bytes,
    /// Bytes in flight before it came.
    pub in_flight: Bytes,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<Duration>,
}

/// Signs of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Duplicate acknowledgements or SACK blocks show a loss.
    Loss,
    /// An ECN echo.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
    /// It expired again for a segment that it had sent again before.
    RepeatedTimeout,
}

/// Decides the congestion window. Knows nothing of segments, recovery or timers.
pub trait CongestionControl: fmt::Debug + Send {
    /// An acknowledgement of new data came while the window was what held the sender back.
    /// Not called during fast recovery.
    fn on_ack(&mut self, now: Instant, ack: &Ack);

    /// A sign of congestion came while `in_flight` (FlightSize of RFC 5681) was outstanding.
    /// Called once per window of data.
    fn on_congestion(&mut self, now: Instant, event: Congestion, in_flight: Bytes);

    /// Lowers the window to `limit` when it is above: after a lost SYN, after idleness, and where
    /// a burst would follow recovery. The slow-start threshold stays.
    fn cap_window(&mut self, limit: Bytes);

    /// The congestion window; at least one full segment.
    fn window(&self) -> Bytes;

    /// Whether the window is below the slow-start threshold.
    fn is_slow_start(&self) -> bool;
}
