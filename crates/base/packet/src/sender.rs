//! What a source host's kernel reports about the TCP that sends a packet.

use shortflow_units::{Bytes, Duration};

use crate::{Dscp, FlowKey};

/// The phase of a sender's congestion control (RFC 5681 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The connection is opening.
    #[default]
    Handshake,
    /// Slow start.
    SlowStart,
    /// Congestion avoidance.
    CongestionAvoidance,
    /// Fast recovery.
    FastRecovery,
    /// After a retransmission timeout, until the data outstanding then are acknowledged.
    LossRecovery,
}

/// The label of a connection, such as `telnet`: the number of that name in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(pub u16);

impl Label {
    /// A label that the policy does not mention.
    pub const NONE: Label = Label(0);
}

/// A marker's read-only view of the sending TCP, from a source host's kernel. Unknown values are `None`, and
/// elements work without them: a datagram has only a label. A simulated host knows all values. A Linux kernel
/// provides the window, the phase, the round-trip time and the bytes sent of a socket (`tcp_info`), but not
/// whether a packet is a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderView {
    /// The send window: the smaller of congestion and receive window, in segments.
    pub window_segments: Option<u32>,
    /// The phase of congestion control.
    pub phase: Option<Phase>,
    /// Whether this packet is a retransmission.
    pub is_retransmission: Option<bool>,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<Duration>,
    /// Application bytes that were sent at least once before this packet.
    pub sent: Bytes,
    /// Application bytes that were never sent before this packet, unless the stream is endless: the rest of
    /// the written messages.
    pub remaining: Option<Bytes>,
    /// The code point of the last data packet, SYN or FIN from the peer.
    pub received_dscp: Option<Dscp>,
    /// The connection's label.
    pub label: Label,
}

/// A report about a connection from a source host's kernel to its queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderUpdate {
    /// The 5-tuple of the packets that the connection sends.
    pub key: FlowKey,
    /// The event.
    pub event: SenderEvent,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<Duration>,
}

/// An event at a connection that may allow others to send (Mehra, Tewari & Kandlur 1999, §6.2, §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderEvent {
    /// New data are acknowledged, and more data wait to be sent.
    Acknowledgement,
    /// New data are acknowledged, and no data wait to be sent.
    IdleAcknowledgement,
    /// A duplicate acknowledgement arrived.
    DuplicateAcknowledgement,
    /// The application has written data, and the window is closed.
    ClosedWindow,
    /// A connection is new. A queue detects it at the connection's first packet.
    NewConnection,
}

impl SenderEvent {
    /// All events, in the order of their numbers.
    pub const ALL: [SenderEvent; 5] = [
        SenderEvent::Acknowledgement,
        SenderEvent::IdleAcknowledgement,
        SenderEvent::DuplicateAcknowledgement,
        SenderEvent::ClosedWindow,
        SenderEvent::NewConnection,
    ];

    /// The counter's name in results, for events that were triggers.
    pub const fn trigger(self) -> &'static str {
        match self {
            SenderEvent::Acknowledgement => "triggers: acknowledgement",
            SenderEvent::IdleAcknowledgement => "triggers: acknowledgement with nothing to send",
            SenderEvent::DuplicateAcknowledgement => "triggers: duplicate acknowledgement",
            SenderEvent::ClosedWindow => "triggers: data with a closed window",
            SenderEvent::NewConnection => "triggers: new connection",
        }
    }
}
