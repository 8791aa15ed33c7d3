//! A live network that is given other policies while packets are in it.

use shortflow_measure::{PortResult, Recorder, Replica};
use shortflow_packet::{Dscp, FlowKey, FrameId, Packet, Protocol};
use shortflow_run::plan;
use shortflow_scenario::{IpVersion, NodeId, Scenario};
use shortflow_sim::{Hosts, LiveNetwork};
use shortflow_units::{Duration, Instant};

use crate::bench::scenario_under;

/// One host sends to another over a line of 1 Mbit/s, with this queue before it, as TOML below the role; where
/// there is none it is the line's own FIFO. Packets are marked with this code point.
fn line(queue: &str, code_point: &str) -> Scenario {
    let policy = format!(
        "[[roles.core.classes]]\nname = \"all\"\nmarker.fixed = {{ dscp = \"{code_point}\" }}\n[roles.core]\n{queue}"
    );
    scenario_under(
        &policy,
        r#"
        policy = "policy.toml"
        duration = "10 s"
        hosts = { a = {}, b = {} }
        routers = { r = {} }
        bind = [{ role = "core", at = "r", to = "b" }]
        measure.ports = ["r->b"]
        [links]
        in = { between = ["a", "r"], rate = "10 Mbit/s", delay = "1 ms" }
        line = { between = ["r", "b"], rate = "1 Mbit/s", delay = "10 ms", queue = "60 pkt" }
        [workloads]
        call.cbr = { from = "a", to = "b", rate = "300 kbit/s", packet = "200 B" }
        "#,
    )
}

/// Queues that send one flow's packets as they came, whether departures are fixed on arrival or the queue is
/// asked.
const ALIKE: [&str; 6] = [
    "",
    r#"queue.fifo.limit = "60 pkt""#,
    r#"queue.fq-codel = { target = "5 s", interval = "10 s" }"#,
    r#"queue.red = { limit = "60 pkt", min_threshold = "58 pkt", max_threshold = "60 pkt", max_probability = 0.1 }"#,
    r#"queue.strict-priority.bands = [{ queue.fifo.limit = "60 pkt" }]"#,
    r#"queue.wfq = { limit = "60 pkt", classes = [{ weight = 1 }] }"#,
];

/// Queues that drop, delay and change the order.
const UNLIKE: [&str; 6] = [
    "queue.fq-codel = {}",
    r#"queue.shaper = { rate = "500 kbit/s", queue.fq-codel = {} }"#,
    "",
    r#"queue.pie = { limit = "60 pkt" }"#,
    r#"queue.red = { limit = "60 pkt", min_threshold = "5 pkt", max_threshold = "15 pkt", max_probability = 0.1 }"#,
    r#"queue.stf.limit = "30 pkt""#,
];

#[derive(Default)]
struct Notes {
    arrived: Vec<(Instant, Packet)>,
    dropped: u32,
}

impl Notes {
    /// When which packet came.
    fn times(&self) -> Vec<(Instant, u32)> {
        self.arrived.iter().map(|(at, packet)| (*at, packet.bytes.unwrap().number())).collect()
    }
}

impl Hosts for Notes {
    fn deliver(&mut self, at: Instant, _: NodeId, packet: Packet) {
        self.arrived.push((at, packet));
    }

    fn dropped(&mut self, _: Instant, _: Packet) {
        self.dropped += 1;
    }
}

/// A packet of flow number `flow`.
fn packet(number: u32, flow: u16, size: u32) -> Packet {
    let [src, dst] = [NodeId(0), NodeId(1)].map(|node| node.automatic(IpVersion::V4));
    let key = FlowKey { src, dst, src_port: 5000 + flow, dst_port: 9, protocol: Protocol::UDP };
    Packet { size, bytes: FrameId::new(number), key, ..Packet::default() }
}

fn after(micros: u64) -> Instant {
    Instant::START + Duration::from_micros(micros)
}

/// Sends 250 packets of 1000 bytes, a little faster than the line, and switches after each 20 of them from one of
/// the queues to the next.
fn carried(queues: &[&str]) -> (Notes, PortResult) {
    let scenarios: Vec<Scenario> = queues.iter().map(|queue| line(queue, "AF11")).collect();
    let (mut live, mut notes) = (LiveNetwork::new(&scenarios[0], 0), Notes::default());
    for number in 0..250 {
        let at = after(6500 * u64::from(number));
        if number % 20 == 0 && queues.len() > 1 {
            live.advance(at, &mut notes);
            live.switch(&scenarios[number as usize / 20 % queues.len()], &mut notes);
            live.check_conservation();
        }
        live.send(at, NodeId(0), packet(number, 0, 1000), None, &mut notes).unwrap();
    }
    live.advance(after(10_000_000), &mut notes);
    live.check_conservation();
    let mut recorder = Recorder::new(&plan(&scenarios[0]), None);
    live.measured().record(&mut recorder);
    let found: Replica = recorder.finish().unwrap();
    (notes, found.port("r->b").unwrap().clone())
}

#[test]
fn packets_that_wait_are_carried_over_and_leave_when_they_would_have_left() {
    let (expected, port) = carried(&ALIKE[..1]);
    assert_eq!(expected.arrived.len(), 250);
    assert!(port.mean_queue_packets > 4.0, "they wait: {}", port.mean_queue_packets);
    // From every kind to every other, in both orders.
    for step in [1, 5] {
        let queues: Vec<&str> = (0..6).map(|number| ALIKE[number * step % 6]).collect();
        let (found, switched) = carried(&queues);
        assert_eq!((found.times(), found.dropped), (expected.times(), 0), "{queues:?}");
        assert_eq!(switched.code_points, port.code_points, "what is counted goes on");
        assert_eq!(switched.utilisation, port.utilisation);
        let [found, expected] = [&switched, &port].map(|port| port.mean_queue_packets);
        assert!((found / expected - 1.0).abs() < 1e-9, "mean queue: {found}, {expected}");
    }
}

#[test]
fn under_overload_nothing_is_lost_in_silence_and_flows_keep_their_order() {
    let scenarios: Vec<Scenario> = (0..)
        .zip(UNLIKE)
        .map(|(number, queue)| line(queue, ["AF11", "AF12"][number % 2]))
        .collect();
    let (mut live, mut notes) = (LiveNetwork::new(&scenarios[0], 0), Notes::default());
    let count = 4000;
    for number in 0..count {
        let at = after(1500 * u64::from(number));
        // 37 and 6 have no common divisor, so that each queue meets each other's state.
        if number % 37 == 0 {
            live.advance(at, &mut notes);
            let next = (number as usize / 37 * 5 + number as usize / 222) % UNLIKE.len();
            live.switch(&scenarios[next], &mut notes);
            live.check_conservation();
        }
        let (flow, size) = ((number % 3) as u16, 100 + number * 131 % 900);
        live.send(at, NodeId(0), packet(number, flow, size), None, &mut notes).unwrap();
    }
    live.switch(&scenarios[1], &mut notes);
    live.advance(after(60_000_000), &mut notes);
    live.check_conservation();
    assert_eq!(notes.arrived.len() as u32 + notes.dropped, count);
    assert!(notes.dropped > 500, "it is an overload: {}", notes.dropped);
    for flow in 0..3 {
        let of_flow = notes.arrived.iter().filter(|(_, packet)| packet.key.src_port == 5000 + flow);
        let numbers: Vec<u32> = of_flow.map(|(_, packet)| packet.bytes.unwrap().number()).collect();
        assert!(numbers.is_sorted(), "flow {flow}: {numbers:?}");
    }
    let marked = |dscp| notes.arrived.iter().filter(|(_, packet)| packet.dscp == dscp).count();
    assert!(marked(Dscp::AF11) > 500 && marked(Dscp::AF12) > 500, "the markers are switched too");
    let mut recorder = Recorder::new(&plan(&scenarios[0]), None);
    live.measured().record(&mut recorder);
    let found = recorder.finish().unwrap();
    let all: f64 = found
        .counters
        .iter()
        .filter(|(name, _)| name.starts_with("r->b/all/marked") && name.ends_with("packets"))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(all, f64::from(count), "what replaced markers have counted is kept");
}
