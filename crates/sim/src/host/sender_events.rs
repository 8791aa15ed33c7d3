//! What hosts tell the queues at their ports of the connections behind them. Few queues want to know.

use shortflow_elements::{SenderEvent, SenderUpdate};
use shortflow_tcp::Connection;

use crate::host::flow::{Endpoint, Flow, Side};
use crate::network::fabric::Fabric;

/// What a connection has handed in, sent and had acknowledged, to be compared with what it has later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    /// Bytes of the application.
    acknowledged: u64,
    sent: u64,
    /// None where there is no end, or where there is more by now for certain.
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

    /// The same where the application has just handed in data.
    pub(crate) fn writing(tcp: &Connection) -> Self {
        Before { written: None, ..Before::new(tcp) }
    }

    /// What a segment, of which the connection knows by now, was to the sender. A bare one acknowledges and
    /// has no data.
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
        // RFC 5681 §2, but for the window, which is never changed here.
        (is_bare && view.sent.0 > acknowledged).then_some(SenderEvent::DuplicateAcknowledgement)
    }

    /// Whether the application has handed in data since then, and the window let none of it go.
    fn is_held_back(&self, tcp: &Connection) -> bool {
        let view = tcp.sender_view();
        let written = view.remaining.map(|remaining| view.sent.0 + remaining.0);
        written > self.written
            && view.remaining.is_some_and(|remaining| remaining.0 > 0)
            && view.sent.0 == self.sent
            && tcp.is_established()
    }
}

/// Tells of a segment that has come to `side`, before what it sends in reply.
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

/// Tells of data that the application has handed in since `before`, and that a closed window holds back.
pub(crate) fn notify_if_blocked(fabric: &mut Fabric, flow: &Flow, side: Side, before: &Before) {
    if before.is_held_back(&flow.ends[side].tcp) {
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
