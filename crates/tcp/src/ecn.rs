//! Explicit congestion notification between two ends (RFC 3168 §6.1).

use shortflow_elements::{Ecn, TcpFlags};

use crate::EchoRule;
use crate::header::TcpHeader;

/// What an endpoint remembers about ECN, in both of its directions.
#[derive(Debug)]
pub(crate) struct EcnState {
    /// As a receiver: how marks are echoed.
    rule: EchoRule,
    /// Both ends agreed in the handshake.
    enabled: bool,
    /// As a receiver: acknowledgements say that a mark came.
    echo: bool,
    /// As a sender: the window was reduced, and the peer is not yet told.
    reduced: bool,
    /// What was outstanding at the last reduction ends here; signs of congestion up to it are not
    /// news.
    reduced_until: u64,
}

impl EcnState {
    /// The flags of a SYN that asks for ECN (RFC 3168 §6.1.1).
    pub(crate) const REQUEST: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

    pub(crate) fn new(rule: EchoRule) -> Self {
        EcnState { rule, enabled: false, echo: false, reduced: false, reduced_until: 0 }
    }

    /// A SYN asked for ECN, or did not, of an end that is `willing`.
    pub(crate) fn on_syn(&mut self, header: &TcpHeader, willing: bool) {
        self.enabled = willing && header.flags.has(Self::REQUEST);
    }

    /// A SYN-ACK agreed, or did not. One with both bits set comes from an end that only reflects
    /// them (RFC 3168 §6.1.1).
    pub(crate) fn on_syn_ack(&mut self, header: &TcpHeader, willing: bool) {
        let agreed = header.flags.has(TcpFlags::ECE) && !header.flags.has(TcpFlags::CWR);
        self.enabled = willing && agreed;
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// A segment with data came. Whether the echo changes that every acknowledgement has to tell exactly:
    /// then what came before is acknowledged with the echo that held until now, and this segment at once
    /// (RFC 8257 §3.2).
    #[inline]
    pub(crate) fn on_data(&mut self, header: &TcpHeader, mark: Ecn) -> bool {
        let is_marked = mark == Ecn::Ce && self.enabled;
        match self.rule {
            EchoRule::UntilReduced => {
                // RFC 3168 §6.1.3. A CWR is older news than the mark of the same segment.
                self.echo = is_marked || (self.echo && !header.flags.has(TcpFlags::CWR));
                false
            }
            EchoRule::Exact => std::mem::replace(&mut self.echo, is_marked) != is_marked,
        }
    }

    /// Losses and echoes of data before this have had their reduction: there is one for each window
    /// of data (RFC 3168 §6.1.2).
    pub(crate) fn reduced_until(&self) -> u64 {
        self.reduced_until
    }

    /// The window was reduced, for whatever reason, when data up to `sent` were outstanding.
    pub(crate) fn on_reduction(&mut self, sent: u64) {
        self.reduced = self.enabled;
        self.reduced_until = sent;
    }

    /// The last reduction was without cause: signs of congestion from `before` on, where the one before it ended, are
    /// news again.
    pub(crate) fn take_reduction_back(&mut self, before: u64) {
        self.reduced_until = before;
    }

    /// The flags that go on every segment after the handshake.
    #[inline]
    pub(crate) fn flags(&self) -> TcpFlags {
        if self.echo { TcpFlags::ECE } else { TcpFlags(0) }
    }

    /// The mark of a segment that may be marked.
    #[inline]
    pub(crate) fn mark(&self) -> Ecn {
        if self.enabled { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// The flag and the mark of a segment with new data; the first after a reduction says so.
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
