//! Names of ports, places and counters in results. They are the same for all engines, so that results can be
//! compared.

use shortflow_elements::{Conditioner, DropReason};
use shortflow_packet::Dscp;
use shortflow_policy::Role;
use shortflow_scenario::{Direction, Line, NodeId, Scenario};

/// The ports of a scenario in order: each link has two, forward first. Each entry has the sending node, the
/// node at the other end, and the line between them.
pub fn ports(scenario: &Scenario) -> impl Iterator<Item = (NodeId, NodeId, &Line)> {
    scenario
        .links
        .iter()
        .flat_map(|link| [(link.a, link.b, &link.forward), (link.b, link.a, &link.back)])
}

/// The port through which `from` sends to `to`: `r1->r2`.
pub fn port_name(scenario: &Scenario, from: NodeId, to: NodeId) -> String {
    let name = |node: NodeId| &scenario.nodes[node.index()].name;
    format!("{}->{}", name(from), name(to))
}

/// The place where packets from `from` enter `to`: `r2<-r1`.
pub fn ingress_name(scenario: &Scenario, from: NodeId, to: NodeId) -> String {
    let name = |node: NodeId| &scenario.nodes[node.index()].name;
    format!("{}<-{}", name(to), name(from))
}

/// The role that is bound to `node` in this direction.
pub fn role_at(scenario: &Scenario, node: NodeId, direction: Direction) -> Option<&Role> {
    let binding = scenario.bindings.iter().find(|b| b.at == node && b.direction == direction)?;
    let policy = scenario.policy.as_ref()?;
    Some(policy.role(&binding.role).expect("a checked scenario binds roles that exist"))
}

/// The seed of a replica, from which all its random streams are derived. The first replica has the scenario's
/// seed. The others are spread over all seeds (the finalizer of SplitMix64), so runs with adjacent seeds
/// share no replica.
pub fn seed_of(seed: u64, replica: u32) -> u64 {
    if replica == 0 {
        return seed;
    }
    let mut z = seed.wrapping_add(u64::from(replica).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The code points that packets can have, in rising order: best effort, those that the policy writes, and
/// those that workloads write. Results combine all others in a last entry.
pub fn code_points(scenario: &Scenario) -> Vec<Dscp> {
    let mut used = vec![Dscp::BEST_EFFORT];
    if let Some(policy) = &scenario.policy {
        used.extend(policy.written_code_points());
    }
    for workload in &scenario.workloads {
        used.extend(workload.kind.traffic().datagrams().map(|datagrams| datagrams.dscp));
    }
    used.sort_unstable();
    used.dedup();
    used
}

/// The names of drop reasons, by number.
pub fn drop_reasons() -> Vec<String> {
    DropReason::ALL.map(|reason| reason.name().to_owned()).to_vec()
}

/// The counter of packets dropped at a port without its own report: `r1->r2/dropped`.
pub fn dropped_name(port: &str) -> String {
    format!("{port}/dropped")
}

/// A counter of the queue of a port: `s->r/queue/timers expired`.
pub fn queue_counter(port: &str, what: &str) -> String {
    format!("{port}/queue/{what}")
}

/// A counter of a workload: `web/reordered packets`.
pub fn workload_counter(workload: &str, what: &str) -> String {
    format!("{workload}/{what}")
}

/// The counters of a conditioner since the start, named after its place and its classes:
/// `r2<-server0/replies/marked green bytes`.
pub fn conditioner_counts(place: &str, conditioner: &Conditioner) -> Vec<(String, u64)> {
    let mut counts = Vec::new();
    for class in conditioner.counters() {
        let mut count = |name: &str, value: u64| {
            counts.push((format!("{place}/{}/{name}", class.class), value));
        };
        for (color, name) in ["green", "yellow", "red"].into_iter().enumerate() {
            count(&format!("marked {name} packets"), class.packets[color]);
            count(&format!("marked {name} bytes"), class.bytes[color]);
        }
        class.marker.iter().for_each(|&(name, value)| count(name, value));
    }
    counts
}
