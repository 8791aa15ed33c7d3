//! The states of a connection (RFC 9293 §3.3.2, figure 5).

/// Which end opens the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Active,
    /// Waits for a SYN.
    Passive,
}

/// The states of RFC 9293 §3.3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No connection: not yet opened, or over.
    #[default]
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent, SYN-ACK awaited.
    SynSent,
    /// SYN received and SYN-ACK sent, its acknowledgement awaited.
    SynReceived,
    /// Open both ways.
    Established,
    /// FIN sent, its acknowledgement or the peer's FIN awaited.
    FinWait1,
    /// FIN acknowledged, the peer's FIN awaited.
    FinWait2,
    /// The peer's FIN received; this end may still send.
    CloseWait,
    /// Both FINs crossed; the acknowledgement of ours awaited.
    Closing,
    /// The peer closed first, then this end sent its FIN; its acknowledgement awaited.
    LastAck,
    /// Closed, but waiting to acknowledge a repeated FIN.
    TimeWait,
}

impl State {
    /// Whether both sequence numbers are known (RFC 9293 §3.5.2, group 3 of the reset rules).
    pub fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether data or a FIN may still be sent or retransmitted.
    #[inline]
    pub(crate) fn may_transmit(self) -> bool {
        matches!(
            self,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        )
    }

    pub(crate) fn after_fin_sent(self) -> State {
        match self {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        }
    }

    pub(crate) fn after_fin_acknowledged(self) -> State {
        match self {
            State::FinWait1 => State::FinWait2,
            State::Closing => State::TimeWait,
            State::LastAck => State::Closed,
            other => other,
        }
    }

    /// The peer's first FIN arrived, in ESTABLISHED or one of the FIN-WAIT states.
    pub(crate) fn after_fin_received(self) -> State {
        match self {
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            _ => State::CloseWait,
        }
    }
}

/// Why a connection ended without both FINs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The peer sent a reset.
    Reset,
    /// This end reached the limit on retries.
    TimedOut,
    /// The application aborted.
    Aborted,
}
