//! Looking on: packets shown to somebody as they pass the ends of links.

use shortflow_elements::{DropReason, Packet};
use shortflow_measure::results;
use shortflow_scenario::NodeId;
use shortflow_tcp::{Config, TcpHeader};
use shortflow_units::Instant;

/// Somebody who looks at the packets that pass some links, and changes nothing.
pub trait Tap: Send {
    /// Whether it looks at this direction of a link.
    fn watches(&self, from: NodeId, to: NodeId) -> bool;

    /// A packet passes. Sights come in the order of time.
    fn see(&mut self, sight: &Sight<'_>);

    /// So many packets have passed since the last sight that could not be shown.
    fn missed(&mut self, packets: u64) {
        let _ = packets;
    }

    /// The run is complete. Without this call it was abandoned.
    fn finish(self: Box<Self>) -> Result<(), results::Error>;
}

/// A packet at one end of a link.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// When.
    pub now: Instant,
    /// The node at the link's near end.
    pub from: NodeId,
    /// The node at the link's far end.
    pub to: NodeId,
    /// What happens to the packet.
    pub event: Event,
    /// What elements see of the packet.
    pub packet: &'a Packet,
    /// The packet itself, from its IP header on, as its host sent it: its code point and its ECN field are
    /// those of `packet` by now. None where packets are simulated.
    pub bytes: Option<&'a [u8]>,
    /// When its host sent it.
    pub sent_at: Instant,
    /// Its header of TCP as it is simulated; all zero when the protocol is another, or the packet has bytes.
    pub header: &'a TcpHeader,
    /// The settings of its TCP, as long as the connection is there.
    pub tcp: Option<&'a Config>,
}

/// What happens to a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It is handed to the port at the near end, after the role bound there has conditioned it and
    /// before the port's queue.
    Sent,
    /// It enters the node at the far end, after the role bound there has conditioned it.
    Arrived,
    /// It goes no further: by the role or the queue at the near end, on the link, or by the role at
    /// the far end.
    Dropped(DropReason),
}
