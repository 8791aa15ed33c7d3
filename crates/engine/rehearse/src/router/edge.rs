//! The edge of hosts: the state of connections that send through a host's device. Its sources are the passing
//! packets, the records of the host's kernel, and the applications.

use std::sync::Arc;

use shortflow_ebpf::{ConnectionState, Record, Recovery};
use shortflow_packet::{
    Dscp, FlowKey, Label, Packet, Phase, Protocol, SenderEvent, SenderUpdate, SenderView, TcpFlags,
};
use shortflow_scenario::{Addresses, NodeId, Scenario};
use shortflow_units::{Bytes, Duration};

use super::frames::Seen;
use super::numbers::Sequences;
use crate::applications::{Applications, Said};
use crate::recent::Recent;

/// What is known at the edge of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EdgeSpec {
    /// Segments of the first window of its connections.
    pub(crate) initial_window: u32,
}

/// The edges of all hosts.
pub(crate) struct Edges {
    /// By node; `None` if no queue needs it.
    specs: Vec<Option<EdgeSpec>>,
    /// What the policy that is bound calls each workload.
    labels: Vec<Label>,
    /// What was seen of each connection by a host that sends in it, by the 5-tuple of what it sends.
    connections: Recent<FlowKey, Connection>,
    applications: Option<Applications>,
    addresses: Arc<Addresses>,
    /// Events for queues.
    news: Vec<(NodeId, SenderUpdate)>,
}

/// The number of most recent senders that are remembered. Programs may open any number of connections; an end that is
/// silent while this number of others send is forgotten.
const CONNECTIONS: usize = 1 << 16;

/// A connection as one of its ends has it.
#[derive(Debug, Default)]
struct Connection {
    sequences: Sequences,
    /// The code point of the last packet with data, SYN or FIN that came.
    received: Dscp,
    smoothed_rtt: Option<Duration>,
}

impl Edges {
    /// The initial state, with the policy of `scenario`. Without `applications` no queue needs it.
    pub(crate) fn new(
        specs: Vec<Option<EdgeSpec>>,
        scenario: &Scenario,
        applications: Option<Applications>,
    ) -> Self {
        let addresses = Arc::clone(&scenario.addresses);
        let mut edges = Edges { specs, applications, addresses, ..Edges::without_owner() };
        edges.bind(scenario);
        edges
    }

    /// No queue needs it.
    pub(crate) fn without_owner() -> Self {
        let (specs, labels, news) = Default::default();
        let connections = Recent::new(CONNECTIONS);
        let addresses = Arc::new(Addresses::automatic());
        Edges { specs, labels, connections, applications: None, addresses, news }
    }

    /// From now on the policy of `scenario` is bound, which has its own numbers for labels.
    pub(crate) fn bind(&mut self, scenario: &Scenario) {
        let label = |label: &str| scenario.policy.as_ref().map(|policy| policy.label(label));
        let labels = scenario.workloads.iter().map(|workload| label(&workload.label));
        self.labels = labels.map(Option::unwrap_or_default).collect();
    }

    fn label(&self, said: &Said) -> Label {
        let label = said.workload.and_then(|workload| self.labels.get(usize::from(workload)));
        label.copied().unwrap_or_default()
    }

    /// The reports of applications, if a queue needs them.
    pub(crate) fn applications(&self) -> Option<&Applications> {
        self.applications.as_ref()
    }

    fn spec(&self, node: NodeId) -> Option<EdgeSpec> {
        self.specs.get(node.index()).copied().flatten()
    }

    /// A host sends a packet: returns the state of its sender, if a queue needs it.
    pub(crate) fn sent(&mut self, node: NodeId, packet: &Packet, seen: Seen) -> Option<SenderView> {
        let EdgeSpec { initial_window } = self.spec(node)?;
        let said = self.applications.as_ref()?.get(&packet.key);
        let (label, is_range) = (self.label(&said), said.is_range);
        let view = SenderView { label, is_range, ..SenderView::default() };
        let Some(numbers) = seen.numbers.filter(|_| packet.key.protocol == Protocol::TCP) else {
            return Some(view);
        };
        let connection = self.connections.get_or_insert(packet.key);
        if connection.sequences.is_new_connection(packet.flags, numbers) {
            let received = connection.received;
            *connection = Connection::default();
            // What answers a SYN has had that.
            if packet.flags.has(TcpFlags::ACK) {
                connection.received = received;
            }
        }
        let sent = connection.sequences.sent();
        let is_retransmission =
            connection.sequences.send(packet.flags, numbers, u32::from(packet.payload));
        let handed_in = said.handed_in.and_then(|handed_in| handed_in.bytes());
        // What was handed in between the sending of this packet and now was not there then.
        let is_before = packet.is_bare_acknowledgement() && connection.sequences.has_seen_nothing();
        let handed_in = handed_in.map(|bytes| if is_before { sent } else { bytes });
        let view = SenderView {
            is_retransmission: Some(is_retransmission),
            sent: Bytes(sent),
            remaining: handed_in.map(|bytes| Bytes(bytes.saturating_sub(sent))),
            received_dscp: Some(connection.received),
            ..view
        };
        Some(match seen.record {
            Some(Record::Connection(state)) => {
                let smoothed_rtt = state.smoothed_rtt.map(|rtt| nanos(rtt.as_nanos()));
                connection.smoothed_rtt = smoothed_rtt;
                SenderView {
                    window_segments: Some(state.window_segments()),
                    phase: Some(phase(&state)),
                    smoothed_rtt,
                    ..view
                }
            }
            // Before there is a socket, it is the window that the socket will have.
            Some(Record::Request) => SenderView {
                window_segments: Some(initial_window),
                phase: Some(Phase::Handshake),
                ..view
            },
            Some(Record::Nothing) | None => view,
        })
    }

    /// A packet arrives at a host.
    pub(crate) fn came(&mut self, node: NodeId, packet: &Packet, seen: Seen) {
        let Some(numbers) = seen.numbers.filter(|_| packet.key.protocol == Protocol::TCP) else {
            return;
        };
        let (Some(_), Some(applications)) = (self.spec(node), &self.applications) else { return };
        let key = packet.key.reversed();
        let connection = self.connections.get_or_insert(key);
        let is_opening = packet.flags.has(TcpFlags::SYN) && !packet.flags.has(TcpFlags::ACK);
        if is_opening && connection.sequences.sent() > 0 {
            *connection = Connection::default();
        }
        let is_bare = packet.is_bare_acknowledgement();
        if !is_bare {
            connection.received = packet.dscp;
        }
        let heard = connection.sequences.hear(packet.flags, numbers, is_bare);
        if !applications.listens() {
            return;
        }
        let Some(event) = heard.map(|heard| match heard {
            SenderEvent::Acknowledgement => {
                let handed_in =
                    applications.get(&key).handed_in.and_then(|handed_in| handed_in.bytes());
                match handed_in.is_some_and(|bytes| bytes <= connection.sequences.sent()) {
                    true => SenderEvent::IdleAcknowledgement,
                    false => SenderEvent::Acknowledgement,
                }
            }
            other => other,
        }) else {
            return;
        };
        let smoothed_rtt = connection.smoothed_rtt;
        self.news.push((node, SenderUpdate { key, event, smoothed_rtt }));
    }

    /// Takes the connections whose data are held back.
    pub(crate) fn take_held_back(&mut self) {
        let held_back = self.applications.as_ref().map(Applications::take_held_back);
        for key in held_back.into_iter().flatten() {
            let connection = self.connections.get(key);
            let smoothed_rtt = connection.and_then(|connection| connection.smoothed_rtt);
            let news = SenderUpdate { key, event: SenderEvent::ClosedWindow, smoothed_rtt };
            self.news.extend(self.addresses.node(key.src).map(|node| (node, news)));
        }
    }

    /// Takes the events for queues.
    pub(crate) fn take_news(&mut self) -> Vec<(NodeId, SenderUpdate)> {
        std::mem::take(&mut self.news)
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn phase(state: &ConnectionState) -> Phase {
    match state.recovery {
        _ if state.is_opening => Phase::Handshake,
        Recovery::Fast => Phase::FastRecovery,
        Recovery::Loss => Phase::LossRecovery,
        _ if state.congestion_window < state.threshold => Phase::SlowStart,
        _ => Phase::CongestionAvoidance,
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::Numbers;
    use super::*;
    use crate::applications::HandedIn;
    use shortflow_packet::Label;
    use shortflow_scenario::IpVersion;

    const SERVER: NodeId = NodeId(1);
    const ACK: TcpFlags = TcpFlags::ACK;

    /// What the server sends: its port is 80.
    fn key() -> FlowKey {
        let (src, dst) = (SERVER.automatic(IpVersion::V4), NodeId(0).automatic(IpVersion::V4));
        FlowKey { src, dst, src_port: 80, dst_port: 4000, protocol: Protocol::TCP }
    }

    fn packet(key: FlowKey, flags: TcpFlags, payload: u16) -> Packet {
        Packet { key, flags, payload, size: 40 + u32::from(payload), ..Packet::default() }
    }

    fn seen(sequence: u32, acknowledgement: u32) -> Seen {
        let numbers = Numbers { sequence, acknowledgement, window: 500 };
        Seen { numbers: Some(numbers), record: None }
    }

    /// The edge of a server whose application has handed in 3000 bytes.
    fn edges() -> (Edges, HandedIn) {
        let applications = Applications::new(true).unwrap();
        let handed_in = HandedIn::default();
        handed_in.add(3000);
        applications.open().add(key(), 0, Some(handed_in.clone()));
        let specs = vec![None, Some(EdgeSpec { initial_window: 10 })];
        let edges = Edges { specs, applications: Some(applications), ..Edges::without_owner() };
        (Edges { labels: vec![Label(2)], ..edges }, handed_in)
    }

    fn opened() -> (Edges, HandedIn) {
        let (mut edges, handed_in) = edges();
        let syn = packet(key().reversed(), TcpFlags::SYN, 0);
        edges.came(SERVER, &syn, seen(99, 0));
        let record = Some(Record::Request);
        let answer = packet(key(), TcpFlags::SYN.with(ACK), 0);
        let view = edges.sent(SERVER, &answer, Seen { record, ..seen(u32::MAX, 100) }).unwrap();
        assert_eq!((view.window_segments, view.phase), (Some(10), Some(Phase::Handshake)));
        (edges, handed_in)
    }

    #[test]
    fn bytes_are_counted_as_they_are_sent_and_a_second_time_is_a_retransmission() {
        let (mut edges, _) = opened();
        let mut send = |sequence| {
            let view = edges.sent(SERVER, &packet(key(), ACK, 1000), seen(sequence, 100)).unwrap();
            (view.sent.0, view.remaining.map(|bytes| bytes.0), view.is_retransmission == Some(true))
        };
        // The sequence numbers go through zero.
        assert_eq!(send(0), (0, Some(3000), false));
        assert_eq!(send(1000), (1000, Some(2000), false));
        assert_eq!(send(0), (2000, Some(1000), true));
        assert_eq!(send(2000), (2000, Some(1000), false));
    }

    #[test]
    fn what_is_handed_in_after_an_acknowledgement_was_sent_did_not_remain_then() {
        let (mut edges, _) = opened();
        edges.came(SERVER, &packet(key().reversed(), ACK, 300), seen(100, 0));
        let remains = |edges: &mut Edges, sequence, payload| {
            let view = edges.sent(SERVER, &packet(key(), ACK, payload), seen(sequence, 400));
            view.unwrap().remaining.unwrap().0
        };
        // The kernel acknowledges the request, and the reply is handed in before the router looks.
        assert_eq!(remains(&mut edges, 0, 0), 0);
        assert_eq!(remains(&mut edges, 0, 1000), 3000);
        assert_eq!(remains(&mut edges, 1000, 0), 2000, "the window may hold it back");
        edges.came(SERVER, &packet(key().reversed(), ACK, 0), seen(400, 1000));
        assert_eq!(remains(&mut edges, 1000, 0), 0, "the window was open");
        let closed = Numbers { sequence: 400, acknowledgement: 1000, window: 0 };
        let closed = Seen { numbers: Some(closed), record: None };
        edges.came(SERVER, &packet(key().reversed(), ACK, 0), closed);
        assert_eq!(remains(&mut edges, 1000, 0), 2000, "the window was closed");
    }

    #[test]
    fn a_request_remains_while_its_connection_is_opened() {
        let (mut edges, _) = edges();
        for (flags, sequence) in [(TcpFlags::SYN, 99), (ACK, 100)] {
            let view = edges.sent(SERVER, &packet(key(), flags, 0), seen(sequence, 1)).unwrap();
            assert_eq!(view.remaining, Some(Bytes(3000)));
            let answer = packet(key().reversed(), TcpFlags::SYN.with(ACK), 0);
            edges.came(SERVER, &answer, seen(0, 100));
        }
    }

    #[test]
    fn acknowledgements_echo_what_came_last_with_data() {
        let (mut edges, _) = opened();
        let mut data = packet(key().reversed(), ACK, 100);
        data.dscp = Dscp::AF12;
        edges.came(SERVER, &data, seen(100, 0));
        let mut bare = packet(key().reversed(), ACK, 0);
        bare.dscp = Dscp::AF11;
        edges.came(SERVER, &bare, seen(200, 0));
        let view = edges.sent(SERVER, &packet(key(), ACK, 0), seen(0, 200)).unwrap();
        assert_eq!((view.received_dscp, view.label), (Some(Dscp::AF12), Label(2)));
    }

    #[test]
    fn queues_are_told_what_acknowledgements_mean() {
        let (mut edges, handed_in) = opened();
        handed_in.add(0);
        for sequence in [0, 1000] {
            edges.sent(SERVER, &packet(key(), ACK, 1000), seen(sequence, 100));
        }
        let hear = |edges: &mut Edges, acknowledgement| {
            edges.came(SERVER, &packet(key().reversed(), ACK, 0), seen(100, acknowledgement));
            edges.take_news().into_iter().map(|(_, news)| news.event).next()
        };
        assert_eq!(hear(&mut edges, 1000), Some(SenderEvent::Acknowledgement));
        assert_eq!(hear(&mut edges, 1000), Some(SenderEvent::DuplicateAcknowledgement));
        edges.sent(SERVER, &packet(key(), ACK, 1000), seen(2000, 100));
        assert_eq!(hear(&mut edges, 3000), Some(SenderEvent::IdleAcknowledgement));
        assert_eq!(hear(&mut edges, 3000), None, "nothing is outstanding");
        edges.applications.as_ref().unwrap().held_back(key());
        edges.take_held_back();
        assert_eq!(edges.take_news()[0].1.event, SenderEvent::ClosedWindow);
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection() {
        let (mut edges, _) = opened();
        edges.sent(SERVER, &packet(key(), ACK, 1000), seen(0, 100));
        edges.came(SERVER, &packet(key().reversed(), TcpFlags::SYN, 0), seen(7_000, 0));
        edges.sent(SERVER, &packet(key(), TcpFlags::SYN.with(ACK), 0), seen(4_999, 7_001));
        let view = edges.sent(SERVER, &packet(key(), ACK, 1000), seen(5_000, 7_001)).unwrap();
        assert_eq!((view.sent, view.is_retransmission), (Bytes(0), Some(false)));
    }

    #[test]
    fn the_kernel_tells_the_window_and_the_phase() {
        let (mut edges, _) = opened();
        let state = ConnectionState {
            is_opening: false,
            recovery: Recovery::Open,
            congestion_window: 12,
            threshold: 20,
            peer_window: 65_000,
            mss: 1000,
            smoothed_rtt: Some(std::time::Duration::from_millis(20)),
        };
        let mut of = |state: ConnectionState| {
            let seen = Seen { record: Some(Record::Connection(state)), ..seen(0, 100) };
            let view = edges.sent(SERVER, &packet(key(), ACK, 0), seen).unwrap();
            (view.window_segments.unwrap(), view.phase.unwrap(), view.smoothed_rtt)
        };
        let rtt = Some(Duration::from_millis(20));
        assert_eq!(of(state), (12, Phase::SlowStart, rtt));
        let later = ConnectionState { threshold: 12, ..state };
        assert_eq!(of(later).1, Phase::CongestionAvoidance);
        let lost = ConnectionState { recovery: Recovery::Fast, ..state };
        assert_eq!(of(lost).1, Phase::FastRecovery);
        let timed_out = ConnectionState { recovery: Recovery::Loss, ..state };
        assert_eq!(of(timed_out).1, Phase::LossRecovery);
    }

    #[test]
    fn where_nobody_asks_nothing_is_kept() {
        let (mut edges, _) = edges();
        let sent = packet(key().reversed(), TcpFlags::SYN, 0);
        assert_eq!(edges.sent(NodeId(0), &sent, seen(1, 0)), None);
        assert_eq!(edges.connections.len(), 0);
    }
}
