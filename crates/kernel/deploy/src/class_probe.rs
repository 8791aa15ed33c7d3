//! Which of this machine's own packets enter which class.

use std::net::IpAddr;

use shortflow_elements::classifier::MultiField;
use shortflow_packet::{Address, Dscp, FlowKey, Packet, Protocol};

use crate::bytecode::Choice;
use crate::tree::Tree;

/// A packet that gets into a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassProbe {
    /// Its code point.
    pub code_point: Dscp,
    /// The port of TCP that it goes to; none of a datagram to the peer's port.
    pub tcp_port: Option<u16>,
}

/// From whom to whom packets go.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints {
    /// This machine's address.
    pub from: IpAddr,
    /// The peer's.
    pub to: IpAddr,
    /// The port at which the peer takes datagrams.
    pub port: u16,
}

/// A source port as the kernel selects it by default.
const ANY_PORT: u16 = 50_000;

impl Tree {
    /// For each class a packet that enters it; `None` if neither a datagram to the peer nor a connection to a port in
    /// the rules does. Unmarked packets are preferred to marked ones, and datagrams to connections.
    pub fn class_probes(&self, endpoints: Endpoints) -> Vec<Option<ClassProbe>> {
        let mut rule_values = (vec![Dscp::BEST_EFFORT], Vec::new());
        gather(&self.choice, &mut rule_values);
        let (code_points, ports) = rule_values;
        let ways = std::iter::once(None).chain(ports.into_iter().map(Some));
        let mut class_probes = vec![None; self.leaves.len()];
        for tcp_port in ways {
            for code_point in &code_points {
                let probe = ClassProbe { code_point: *code_point, tcp_port };
                class_probes[*self.choice.select(&packet(endpoints, probe))].get_or_insert(probe);
            }
        }
        class_probes
    }
}

impl Tree {
    /// The class of an unmarked connection to the peer's port.
    pub fn class_of_flow(&self, endpoints: Endpoints) -> usize {
        let probe = ClassProbe { code_point: Dscp::BEST_EFFORT, tcp_port: Some(endpoints.port) };
        *self.choice.select(&packet(endpoints, probe))
    }

    /// The code points that select classes, with best effort first.
    pub fn code_points(&self) -> Vec<Dscp> {
        let mut rule_values = (vec![Dscp::BEST_EFFORT], Vec::new());
        gather(&self.choice, &mut rule_values);
        rule_values.0
    }
}

/// The code points and ports that rules name.
fn gather(choice: &Choice<usize>, rule_values: &mut (Vec<Dscp>, Vec<u16>)) {
    let Choice::Among { rules, otherwise } = choice else { return };
    for (rule, of) in rules {
        let MultiField { dscps, dst_ports, ports, .. } = rule;
        let code_points = dscps.iter().flat_map(|set| set.iter());
        let new: Vec<Dscp> = code_points.filter(|it| !rule_values.0.contains(it)).collect();
        rule_values.0.extend(new);
        let ranges = [dst_ports, ports].into_iter().flatten().flat_map(|list| list.iter());
        for port in ranges.map(|range| range.ends()[0].max(1)) {
            if !rule_values.1.contains(&port) {
                rule_values.1.push(port);
            }
        }
        gather(of, rule_values);
    }
    gather(otherwise, rule_values);
}

fn packet(endpoints: Endpoints, probe: ClassProbe) -> Packet {
    let address = |of: IpAddr| match of {
        IpAddr::V4(v4) => Address::v4(v4.to_bits()),
        IpAddr::V6(v6) => Address::v6(v6.to_bits()),
    };
    let key = FlowKey {
        src: address(endpoints.from),
        dst: address(endpoints.to),
        src_port: ANY_PORT,
        dst_port: probe.tcp_port.unwrap_or(endpoints.port),
        protocol: if probe.tcp_port.is_some() { Protocol::TCP } else { Protocol::UDP },
    };
    Packet { size: 200, payload: 160, dscp: probe.code_point, key, ..Packet::default() }
}

impl<T> Choice<T> {
    /// The class of a packet.
    fn select(&self, packet: &Packet) -> &T {
        match self {
            Choice::Class(class) => class,
            Choice::Among { rules, otherwise } => rules
                .iter()
                .find(|(rule, _)| rule.matches(packet))
                .map_or_else(|| otherwise.select(packet), |(_, of)| of.select(packet)),
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_policy::from_text;
    use shortflow_units::Rate;

    use super::*;
    use crate::{Kernel, Settings, compile};

    const POLICY: &str = r#"
name = "Several"
[[roles.core.queue.strict-priority.bands]]
match = { dscp = ["EF", "CS6"] }
queue.fifo = { limit = "20 pkt" }
[[roles.core.queue.strict-priority.bands]]
match = { protocol = "tcp", dst_port = 80 }
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.strict-priority.bands]]
match = { src_port = 53 }
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "50 pkt" }
"#;

    #[test]
    fn each_class_is_reached_by_what_its_rule_asks_for_or_told_as_out_of_reach() {
        let policy = from_text("policy.toml", POLICY, &[]).unwrap();
        let settings = Settings {
            rate: Some(Rate::from_bits_per_sec(10_000_000)),
            link_layer: None,
            link_header: 14,
            kernel: Kernel::default(),
            nearest: false,
        };
        let tree = compile(&policy, &policy.roles[0], &settings).unwrap();
        let [from, to] = ["192.0.2.1", "192.0.2.2"].map(|host| host.parse().unwrap());
        let endpoints = Endpoints { from, to, port: 7807 };
        let probe = |code_point, tcp_port| Some(ClassProbe { code_point, tcp_port });
        assert_eq!(
            tree.class_probes(endpoints),
            [
                probe(Dscp::EF, None),
                probe(Dscp::BEST_EFFORT, Some(80)),
                None,
                probe(Dscp::BEST_EFFORT, None)
            ],
            "no port of the source is ours to choose"
        );
        assert_eq!(tree.class_of_flow(endpoints), 3, "long flows are among the rest");
        assert_eq!(tree.code_points().len(), 3, "BE, EF and CS6");
    }
}
