//! Taps observe packets at the ends of links.

use shortflow_elements::DropReason;
use shortflow_measure::results;
use shortflow_packet::Packet;
use shortflow_scenario::NodeId;
use shortflow_tcp::{Config, TcpHeader};
use shortflow_units::Instant;

/// Observes packets on some links, and changes nothing.
pub trait Tap: Send {
    /// Whether it observes this direction of a link.
    fn watches(&self, from: NodeId, to: NodeId) -> bool;

    /// A packet passes. Sights are in the order of time.
    fn see(&mut self, sight: &Sight<'_>);

    /// This many packets since the last sight could not be shown.
    fn missed(&mut self, packets: u64) {
        let _ = packets;
    }

    /// The run is complete. Without this call it was abandoned.
    fn finish(self: Box<Self>) -> Result<(), results::Error>;
}

/// A packet at one end of a link.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// The time.
    pub now: Instant,
    /// The node at the near end of the link.
    pub from: NodeId,
    /// The node at the far end of the link.
    pub to: NodeId,
    /// The event.
    pub event: Event,
    /// The packet's descriptor, as elements see it.
    pub packet: &'a Packet,
    /// The packet itself, from its IP header on, as its host sent it. The current code point and ECN field
    /// are those of `packet`. `None` if packets are simulated.
    pub bytes: Option<&'a [u8]>,
    /// When its host sent it.
    pub sent_at: Instant,
    /// Its simulated TCP header; all zero for other protocols and for real packets.
    pub header: &'a TcpHeader,
    /// The settings of its TCP, while the connection exists.
    pub tcp: Option<&'a Config>,
}

/// An event of a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It arrives at the port at the near end, after conditioning by the role bound there and before the
    /// port's queue.
    Sent,
    /// It enters the node at the far end, after conditioning by the role bound there.
    Arrived,
    /// It is dropped: by the role or the queue at the near end, on the link, or by the role at the far end.
    Dropped(DropReason),
}
