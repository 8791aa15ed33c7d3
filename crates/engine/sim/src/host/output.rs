//! The segments of connections whose host has a profile: its queue withholds them in TCP.

use shortflow_tcp::OutputGate;
use shortflow_units::Instant;

use crate::engine::send;
use crate::host::flow::{Flow, FlowId, Side, owner};
use crate::network::fabric::Fabric;
use crate::network::index::PortId;
use crate::network::key::NodeKey;

/// An end of a connection before the queue of its host.
struct Asking<'f> {
    fabric: &'f mut Fabric,
    port: PortId,
    key: NodeKey,
    asker: u32,
    header: u16,
    /// Whether the last answer was no.
    is_refused: bool,
}

impl OutputGate for Asking<'_> {
    fn may_send(&mut self, _now: Instant, payload: u16) -> bool {
        let size = u32::from(payload) + u32::from(self.header);
        self.is_refused = !self.fabric.ask(self.port, self.key, size, self.asker);
        !self.is_refused
    }
}

/// Sends the segments of an end that may leave, if a queue withholds segments at some host.
#[inline(never)]
pub(crate) fn transmit_as_allowed(flow: &mut Flow, id: FlowId, side: Side, fabric: &mut Fabric) {
    let now = fabric.now;
    let Some(port) = fabric.asked_port(flow.ends[side].key) else {
        while let Some(segment) = flow.ends[side].tcp.poll_transmit(now) {
            send(flow, id, side, fabric, segment);
        }
        return;
    };
    loop {
        let end = &mut flow.ends[side];
        let (key, asker, header) = (end.key, owner(id, side), flow.header);
        let mut asking = Asking { fabric, port, key, asker, header, is_refused: false };
        let segment = end.tcp.poll_transmit_through(now, &mut asking);
        end.is_withheld = asking.is_refused && segment.is_none();
        let Some(segment) = segment else { return };
        send(flow, id, side, fabric, segment);
    }
}
