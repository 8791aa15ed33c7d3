//! Capture points: where packets are captured.

use std::collections::BTreeSet;

use shortflow_scenario::{NodeId, NodeKind, PairEnd, Scenario};

/// A capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CapturePoint {
    /// At a host: all packets that it sends, before its own queue, and all that it receives, as tcpdump shows
    /// them.
    Host(NodeId),
    /// At a port: all packets that leave its link, and all that are dropped at the port or on the link.
    Port {
        /// The node that sends.
        from: NodeId,
        /// The node at the other end.
        to: NodeId,
    },
}

impl CapturePoint {
    /// The name by which the user chooses it.
    pub fn name(&self, scenario: &Scenario) -> String {
        let name = |node: &NodeId| &scenario.nodes[node.index()].name;
        match self {
            CapturePoint::Host(node) => name(node).clone(),
            CapturePoint::Port { from, to } => format!("{}->{}", name(from), name(to)),
        }
    }
}

/// The capture points that `names` select: hosts (`server`), groups of hosts (`client` for `client[0]` and
/// the others) and ports (`r1->r2`). The default is the hosts that send data: servers of transfers, and
/// senders of bulk transfers and of datagrams.
///
/// # Errors
/// When a name is unknown.
pub fn places(
    scenario: &Scenario,
    names: &[String],
) -> Result<Vec<CapturePoint>, UnknownCapturePoint> {
    let mut places = BTreeSet::new();
    if names.is_empty() {
        places.extend(senders(scenario));
    }
    for name in names {
        let found = named(scenario, name);
        if found.is_empty() {
            return Err(UnknownCapturePoint::new(scenario, name));
        }
        places.extend(found);
    }
    Ok(places.into_iter().collect())
}

/// Two hosts among `places` that are the ends of the same connections. Their packets are captured twice.
pub fn both_ends(scenario: &Scenario, places: &[CapturePoint]) -> Option<(NodeId, NodeId)> {
    let is_traced = |node: &NodeId| places.contains(&CapturePoint::Host(*node));
    let connections = scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    let mut pairs = connections.flat_map(|workload| workload.kind.pairs());
    pairs.find(|(a, b)| is_traced(a) && is_traced(b)).copied()
}

fn senders(scenario: &Scenario) -> impl Iterator<Item = CapturePoint> {
    scenario.workloads.iter().flat_map(|workload| {
        let of_pair = |(a, b): &(NodeId, NodeId)| match workload.kind.traffic().sender() {
            PairEnd::First => CapturePoint::Host(*a),
            PairEnd::Second => CapturePoint::Host(*b),
        };
        workload.kind.pairs().iter().map(of_pair)
    })
}

fn named(scenario: &Scenario, name: &str) -> Vec<CapturePoint> {
    let nodes = |name: &str| -> BTreeSet<NodeId> {
        let nodes = (0..).map(NodeId).zip(&scenario.nodes);
        nodes.filter(|(_, n)| n.name == name || n.group == name).map(|(id, _)| id).collect()
    };
    let Some((from, to)) = name.split_once("->") else {
        let is_host = |id: &NodeId| scenario.nodes[id.index()].kind == NodeKind::Host;
        return nodes(name).into_iter().filter(is_host).map(CapturePoint::Host).collect();
    };
    let (from, to) = (nodes(from.trim()), nodes(to.trim()));
    ports(scenario)
        .filter(|(a, b)| from.contains(a) && to.contains(b))
        .map(|(from, to)| CapturePoint::Port { from, to })
        .collect()
}

fn ports(scenario: &Scenario) -> impl Iterator<Item = (NodeId, NodeId)> {
    scenario.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)])
}

/// Neither a host, nor a group of hosts, nor a port has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown host or port \"{name}\"\nwrite a host, a group of hosts or a port, such as {}{}",
    .known.join(", "), if *.has_more { ", …" } else { "" }
)]
pub struct UnknownCapturePoint {
    /// The name.
    pub name: String,
    /// Some names that exist.
    pub known: Vec<String>,
    /// Whether there are more.
    pub has_more: bool,
}

impl UnknownCapturePoint {
    fn new(scenario: &Scenario, name: &str) -> UnknownCapturePoint {
        let mut known = capture_points(scenario);
        let has_more = known.len() > MAX_NAMES;
        known.truncate(MAX_NAMES);
        UnknownCapturePoint { name: name.to_owned(), known, has_more }
    }
}

/// The names of all groups of hosts and ports, those between routers before others.
fn capture_points(scenario: &Scenario) -> Vec<String> {
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    let mut groups: Vec<String> = hosts.map(|host| host.group.clone()).collect();
    groups.dedup();
    let is_router = |node: NodeId| scenario.nodes[node.index()].kind == NodeKind::Router;
    let (between_routers, others): (Vec<_>, Vec<_>) =
        ports(scenario).partition(|(from, to)| is_router(*from) && is_router(*to));
    let ports = between_routers.into_iter().chain(others);
    let mut names = groups;
    names.extend(ports.map(|(from, to)| CapturePoint::Port { from, to }.name(scenario)));
    names
}

/// The limit on names in a message.
const MAX_NAMES: usize = 8;
