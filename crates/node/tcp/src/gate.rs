//! A gate before TCP's output: a profile of the host that segments must conform to (Mehra, Tewari & Kandlur
//! 1999, §4.1 and §6.1).
//!
//! ```text
//! windows, pace ──▶ is there a segment to send? ──▶ gate ──▶ sent: in flight, timed
//!                                                    └ wait: unsent, as if the window were closed
//! ```

use shortflow_units::Instant;

/// Decides whether a connection may send a segment now. TCP asks about every segment: new data,
/// retransmissions, probes, acknowledgements, SYN, FIN and RST. It asks last, when windows and pacing already
/// allow the segment.
pub trait OutputGate {
    /// Whether a segment of `payload` bytes may leave at `now`. If so, the connection sends it at once.
    fn may_send(&mut self, now: Instant, payload: u16) -> bool;
}

/// A host without a profile.
pub(crate) struct Open;

impl OutputGate for Open {
    #[inline(always)]
    fn may_send(&mut self, _now: Instant, _payload: u16) -> bool {
        true
    }
}

/// What delays the next segment. One byte, because each connection has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delayed {
    /// The application, the peer's window, or a gate before new data.
    ByEnds,
    /// Only the congestion window, or pacing.
    ByWindow,
    /// A gate, before a retransmission or a probe.
    ByGate,
    /// The same, and new data were acknowledged meanwhile, so nobody wants it any more.
    InVain,
}

impl Delayed {
    #[inline]
    pub(crate) fn by_window(is_full: bool) -> Self {
        if is_full { Delayed::ByWindow } else { Delayed::ByEnds }
    }

    /// When SND.UNA advances.
    #[inline]
    pub(crate) fn after_advance(self) -> Self {
        if self == Delayed::ByGate { Delayed::InVain } else { self }
    }

    /// When a gate is asked again, or something else is sent first.
    pub(crate) fn without_gate(self) -> Self {
        Delayed::by_window(self == Delayed::ByWindow)
    }
}
