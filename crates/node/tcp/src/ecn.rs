//! Explicit congestion notification between two ends (RFC 3168 §6.1).

use shortflow_packet::{Ecn, TcpFlags};

use crate::EchoRule;
use crate::header::TcpHeader;

/// The ECN state of an endpoint, for both directions.
#[derive(Debug)]
pub(crate) struct EcnState {
    /// As a receiver: how marks are echoed.
    rule: EchoRule,
    /// Both ends agreed to use ECN in the handshake.
    enabled: bool,
    /// As a receiver: acknowledgements echo a mark.
    echo: bool,
    /// As a sender: the window was reduced, and the peer does not know it yet.
    reduced: bool,
    /// The end of the data that were outstanding at the last reduction. Signs of congestion up to it do not
    /// count again.
    reduced_until: u64,
}

impl EcnState {
    /// The flags of a SYN that asks for ECN (RFC 3168 §6.1.1).
    pub(crate) const REQUEST: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

    pub(crate) fn new(rule: EchoRule) -> Self {
        EcnState { rule, enabled: false, echo: false, reduced: false, reduced_until: 0 }
    }

    /// Processes a SYN that requests ECN or not, at an end that is `willing`.
    pub(crate) fn on_syn(&mut self, header: &TcpHeader, willing: bool) {
        self.enabled = willing && header.flags.has(Self::REQUEST);
    }

    /// Processes a SYN-ACK that agrees or not. If both bits are set, the peer only reflects them (RFC 3168
    /// §6.1.1).
    pub(crate) fn on_syn_ack(&mut self, header: &TcpHeader, willing: bool) {
        let agreed = header.flags.has(TcpFlags::ECE) && !header.flags.has(TcpFlags::CWR);
        self.enabled = willing && agreed;
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Processes a segment with data. Returns whether the echo changes that every acknowledgement must report
    /// exactly. Earlier data are then acknowledged with the old echo, and this segment at once (RFC 8257
    /// §3.2).
    #[inline]
    pub(crate) fn on_data(&mut self, header: &TcpHeader, mark: Ecn) -> bool {
        let is_marked = mark == Ecn::Ce && self.enabled;
        match self.rule {
            EchoRule::UntilReduced => {
                // RFC 3168 §6.1.3. A CWR is older than the mark of the same segment.
                self.echo = is_marked || (self.echo && !header.flags.has(TcpFlags::CWR));
                false
            }
            EchoRule::Exact => std::mem::replace(&mut self.echo, is_marked) != is_marked,
        }
    }

    /// Losses and echoes of data before this have already caused a reduction: there is one per window of data
    /// (RFC 3168 §6.1.2).
    pub(crate) fn reduced_until(&self) -> u64 {
        self.reduced_until
    }

    /// The window was reduced, for any reason, while data up to `sent` were outstanding.
    pub(crate) fn on_reduction(&mut self, sent: u64) {
        self.reduced = self.enabled;
        self.reduced_until = sent;
    }

    /// The last reduction was unnecessary: signs of congestion from `before` on, the end of the previous one,
    /// count again.
    pub(crate) fn take_reduction_back(&mut self, before: u64) {
        self.reduced_until = before;
    }

    /// The flags of every segment after the handshake.
    #[inline]
    pub(crate) fn flags(&self) -> TcpFlags {
        if self.echo { TcpFlags::ECE } else { TcpFlags(0) }
    }

    /// The ECN field of a segment that may be marked.
    #[inline]
    pub(crate) fn mark(&self) -> Ecn {
        if self.enabled { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// The flag and the ECN field of a segment with new data. The first one after a reduction has CWR.
    #[inline]
    pub(crate) fn on_send_new_data(&mut self) -> (TcpFlags, Ecn) {
        if !self.enabled {
            return (TcpFlags(0), Ecn::NotEct);
        }
        let flag = if self.reduced { TcpFlags::CWR } else { TcpFlags(0) };
        self.reduced = false;
        (flag, Ecn::Ect0)
    }
}
