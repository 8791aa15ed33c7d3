//! The router between two devices decides as the simulator does: the same packets leave at the same instants, with the
//! same code points, under every shipped policy that a router can run.

use std::collections::BTreeMap;

use shortflow_inline::{Plan, acting_roles};
use shortflow_packet::{Dscp, Ecn, FlowKey, FrameId, Packet, Protocol};
use shortflow_scenario::{IpVersion, NodeId, Scenario};
use shortflow_sim::{Hosts, LiveNetwork};
use shortflow_units::{Duration, Instant, LinkLayer, Rng};

use crate::bench::scenario_under;

/// The rate of the line, in Mbit/s, and its delay.
const RATE: &str = "10 Mbit/s";
const DELAY: Duration = Duration::from_millis(1);

/// A packet that leaves: when its last bit does, its number, its code point and its ECN field.
type Left = (Instant, u32, Dscp, Ecn);

/// The cable to the router takes a nanosecond for each byte.
fn line(policy: &str, roles: &[String]) -> Scenario {
    let bind = roles.iter().map(|role| match &**role {
        "edge" => "{ role = \"edge\", at = \"r\", from = \"a\" }".to_owned(),
        role => format!("{{ role = \"{role}\", at = \"r\", to = \"b\" }}"),
    });
    let text = format!(
        "policy = \"policy.toml\"\nseed = 7\nduration = \"60 s\"\nhosts = {{ a = {{}}, b = {{}} }}\nrouters = {{ r = {{}} }}\n\
         bind = [{}]\n[links]\nin = {{ between = [\"a\", \"r\"], rate = \"8 Gbit/s\", delay = \"0 ms\" }}\n\
         line = {{ between = [\"r\", \"b\"], rate = \"{RATE}\", delay = \"1 ms\", queue = \"1000 pkt\" }}\n\
         [workloads]\ncall.cbr = {{ from = \"a\", to = \"b\", rate = \"300 kbit/s\", packet = \"200 B\" }}\n",
        bind.collect::<Vec<_>>().join(", ")
    );
    scenario_under(policy, &text)
}

/// Packets of forty flows of three protocols, in bursts that fill the line by half more than it can send.
fn arrivals() -> Vec<(Instant, Packet)> {
    let mut random = Rng::stream(11, "arrivals");
    let [src, dst] = [NodeId(0), NodeId(1)].map(|node| node.automatic(IpVersion::V4));
    let mut at = Instant::START;
    let one = |number: u32| {
        let pause = if random.below(20) == 0 { 9_000_000 } else { 300_000 };
        at += Duration::from_nanos(2_000 + random.below(pause));
        let flow = random.below(40) as u16;
        let protocol = if flow.is_multiple_of(3) { Protocol::UDP } else { Protocol::TCP };
        let ports = [80, 443, 5004, 22, 6000];
        let (src_port, dst_port) = (ports[usize::from(flow) % 5], 40_000 + flow);
        let size = [40, 200, 576, 1500][random.below(4) as usize];
        let dscp = [Dscp::BEST_EFFORT, Dscp::AF11, Dscp::AF12, Dscp::EF][usize::from(flow) % 4];
        let ecn = if flow.is_multiple_of(7) { Ecn::Ect0 } else { Ecn::NotEct };
        let key = FlowKey { src, dst, src_port, dst_port, protocol };
        let payload = (size - 40) as u16;
        let bytes = FrameId::new(number);
        (at, Packet { size, payload, dscp, ecn, bytes, key, ..Packet::default() })
    };
    (0..6000).map(one).collect()
}

#[derive(Default)]
struct Notes(Vec<Left>);

impl Hosts for Notes {
    fn deliver(&mut self, at: Instant, _: NodeId, packet: Packet) {
        self.0.push((at, packet.bytes.unwrap().number(), packet.dscp, packet.ecn));
    }

    fn dropped(&mut self, _: Instant, _: Packet) {}
}

/// What leaves the line in the simulator.
fn simulated(scenario: &Scenario) -> Vec<Left> {
    let (mut live, mut notes) = (LiveNetwork::new(scenario, 0), Notes::default());
    for (at, packet) in arrivals() {
        live.send(at, NodeId(0), packet, None, &mut notes).unwrap();
    }
    live.advance(Instant::START + Duration::from_secs(60), &mut notes);
    notes.0
}

/// What leaves it inline.
fn inline(scenario: &Scenario, roles: &[String]) -> Vec<Left> {
    let policy = scenario.policy.as_ref().unwrap();
    let roles = acting_roles(policy, roles).unwrap();
    let rates = [RATE.parse().unwrap(); 2];
    let plan = Plan::new(roles, rates, LinkLayer::default(), scenario.seed).unwrap();
    let mut direction = plan.direction(0, "r<-a", "r->b");
    let mut left = Vec::new();
    let mut depart_until = |direction: &mut shortflow_inline::Direction, until: Instant| {
        while let Some(at) = direction.next_at().filter(|at| *at <= until) {
            if let Some(packet) = direction.depart(at, |_| ()) {
                let number = packet.bytes.unwrap().number();
                left.push((direction.free_at() + DELAY, number, packet.dscp, packet.ecn));
            }
        }
    };
    for (at, packet) in arrivals() {
        let at = at + Duration::from_nanos(packet.size.into());
        depart_until(&mut direction, at);
        direction.arrive(at, packet, |_| ());
    }
    depart_until(&mut direction, Instant::NEVER);
    left
}

#[test]
fn every_shipped_policy_sends_the_same_packets_at_the_same_instants_inline_and_simulated() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../policies");
    let mut compared = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let policy = shortflow_policy::from_text("policy.toml", &text, &[]).unwrap();
        let acts =
            |name: &&str| policy.role(name).is_some_and(|role| role.conditions() || role.queues());
        let roles: Vec<String> = ["edge", "core"]
            .iter()
            .filter(|name| acts(name))
            .map(|name| (*name).to_owned())
            .collect();
        let reads_sender = |name: &String| policy.role(name).unwrap().reads_sender();
        if roles.is_empty() || roles.iter().any(reads_sender) {
            continue;
        }
        let scenario = line(&text, &roles);
        let (expected, found) = (simulated(&scenario), inline(&scenario, &roles));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let differs = expected.iter().zip(&found).position(|(expected, found)| expected != found);
        if let Some(at) = differs {
            panic!(
                "{name}: packet {at} is {:?} inline and {:?} simulated",
                found[at], expected[at]
            );
        }
        assert_eq!(found.len(), expected.len(), "{name}");
        compared.insert(name, found.len());
    }
    assert!(compared.len() > 15, "{compared:?}");
    assert!(compared.values().all(|left| *left > 1000), "{compared:?}");
}
