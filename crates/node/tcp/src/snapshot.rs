//! The state of a sender at an instant, for time series.

use shortflow_units::{Bytes, Duration};

use crate::congestion::CongestionControl;
use crate::{Connection, LossPhase};

/// The state of the sending half of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderSnapshot {
    /// The congestion window, without the temporary inflation of fast recovery.
    pub window: Bytes,
    /// ssthresh; `None` before the first reduction of the window, and with congestion controls that have none.
    pub threshold: Option<Bytes>,
    /// SRTT; zero before the first sample.
    pub smoothed_rtt: Duration,
    /// RTTVAR.
    pub rtt_variation: Duration,
    /// The retransmission timeout, with its back-off.
    pub rto: Duration,
    /// A full segment.
    pub segment: Bytes,
    /// Data sent and not acknowledged, SYN and FIN as one byte each.
    pub outstanding: Bytes,
    /// The part of them that is sent again after a timeout, and has not been yet.
    pub lost: Bytes,
    /// The phase of loss recovery.
    pub phase: LossPhase,
}

impl Connection {
    /// The state of its sending half.
    pub fn snapshot(&self) -> SenderSnapshot {
        let sender = &self.sender;
        // An unset threshold is the greatest number of its type.
        let is_set = |threshold: &Bytes| threshold.0 < u64::from(u32::MAX);
        SenderSnapshot {
            window: sender.congestion.window(),
            threshold: sender.congestion.threshold().filter(is_set),
            smoothed_rtt: sender.rtt.smoothed().unwrap_or(Duration::ZERO),
            rtt_variation: sender.rtt.variation(),
            rto: sender.rtt.rto(),
            segment: Bytes(u64::from(sender.mss)),
            outstanding: Bytes(sender.max - sender.una),
            lost: Bytes(sender.max.saturating_sub(sender.next)),
            phase: sender.recovery.phase(),
        }
    }
}
