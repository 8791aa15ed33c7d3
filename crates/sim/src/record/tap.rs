//! Looking on: packets shown to somebody as they pass the ends of links.

use std::sync::Arc;

use shortflow_elements::{DropReason, FlowId, FlowKey, Packet};
use shortflow_measure::results;
use shortflow_scenario::NodeId;
use shortflow_tcp::Config;
use shortflow_units::Instant;

use crate::network::layout::Hop;

/// Somebody who looks at the packets that pass some links, and changes nothing.
pub trait Tap: Send {
    /// Whether it looks at this direction of a link.
    fn watches(&self, from: NodeId, to: NodeId) -> bool;

    /// A packet passes. Sights come in the order of time.
    fn see(&mut self, sight: &Sight<'_>);

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
    /// The packet.
    pub packet: &'a Packet,
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

/// Who looks on in a run, and what it must be told of the connections.
pub(crate) struct Watcher {
    pub(crate) tap: Box<dyn Tap>,
    /// The 5-tuple and the settings of each connection, by its name.
    connections: Vec<Option<(FlowKey, Arc<Config>)>>,
}

impl Watcher {
    pub(crate) fn new(tap: Box<dyn Tap>) -> Self {
        Watcher { tap, connections: Vec::new() }
    }

    /// A connection opens.
    pub(crate) fn opens(&mut self, id: FlowId, key: FlowKey, config: &Arc<Config>) {
        let index = id.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize(index + 1, None);
        }
        self.connections[index] = Some((key, Arc::clone(config)));
    }

    /// Something happens to a packet at a link.
    pub(crate) fn see(&mut self, now: Instant, hop: &Hop, event: Event, packet: &Packet) {
        // The name of a flow is given again once it is over, so the 5-tuple must be its own.
        let known = self.connections.get(packet.flow.0 as usize).and_then(Option::as_ref);
        let tcp = known
            .filter(|(key, _)| packet.key == *key || packet.key == key.reversed())
            .map(|(_, config)| &**config);
        let (from, to) = (NodeId(hop.from), NodeId(hop.to));
        self.tap.see(&Sight { now, from, to, event, packet, tcp });
    }
}
