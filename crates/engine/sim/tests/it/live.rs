//! The network between hosts that are elsewhere. The oracle is a simulation: what its hosts send is handed in at
//! the same instants, and must come out at the same instants, marked and dropped alike.

use std::sync::{Arc, Mutex};

use shortflow_measure::results;
use shortflow_packet::{Dscp, FlowKey, FrameId, Packet};
use shortflow_run::{Event, Sight, Tap, end_of};
use shortflow_scenario::{IpVersion, NodeId, NodeKind, Scenario};
use shortflow_sim::{Hosts, LiveNetwork, Unroutable, run_replica_before};
use shortflow_units::{Duration, Instant};

use crate::bench::scenario_under;

/// What happened to a packet: when, where, to which flow, with which code point.
type Happened = (Instant, Option<NodeId>, FlowKey, Dscp);

/// A packet that a host sent.
type Sent = (Instant, NodeId, Packet);

/// What a tap has seen.
#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    arrived: Vec<Happened>,
}

/// Looks at all links of a scenario in which a node below `hosts` is a host.
struct AtHosts {
    is_host: Vec<bool>,
    seen: Arc<Mutex<Seen>>,
}

impl Tap for AtHosts {
    fn watches(&self, _: NodeId, _: NodeId) -> bool {
        true
    }

    fn see(&mut self, sight: &Sight<'_>) {
        let Packet { size, payload, dscp, ecn, flags, key, .. } = *sight.packet;
        let mut seen = self.seen.lock().unwrap();
        match sight.event {
            Event::Sent if self.is_host[sight.from.index()] => {
                let packet = Packet { size, bytes: None, payload, dscp, ecn, flags, key };
                seen.sent.push((sight.now, sight.from, packet));
            }
            Event::Arrived if self.is_host[sight.to.index()] => {
                seen.arrived.push((sight.now, Some(sight.to), key, dscp));
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>) -> Result<(), results::Error> {
        Ok(())
    }
}

/// Hosts that note what comes to them, and give names to what they send.
#[derive(Default)]
struct Notes {
    arrived: Vec<Happened>,
    dropped: Vec<(Instant, FlowKey)>,
    named: u32,
    back: u32,
}

impl Hosts for Notes {
    fn deliver(&mut self, at: Instant, node: NodeId, packet: Packet) {
        assert!(packet.bytes.is_some_and(|name| name.number() < self.named));
        self.back += 1;
        self.arrived.push((at, Some(node), packet.key, packet.dscp));
    }

    fn dropped(&mut self, sent_at: Instant, packet: Packet) {
        assert!(packet.bytes.is_some_and(|name| name.number() < self.named));
        self.back += 1;
        self.dropped.push((sent_at, packet.key));
    }
}

/// Pages, a long flow and datagrams from two hosts over a chain of routers, where a marker, a random early
/// dropper and a lossy link are.
fn busy() -> Scenario {
    let policy = r#"
        [[roles.edge.classes]]
        name = "long"
        match = { protocol = "tcp" }
        marker.token-bucket = { rate = "500 kbit/s", depth = "10 KB" }
        [roles.core.queue.multi-red]
        limit = "50 pkt"
        average = "shared"
        levels = [
          { code_points = ["AF11"], min_threshold = "20 pkt", max_threshold = "40 pkt", max_probability = 0.1 },
          { code_points = "rest", min_threshold = "5 pkt", max_threshold = "20 pkt", max_probability = 0.2 },
        ]
    "#;
    scenario_under(
        policy,
        r#"
        policy = "policy.toml"
        duration = "20 s"
        hosts = { a = {}, b = {}, c = {} }
        routers = { r = {}, s = {} }
        bind = [{ role = "edge", at = "r", from = "a" }, { role = "core", at = "r", to = "s" }]
        [links]
        in-a = { between = ["a", "r"], rate = "10 Mbit/s", delay = "1 ms" }
        in-b = { between = ["b", "r"], rate = "20 Mbit/s", delay = "3 ms" }
        line = { between = ["r", "s"], rate = "2 Mbit/s", delay = "10 ms", loss = 0.01 }
        out = { between = ["s", "c"], rate = "10 Mbit/s", delay = "1 ms", queue = "20 pkt" }
        [workloads]
        file.bulk = { from = "a", to = "c" }
        web.transfers = { client = "b", server = "c", rate = "5 /s", request = { constant = "300 B" }, reply = { constant = "9 KB" } }
        call.cbr = { from = "b", to = "c", rate = "300 kbit/s", packet = "200 B" }
        "#,
    )
}

#[test]
fn what_hosts_send_comes_out_as_in_the_simulation() {
    let scenario = busy();
    let is_host = scenario.nodes.iter().map(|node| node.kind == NodeKind::Host).collect();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let tap = Box::new(AtHosts { is_host, seen: Arc::clone(&seen) });
    let simulated = run_replica_before(Some(tap), &scenario, 0, None, |_| true).unwrap();
    let Seen { sent, arrived } = std::mem::take(&mut *seen.lock().unwrap());
    let (mut live, mut notes) = (LiveNetwork::new(&scenario, 0), Notes::default());
    for (at, node, packet) in sent {
        let packet = Packet { bytes: FrameId::new(notes.named), ..packet };
        notes.named += 1;
        live.send(at, node, packet, None, &mut notes).unwrap();
    }
    live.advance(end_of(&scenario), &mut notes);
    live.check_conservation();
    let sort = |mut all: Vec<Happened>| {
        all.sort();
        all
    };
    assert!(arrived.len() > 5000 && notes.dropped.len() > 50, "{} arrived", arrived.len());
    assert_eq!(sort(notes.arrived), sort(arrived));
    let (mut left, simulated) = (live.totals(), simulated.totals);
    // What the hosts say of themselves is theirs.
    left.unclaimed = simulated.unclaimed;
    left.retransmitted = simulated.retransmitted;
    left.syn_retransmitted = simulated.syn_retransmitted;
    assert_eq!(left, simulated);
}

#[test]
fn packets_of_strangers_and_to_nowhere_are_given_back() {
    let scenario = busy();
    let (mut live, mut notes) =
        (LiveNetwork::new(&scenario, 0), Notes { named: 1, ..Notes::default() });
    let [a, c] = [NodeId(0), NodeId(2)];
    let packet = |src, dst| Packet {
        size: 100,
        bytes: FrameId::new(0),
        key: FlowKey { src, dst, ..FlowKey::default() },
        ..Packet::default()
    };
    let stranger = "192.0.2.1".parse().unwrap();
    let mut refused =
        |packet| live.send(Instant::START, a, packet, None, &mut notes).unwrap_err().1;
    assert_eq!(refused(packet(a.automatic(IpVersion::V4), stranger)), Unroutable::Stranger);
    assert_eq!(refused(packet(stranger, c.automatic(IpVersion::V4))), Unroutable::Stranger);
    assert_eq!(
        refused(packet(c.automatic(IpVersion::V4), a.automatic(IpVersion::V4))),
        Unroutable::NoWay,
        "to itself"
    );
    live.send(
        Instant::START,
        a,
        packet(a.automatic(IpVersion::V6), c.automatic(IpVersion::V6)),
        None,
        &mut notes,
    )
    .unwrap();
    live.advance(Instant::START + Duration::from_secs(1), &mut notes);
    assert_eq!(
        notes.arrived[0].2,
        packet(a.automatic(IpVersion::V6), c.automatic(IpVersion::V6)).key
    );
}
