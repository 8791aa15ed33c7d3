//! A reduction of the window that may have been without cause: nothing was lost, only late.

use shortflow_units::{Bytes, Instant};

/// What to go back to, and what has been learnt since. Round trips tell (Eifel, RFC 3522), what arrives after a timeout (F-RTO,
/// RFC 5682), and the peer's reports of what it got twice (RFC 3708 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// cwnd and ssthresh before it.
    pub(crate) window: Bytes,
    pub(crate) threshold: Bytes,
    /// When it was made, and data sent again for the first time.
    pub(crate) since: Instant,
    /// SND.UNA then, and one past what had been sent.
    pub(crate) una: u64,
    pub(crate) max: u64,
    /// Signs of congestion up to here had had their reduction before it.
    pub(crate) reduced_until: u64,
    /// New data go, and nothing that is thought to be lost, until an acknowledgement comes.
    pub(crate) new_data_first: bool,
    /// The repair is over, or what was missing was overtaken: only reports count any more.
    pub(crate) only_reports: bool,
    /// Segments sent again that the peer has not reported to have got twice; none before the first.
    pub(crate) unreported: Option<u32>,
}

impl Doubt {
    /// A segment goes again.
    pub(crate) fn on_retransmit(&mut self) {
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// The peer reports that so many `segments` up to `end` came twice. What ended before the reduction was made has nothing
    /// to do with it.
    pub(crate) fn on_report(&mut self, end: u64, segments: u32) {
        if end > self.una {
            self.unreported = self.unreported.map(|count| count.saturating_sub(segments));
        }
    }

    /// Whether all that was sent again had arrived before.
    pub(crate) fn is_refuted(&self) -> bool {
        self.unreported == Some(0)
    }

    /// Nothing but reports tells any more.
    pub(crate) fn leave_to_reports(&mut self) {
        self.only_reports = true;
        self.new_data_first = false;
    }
}
