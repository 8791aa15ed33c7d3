//! Reports about connections from hosts to the queues at their ports. Few queues need them.

use shortflow_packet::{SenderEvent, SenderUpdate};
use shortflow_tcp::Connection;

use crate::host::flow::{Endpoint, Flow, Side};
use crate::network::fabric::Fabric;

/// The amounts that a connection has written, sent and had acknowledged, for a later comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    /// Bytes of the application.
    acknowledged: u64,
    sent: u64,
    /// `None` if the stream is endless, or if there is certainly more by now.
    written: Option<u64>,
}

impl Before {
    pub(crate) fn new(tcp: &Connection) -> Self {
        let view = tcp.sender_view();
        Before {
            acknowledged: tcp.acknowledged(),
            written: view.remaining.map(|remaining| view.sent.0 + remaining.0),
            sent: view.sent.0,
        }
    }

    /// The same, if the application has just written data.
    pub(crate) fn writing(tcp: &Connection) -> Self {
        Before { written: None, ..Before::new(tcp) }
    }

    /// The meaning of a segment, which the connection has processed, to the sender. A bare one acknowledges
    /// and has no data.
    fn heard(&self, tcp: &Connection, is_bare: bool) -> Option<SenderEvent> {
        let view = tcp.sender_view();
        let acknowledged = tcp.acknowledged();
        if acknowledged > self.acknowledged {
            let is_idle = view.remaining.is_some_and(|remaining| remaining.0 == 0);
            return Some(match is_idle {
                true => SenderEvent::IdleAcknowledgement,
                false => SenderEvent::Acknowledgement,
            });
        }
        // RFC 5681 §2, except for the window, which never changes here.
        (is_bare && view.sent.0 > acknowledged).then_some(SenderEvent::DuplicateAcknowledgement)
    }

    /// Whether the application has written data since then, and the window allows none of it.
    fn is_held_back(&self, tcp: &Connection) -> bool {
        let view = tcp.sender_view();
        let written = view.remaining.map(|remaining| view.sent.0 + remaining.0);
        written > self.written
            && view.remaining.is_some_and(|remaining| remaining.0 > 0)
            && view.sent.0 == self.sent
            && tcp.is_established()
    }
}

/// Reports a segment that arrived at `side`, before its reply is sent.
pub(crate) fn notify_of_segment(
    fabric: &mut Fabric,
    flow: &Flow,
    side: Side,
    before: Before,
    is_bare: bool,
) {
    if let Some(event) = before.heard(&flow.ends[side].tcp, is_bare) {
        tell(fabric, flow, side, event);
    }
}

/// Reports data written since `before` that a closed window holds back.
pub(crate) fn notify_if_blocked(fabric: &mut Fabric, flow: &Flow, side: Side, before: &Before) {
    let end = &flow.ends[side];
    if !end.is_withheld && before.is_held_back(&end.tcp) {
        tell(fabric, flow, side, SenderEvent::ClosedWindow);
    }
}

fn tell(fabric: &mut Fabric, flow: &Flow, side: Side, event: SenderEvent) {
    let Endpoint { key, tcp, .. } = &flow.ends[side];
    let (outlet, _) = fabric.outlet(key.src, key.dst);
    let smoothed_rtt = tcp.smoothed_rtt();
    fabric.tell(
        outlet,
        &SenderUpdate { key: key.flow_key(&fabric.pool.addresses), event, smoothed_rtt },
    );
}
