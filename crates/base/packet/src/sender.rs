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
    /// The object to which the packet belongs, if the application reports where objects start.
    pub object: Option<ObjectView>,
    /// Whether the connection carries the reply to a byte-range request (RFC 9110 §14).
    pub is_range: bool,
    /// The code point of the last data packet, SYN or FIN from the peer.
    pub received_dscp: Option<Dscp>,
    /// The connection's label.
    pub label: Label,
}

/// A packet's position in an object: a part of what a connection sends, such as one reply of several (Noureddine & Tobagi
/// 2002, §6.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectView {
    /// Bytes of the object before this packet. A retransmission has the position of the first transmission.
    pub sent: Bytes,
    /// How many of the application's thresholds the packet has reached, from 0 on. `None` if the application sets none, so
    /// that the policy's apply.
    pub level: Option<u8>,
}

impl ObjectView {
    /// The level of a packet that has reached all thresholds: the last level of the policy.
    pub const LAST: u8 = 64;

    /// A packet at `sent` bytes of an object with these `thresholds`: the bytes of the first level, of the first two, and so on.
    pub fn new(sent: Bytes, thresholds: &[Bytes]) -> ObjectView {
        let reached = thresholds.iter().filter(|threshold| **threshold <= sent).count();
        let level = if reached == thresholds.len() { ObjectView::LAST } else { reached as u8 };
        ObjectView { sent, level: (!thresholds.is_empty()).then_some(level) }
    }
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
