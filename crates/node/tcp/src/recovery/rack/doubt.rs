//! A reduction of the window that may be unnecessary: segments were late, not lost.

use shortflow_units::{Bytes, Instant};

/// The state to restore, and the evidence so far. Evidence comes from round trips (Eifel, RFC 3522), from
/// data that arrive after a timeout (F-RTO, RFC 5682), and from the peer's reports of duplicates (RFC 3708
/// §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// cwnd and ssthresh before it.
    pub(crate) window: Bytes,
    pub(crate) threshold: Bytes,
    /// When data were first retransmitted: when the window was reduced, or before if repairs were in flight.
    pub(crate) since: Instant,
    /// SND.UNA at that time, and the end of the data sent.
    pub(crate) una: u64,
    pub(crate) max: u64,
    /// Signs of congestion up to here had caused an earlier reduction.
    pub(crate) reduced_until: u64,
    /// New data are sent, instead of presumed losses, until an acknowledgement arrives.
    pub(crate) new_data_first: bool,
    /// Recovery is over, or later data arrived before the missing ones: only reports count now.
    pub(crate) only_reports: bool,
    /// Retransmitted segments that the peer has not reported as duplicates; `None` before the first.
    pub(crate) unreported: Option<u32>,
}

impl Doubt {
    /// A segment is retransmitted.
    pub(crate) fn on_retransmit(&mut self) {
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// The peer reports this many duplicate `segments` up to `end`. Data that ended before the reduction do
    /// not count.
    pub(crate) fn on_report(&mut self, end: u64, segments: u32) {
        if end > self.una {
            self.unreported = self.unreported.map(|count| count.saturating_sub(segments));
        }
    }

    /// Whether all retransmissions were duplicates.
    pub(crate) fn is_refuted(&self) -> bool {
        self.unreported == Some(0)
    }

    /// From now on only reports count.
    pub(crate) fn leave_to_reports(&mut self) {
        self.only_reports = true;
        self.new_data_first = false;
    }
}
