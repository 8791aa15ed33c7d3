//! Shows packets to a tap as they pass the ends of links.

use std::sync::Arc;

use shortflow_packet::{FlowKey, FrameId, Packet};
use shortflow_run::{Event, Sight, Tap};
use shortflow_tcp::Config;
use shortflow_units::Instant;

use crate::host::flow::FlowId;
use crate::network::layout::Hop;
use crate::network::pool::Resident;

/// The tap of a run, and the state of connections that it needs.
pub(crate) struct Watcher {
    pub(crate) tap: Box<dyn Tap>,
    /// The 5-tuple and the settings of each connection, by its name.
    connections: Vec<Option<(FlowKey, Arc<Config>)>>,
    /// Hosts are outside the simulator, and have names for packets.
    is_live: bool,
}

impl Watcher {
    pub(crate) fn new(tap: Box<dyn Tap>) -> Self {
        Watcher { tap, connections: Vec::new(), is_live: false }
    }

    /// From now on packets are shown with their hosts' names for them.
    pub(crate) fn show_names(&mut self) {
        self.is_live = true;
    }

    /// A connection opens.
    pub(crate) fn opens(&mut self, id: FlowId, key: FlowKey, config: &Arc<Config>) {
        let index = id.index();
        if self.connections.len() <= index {
            self.connections.resize(index + 1, None);
        }
        self.connections[index] = Some((key, Arc::clone(config)));
    }

    /// An event of a packet at a link. Elements see it as `packet`.
    pub(crate) fn see(
        &mut self,
        now: Instant,
        hop: &Hop,
        event: Event,
        resident: &Resident,
        packet: &Packet,
    ) {
        // A flow index is reused after the flow ends, so the 5-tuple must match.
        let known = self.connections.get(resident.flow.index()).and_then(Option::as_ref);
        let tcp = known
            .filter(|(key, _)| packet.key == *key || packet.key == key.reversed())
            .map(|(_, config)| &**config);
        let (from, to) = (hop.from, hop.to);
        let Resident { sent_at, tcp: ref header, .. } = *resident;
        let name = if self.is_live { FrameId::new(resident.flow.0) } else { None };
        let packet = &Packet { bytes: name, ..*packet };
        self.tap.see(&Sight { now, from, to, event, packet, bytes: None, sent_at, header, tcp });
    }
}
