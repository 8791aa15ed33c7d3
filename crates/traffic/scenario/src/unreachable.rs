//! Finds classes of a bound policy that no packet of the workloads can match.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use shortflow_elements::classifier::{AnyOf, MultiField, PortRange};
use shortflow_packet::{Address, Prefix, Protocol};
use shortflow_policy::{ClassId, ClassRule};
use shortflow_text::Diagnostic;

use crate::addresses::IpVersion;
use crate::check::first_usable;
use crate::model::{NodeId, NodeKind, Scenario};
use crate::workloads::WorkloadKind;

/// Source ports of connections and streams. The actual port is not known in advance.
const EPHEMERAL: RangeInclusive<u16> = 1024..=u16::MAX;

/// The limit on named classes per role. Above it only the first is named.
const MAX_NAMED: usize = 3;

/// The reason why no packet matches a class.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Lack {
    /// No host has an address in the prefixes of this key.
    Address(&'static str, AnyOf<Prefix>),
    /// No workload sends such packets.
    Packets,
}

/// The bound classes that no packet can match, in either IP version of the hosts. Ignores DSCPs and the state
/// of senders, which change on the way and over time. With `any_traffic` other programs send too, so only
/// addresses that no host has count.
pub(crate) fn unreachable(scenario: &Scenario, any_traffic: bool) -> BTreeSet<ClassId> {
    let classes = bound(scenario);
    let found = classes.filter(|class| lack(scenario, &class.rule, any_traffic).is_some());
    found.map(|class| class.id.clone()).collect()
}

/// Warnings of these classes: one for all whose packets no workload sends, and one for each whose addresses no host
/// has, at its position in the policy.
pub(crate) fn warnings(
    scenario: &Scenario,
    ids: &BTreeSet<ClassId>,
    any_traffic: bool,
) -> Vec<Diagnostic> {
    let classes = bound(scenario).filter(|class| ids.contains(&class.id));
    let is_unsent =
        |class: &&ClassRule| lack(scenario, &class.rule, any_traffic) == Some(Lack::Packets);
    let (unsent, classes): (Vec<&ClassRule>, Vec<&ClassRule>) = classes.partition(is_unsent);
    let mut warnings = Vec::from_iter(warning_of_unsent(&unsent));
    for group in classes.chunk_by(|a, b| a.id.is_beside(&b.id)) {
        let named = if group.len() > MAX_NAMED { &group[..1] } else { group };
        for class in named {
            let lack = lack(scenario, &class.rule, any_traffic);
            if let Some(Lack::Address(key, prefixes)) = lack {
                let help = help(scenario, &prefixes);
                let why = format!("no host has an address in {} (`{key}`)", written(&prefixes));
                warnings.push(warning(class, &why, help, group.len() - named.len()));
            }
        }
    }
    warnings
}

fn bound(scenario: &Scenario) -> impl Iterator<Item = &ClassRule> {
    let is_bound = |class: &&ClassRule| scenario.bindings.iter().any(|b| b.role == class.id.role);
    scenario.policy.iter().flat_map(|policy| &policy.classes).filter(is_bound)
}

/// The warning of classes whose packets no workload sends, at the position of the first.
fn warning_of_unsent(classes: &[&ClassRule]) -> Option<Diagnostic> {
    let names = ClassRule::names(classes);
    let message = format!("no workload sends packets that match {names}");
    let help = "fine if the scenario has no such traffic; otherwise compare `match` with the hosts, protocols and ports \
                of the workloads";
    classes.first().map(|first| first.spot.warning(message, help))
}

/// The warning of a class that never matches, and `others` like it.
fn warning(class: &ClassRule, why: &str, help: String, others: usize) -> Diagnostic {
    let name = format!("{} in the role `{}`", class.name, class.id.role);
    let others = match others {
        0 => String::new(),
        1 => "; 1 more class in its list never matches either".to_owned(),
        _ => format!("; {others} more classes in its list never match either"),
    };
    class.spot.warning(format!("{name} never matches: {why}{others}"), help)
}

/// What to write so that a host has an address in one of the prefixes, with the first that it can have.
fn help(scenario: &Scenario, prefixes: &AnyOf<Prefix>) -> String {
    let is_free = |address: &Address| {
        NodeId::of_automatic(*address).is_none_or(|node| node.index() >= scenario.nodes.len())
    };
    match prefixes.iter().filter_map(|prefix| first_usable(*prefix)).find(is_free) {
        Some(address) => format!(
            "give a host such an address, as in hosts.NAME = {{ address = \"{address}\" }}, or change the class"
        ),
        None => "change the class: no host can have such an address".to_owned(),
    }
}

fn lack(scenario: &Scenario, rule: &MultiField, any_traffic: bool) -> Option<Lack> {
    let hosts = || {
        let nodes = (0..).map(NodeId).zip(&scenario.nodes);
        nodes.filter(|(_, node)| node.kind == NodeKind::Host).map(|(id, _)| id)
    };
    for (key, prefixes) in [("src", &rule.src), ("dst", &rule.dst)] {
        let Some(prefixes) = prefixes else { continue };
        let mut addresses = hosts().flat_map(|node| scenario.addresses.of_node(node));
        if !addresses.any(|address| lies_in(prefixes, address)) {
            return Some(Lack::Address(key, prefixes.clone()));
        }
    }
    (!any_traffic && !streams(scenario).any(|stream| stream.fits(rule))).then_some(Lack::Packets)
}

fn lies_in(prefixes: &AnyOf<Prefix>, address: Address) -> bool {
    prefixes.any(|prefix| prefix.contains(address))
}

fn written(prefixes: &AnyOf<Prefix>) -> String {
    let of_all = |prefix: &Prefix| if prefix.is_v4() { 32 } else { 128 };
    let one = |prefix: &Prefix| match prefix.length() == of_all(prefix) {
        true => prefix.network().to_string(),
        false => format!("{}/{}", prefix.network(), prefix.length()),
    };
    prefixes.iter().map(one).collect::<Vec<_>>().join(" or ")
}

/// Packets of a workload in one direction.
struct Stream {
    ends: [Address; 2],
    ports: [RangeInclusive<u16>; 2],
    protocol: Protocol,
}

/// The packets of all workloads, in each IP version that both hosts have.
fn streams(scenario: &Scenario) -> impl Iterator<Item = Stream> {
    scenario.workloads.iter().flat_map(move |workload| {
        let (protocol, port) = sent_to(&workload.kind);
        let ports = [EPHEMERAL, port..=port];
        let both_ways = workload.kind.uses_tcp();
        workload.kind.pairs().iter().flat_map(move |&(from, to)| {
            let ports = ports.clone();
            IpVersion::ALL.into_iter().flat_map(move |ip| {
                let ends = scenario.addresses.get(from, ip).zip(scenario.addresses.get(to, ip));
                let there = ends.map(|(src, dst)| Stream {
                    ends: [src, dst],
                    ports: ports.clone(),
                    protocol,
                });
                let back = there.as_ref().filter(|_| both_ways).map(Stream::reversed);
                there.into_iter().chain(back)
            })
        })
    })
}

/// The protocol of a workload, and the port of its servers or receivers.
fn sent_to(kind: &WorkloadKind) -> (Protocol, u16) {
    match kind {
        WorkloadKind::Transfers(transfers) => (Protocol::TCP, transfers.port),
        WorkloadKind::Bulk(bulk) => (Protocol::TCP, bulk.port),
        WorkloadKind::Web(web) => (Protocol::TCP, web.sessions.port),
        WorkloadKind::Telnet(telnet) => (Protocol::TCP, telnet.sessions.port),
        WorkloadKind::Ftp(ftp) => (Protocol::TCP, ftp.sessions.port),
        WorkloadKind::Cbr(cbr) => (Protocol::UDP, cbr.port),
        WorkloadKind::Poisson(poisson) => (Protocol::UDP, poisson.port),
    }
}

impl Stream {
    fn reversed(&self) -> Stream {
        let ([src, dst], [src_port, dst_port]) = (self.ends, self.ports.clone());
        Stream { ends: [dst, src], ports: [dst_port, src_port], protocol: self.protocol }
    }

    /// Whether some of its packets may match, judged by addresses, protocol and ports.
    fn fits(&self, rule: &MultiField) -> bool {
        let MultiField { src, dst, src_ports, dst_ports, ports, protocol, dscps: _, sender: _ } =
            rule;
        let lies = |prefixes: &Option<AnyOf<Prefix>>, address| {
            prefixes.as_ref().is_none_or(|prefixes| lies_in(prefixes, address))
        };
        let meets = |asked: &Option<AnyOf<PortRange>>, own: &RangeInclusive<u16>| {
            asked.as_ref().is_none_or(|asked| asked.any(|range| overlaps(range, own)))
        };
        let ([from, to], [from_port, to_port]) = (self.ends, &self.ports);
        lies(src, from)
            && lies(dst, to)
            && protocol.as_ref().is_none_or(|list| list.any(|one| *one == self.protocol))
            && meets(src_ports, from_port)
            && meets(dst_ports, to_port)
            && (meets(ports, from_port) || meets(ports, to_port))
    }
}

fn overlaps(range: &PortRange, own: &RangeInclusive<u16>) -> bool {
    let [first, last] = range.ends();
    first <= *own.end() && *own.start() <= last
}
