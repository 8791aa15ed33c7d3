//! Checks nodes and links.

use std::collections::BTreeMap;
use std::ops::Range;

use shortflow_elements::dropper::LossParams;
use shortflow_text::{Document, NAME_RULE, is_name};
use shortflow_units::{Bytes, Length, LinkLayer, Rate};

use super::members::members;
use crate::file::{LinkFile, OneOrList, PerLink, ScenarioFile};
use crate::files::Files;
use crate::loss;
use crate::model::{Line, Link, Node, NodeId, NodeKind};
use crate::rate_over_time::{self, Steps};

/// The nodes and links of a scenario, with indices.
pub(super) struct Topology {
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    /// The members of each group, by name.
    groups: Vec<(String, Range<u32>)>,
    /// The link between two nodes, in both directions.
    joined: BTreeMap<(NodeId, NodeId), usize>,
    /// The island of each router, by number.
    islands: Vec<Option<u32>>,
}

impl Topology {
    pub(super) fn check(
        document: &mut Document,
        file: &ScenarioFile,
        files: &Files<'_>,
    ) -> Topology {
        let mut topology = Topology {
            nodes: Vec::new(),
            links: Vec::new(),
            groups: Vec::new(),
            joined: BTreeMap::new(),
            islands: Vec::new(),
        };
        let hosts = file.hosts.iter().map(|(name, group)| (name, group.count));
        topology.add_nodes(document, "hosts", NodeKind::Host, hosts);
        let routers = file.routers.iter().map(|(name, group)| (name, group.count));
        topology.add_nodes(document, "routers", NodeKind::Router, routers);
        for (name, link) in file.links.iter() {
            topology.add_links(document, files, name, link);
        }
        topology.find_islands();
        // Both ends of an invalid link seem to have no link, which is no further mistake.
        if document.is_sound() {
            topology.check_joined(document);
        }
        topology
    }

    fn add_nodes<'f>(
        &mut self,
        document: &mut Document,
        table: &str,
        kind: NodeKind,
        groups: impl Iterator<Item = (&'f str, i64)>,
    ) {
        for (name, count) in groups {
            let path = format!("{table}.{name}");
            if !is_name(name) {
                document.mistake_in_key(&path, format!("`{name}` is not a valid name"), NAME_RULE);
            }
            if self.groups.iter().any(|(other, _)| other == name) {
                let message = format!("a host and a router have the same name `{name}`");
                document.mistake_in_key(&path, message, "rename one of them");
            }
            // The name is known, even if the number is invalid.
            let count = self.checked_count(document, &format!("{path}.count"), count).unwrap_or(1);
            let first = self.nodes.len() as u32;
            self.groups.push((name.to_owned(), first..first + count));
            for index in 0..count {
                let name = member(name, count, index);
                let group = self.groups[self.groups.len() - 1].0.clone();
                self.nodes.push(Node { name, kind, group });
            }
        }
    }

    /// The number of members of a group, within the limit on all nodes.
    fn checked_count(&self, document: &mut Document, path: &str, count: i64) -> Option<u32> {
        let room = i64::from(MAX_NODES) - self.nodes.len() as i64;
        if (1..=room).contains(&count) {
            return Some(count as u32);
        }
        // Another group may take all the room, so the message names the sum.
        let (message, help) = match self.nodes.len() {
            others if others > 0 && (1..=i64::from(MAX_NODES)).contains(&count) => (
                format!(
                    "{} hosts and routers are too many; the maximum is {MAX_NODES}",
                    others as i64 + count
                ),
                format!("this group has {count}; the groups before it have {others}"),
            ),
            _ => (format!("count must be 1 to {MAX_NODES}; found {count}"), String::new()),
        };
        document.mistake(path, message, help);
        None
    }

    /// The nodes that `name` means, in rising order: a group, one member such as `user[17]`, or a slice such
    /// as `user[2::5]`.
    pub(super) fn find(
        &self,
        document: &mut Document,
        path: &str,
        name: &str,
    ) -> Option<Vec<NodeId>> {
        let (group, chosen) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((group, chosen)) => (group, Some(chosen)),
            None => (name, None),
        };
        let Some((_, range)) = self.groups.iter().find(|(other, _)| other == group) else {
            let names: Vec<&str> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
            document.unknown(path, "host or router", group, "hosts and routers", &names);
            return None;
        };
        let Some(chosen) = chosen else { return Some(range.clone().map(NodeId).collect()) };
        match members(chosen, range.len() as u32) {
            Ok(members) => {
                Some(members.into_iter().map(|index| NodeId(range.start + index)).collect())
            }
            Err(reason) => {
                let message = format!("invalid name `{name}`: {reason}");
                document.mistake(path, message, MEMBERS);
                None
            }
        }
    }

    /// The nodes that a name means, or each name of a list, in its order.
    pub(super) fn find_all(
        &self,
        document: &mut Document,
        path: &str,
        names: &OneOrList<String>,
    ) -> Option<Vec<NodeId>> {
        if names.values.is_empty() {
            document.mistake(path, "the list is empty", "list at least one host or router");
            return None;
        }
        let each = names.values.iter().enumerate();
        let found: Vec<Option<Vec<NodeId>>> = each
            .map(|(index, name)| {
                let path = if names.is_list { format!("{path}.{index}") } else { path.to_owned() };
                self.find(document, &path, name)
            })
            .collect();
        Some(found.into_iter().collect::<Option<Vec<_>>>()?.concat())
    }

    /// The numbers of a group's members.
    pub(super) fn members(&self, group: &str) -> Option<Range<u32>> {
        self.groups.iter().find(|(name, _)| name == group).map(|(_, members)| members.clone())
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The link that joins `a` and `b`.
    pub(super) fn link(&self, a: NodeId, b: NodeId) -> Option<&Link> {
        self.joined.get(&(a, b)).map(|&index| &self.links[index])
    }

    /// The nodes next to `node`.
    pub(super) fn neighbours(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let from = (node, NodeId(0))..=(node, NodeId(u32::MAX));
        self.joined.range(from).map(|((_, to), _)| *to)
    }

    /// The number of nodes with several links.
    pub(super) fn with_several_links(&self) -> usize {
        let mut links = vec![0_u32; self.nodes.len()];
        for (from, _) in self.joined.keys() {
            links[from.index()] += 1;
        }
        links.into_iter().filter(|links| *links > 1).count()
    }

    /// Whether a path leads from `a` to `b`. Hosts do not forward.
    pub(super) fn connects(&self, a: NodeId, b: NodeId) -> bool {
        let near_b: Vec<u32> = self.islands_at(b).collect();
        self.link(a, b).is_some() || self.islands_at(a).any(|island| near_b.contains(&island))
    }

    /// The islands of routers that contain `node` or a neighbour of it.
    fn islands_at(&self, node: NodeId) -> impl Iterator<Item = u32> {
        let own = std::iter::once(node);
        own.chain(self.neighbours(node)).filter_map(|node| self.islands[node.index()])
    }

    /// Numbers the islands: sets of routers that reach each other over routers.
    fn find_islands(&mut self) {
        self.islands = vec![None; self.nodes.len()];
        let is_router = |node: &Node| node.kind == NodeKind::Router;
        for first in (0..self.nodes.len()).filter(|&index| is_router(&self.nodes[index])) {
            if self.islands[first].is_some() {
                continue;
            }
            let mut next = vec![NodeId(first as u32)];
            while let Some(node) = next.pop() {
                if self.islands[node.index()].replace(first as u32).is_none() {
                    next.extend(self.neighbours(node).filter(|near| is_router(self.node(*near))));
                }
            }
        }
    }

    fn check_joined(&self, document: &mut Document) {
        for (group, members) in &self.groups {
            let alone = members.clone().find(|&id| self.neighbours(NodeId(id)).next().is_none());
            if let Some(id) = alone {
                let node = self.node(NodeId(id));
                let table = match node.kind {
                    NodeKind::Host => "hosts",
                    NodeKind::Router => "routers",
                };
                let message = format!("no link connects `{}` to the network", node.name);
                let help = format!("add a link with `between = [\"{group}\", \"…\"]`");
                document.mistake_in_key(&format!("{table}.{group}"), message, help);
            }
        }
    }
}

/// Adds links.
impl Topology {
    fn add_links(
        &mut self,
        document: &mut Document,
        files: &Files<'_>,
        name: &str,
        file: &LinkFile,
    ) {
        let path = format!("links.{name}");
        if !is_name(name) {
            document.mistake_in_key(&path, format!("`{name}` is not a valid name"), NAME_RULE);
        }
        let [first, second] = &file.between;
        let first = self.find(document, &format!("{path}.between.0"), first);
        let second = self.find(document, &format!("{path}.between.1"), second);
        let lines = Lines::check(document, files, &path, file);
        let (Some(first), Some(second), Some(lines)) = (first, second, lines) else { return };
        let Some(pairs) = pair_up(&first, &second) else {
            let message = format!("cannot pair {} nodes with {}", first.len(), second.len());
            document.mistake(&format!("{path}.between"), message, PAIRING);
            return;
        };
        if !lines.fit(document, &path, pairs.len()) {
            return;
        }
        for (index, &(a, b)) in pairs.iter().enumerate() {
            if a == b {
                let message = format!("the link connects `{}` to itself", self.node(a).name);
                let help = "name two different nodes in `between`";
                document.mistake(&format!("{path}.between"), message, help);
                return;
            }
            if let Some(other) = self.link(a, b) {
                let (a, b) = (&self.node(a).name, &self.node(b).name);
                let message = format!("the link `{}` already connects `{a}` and `{b}`", other.name);
                let help = "two nodes can have at most one link: remove one of the two";
                document.mistake(&format!("{path}.between"), message, help);
                return;
            }
            let [forward, back] = [Way::Forward, Way::Back].map(|way| lines.line(index, way));
            if let Some(line) = [&forward, &back].into_iter().find(|line| takes_no_time(line)) {
                refuse_instant(document, &path, line);
                return;
            }
            self.joined.insert((a, b), self.links.len());
            self.joined.insert((b, a), self.links.len());
            let name = member(name, pairs.len() as u32, index as u32);
            self.links.push(Link { name, a, b, forward, back });
        }
    }
}

/// Whether the smallest packet can leave and arrive in the same nanosecond. Such packets would have no order.
fn takes_no_time(line: &Line) -> bool {
    line.delay.is_zero()
        && line.max_rate().bits_per_sec() > fastest_without_delay(line).bits_per_sec()
}

/// The rate at which the smallest packet takes one nanosecond.
fn fastest_without_delay(line: &Line) -> Rate {
    Rate::from_bits_per_sec(
        line.link_layer.wire_size(Bytes(MIN_PACKET.into())).0 * 8 * 1_000_000_000,
    )
}

fn refuse_instant(document: &mut Document, path: &str, line: &Line) {
    let message = format!(
        "at {} and without a delay, a packet of {MIN_PACKET} B would arrive in the same \
         nanosecond in which it is sent",
        line.max_rate()
    );
    let help = format!(
        "set a delay, such as \"1 us\", or a rate of at most {}",
        fastest_without_delay(line)
    );
    document.mistake(&format!("{path}.delay"), message, help);
}

/// Bytes of the smallest packet: the headers of UDP and IPv4.
pub(super) const MIN_PACKET: u32 = 28;

#[derive(Clone, Copy)]
enum Way {
    Forward,
    Back,
}

impl<T: Copy> PerLink<T> {
    /// The value for the link `index` of its group.
    fn get(&self, index: usize, way: Way) -> T {
        match (self, way) {
            (PerLink::Both(value), _) => *value,
            (PerLink::List(values), _) => values[index % values.len()],
            (PerLink::Directed { forward, .. }, Way::Forward) => *forward,
            (PerLink::Directed { back, .. }, Way::Back) => *back,
        }
    }

    /// The length of a list; `None` if it is not a list.
    fn list_length(&self) -> Option<usize> {
        match self {
            PerLink::List(values) => Some(values.len()),
            PerLink::Both(_) | PerLink::Directed { .. } => None,
        }
    }

    fn all(&self) -> Vec<T> {
        match self {
            PerLink::Both(value) => vec![*value],
            PerLink::List(values) => values.clone(),
            PerLink::Directed { forward, back } => vec![*forward, *back],
        }
    }
}

/// The checked settings of a group of links.
struct Lines<'f> {
    file: &'f LinkFile,
    limit: PerLink<Length>,
    link_layer: LinkLayer,
    loss: [Option<LossParams>; 2],
    rates: [Option<Steps>; 2],
}

impl<'f> Lines<'f> {
    fn check(
        document: &mut Document,
        files: &Files<'_>,
        path: &str,
        file: &'f LinkFile,
    ) -> Option<Lines<'f>> {
        let default = PerLink::Both(Length::Packets(DEFAULT_LIMIT));
        let limit = file.queue.clone().unwrap_or(default);
        let mut fine = true;
        let mut refuse = |key: &str, message: &str, help: &str| {
            document.mistake(&format!("{path}.{key}"), message, help);
            fine = false;
        };
        if file.rate.all().iter().any(|rate| rate.is_zero()) {
            refuse("rate", "the rate of a link must be above zero", "");
        }
        let is_empty =
            |limit: &Length| matches!(limit, Length::Packets(0) | Length::Bytes(Bytes(0)));
        if limit.all().iter().any(is_empty) {
            refuse(
                "queue",
                "a queue must hold at least one packet; its limit is zero",
                "write, for example, \"1000 pkt\"",
            );
        }
        let lists = [
            ("rate", file.rate.all().len()),
            ("delay", file.delay.all().len()),
            ("queue", limit.all().len()),
        ];
        for (key, _) in lists.into_iter().filter(|(_, length)| *length == 0) {
            refuse(key, "the list is empty", "list at least one value");
        }
        let layer = file.link_layer.unwrap_or_default();
        let link_layer = match file.overhead {
            Some(overhead) => layer.with_overhead(overhead.0 as i64).unwrap_or_else(|| {
                let max = LinkLayer::MAX_BYTES;
                let message = format!("overhead must be 0 B to {max} B; found {overhead}");
                refuse("overhead", &message, "give the bytes of the link's headers");
                layer
            }),
            None => layer,
        };
        let loss = match &file.loss {
            Some(loss) => loss::both_ways(document, &format!("{path}.loss"), loss)?,
            None => [None, None],
        };
        let rates = match &file.rate_over_time {
            Some(rates) => {
                let path = format!("{path}.rate_over_time");
                rate_over_time::both_ways(document, files, &path, rates)?
            }
            None => [None, None],
        };
        fine.then_some(Lines { file, limit, link_layer, loss, rates })
    }

    /// Whether each list has a length that divides the number of links.
    fn fit(&self, document: &mut Document, path: &str, links: usize) -> bool {
        let lists = [
            ("rate", self.file.rate.list_length()),
            ("delay", self.file.delay.list_length()),
            ("queue", self.limit.list_length()),
        ];
        let wrong = |length: usize| !links.is_multiple_of(length);
        let mut fits = true;
        for (key, length) in lists.into_iter().filter_map(|(key, length)| Some((key, length?))) {
            if !wrong(length) {
                continue;
            }
            let message = match links {
                1 => format!("{length} values of `{key}` for one link"),
                _ => format!("{length} values of `{key}` for {links} links"),
            };
            let help = match links {
                1 => "write one value, or { forward = …, back = … } for the two directions; a [[sweep]] runs the \
                      scenario with each value of a list"
                    .to_owned(),
                _ => format!(
                    "write one value, or a list that repeats a whole number of times over the links: of {} values",
                    lengths(links)
                ),
            };
            document.mistake(&format!("{path}.{key}"), message, help);
            fits = false;
        }
        fits
    }

    fn line(&self, index: usize, way: Way) -> Line {
        let rate = self.file.rate.get(index, way);
        Line {
            rate,
            rate_over_time: self.rates[way as usize].as_ref().map(|steps| steps.schedule(rate)),
            delay: self.file.delay.get(index, way),
            limit: self.limit.get(index, way),
            link_layer: self.link_layer,
            loss: self.loss[way as usize].clone(),
        }
    }
}

/// The longest list lengths that fit this number of links, in words.
fn lengths(links: usize) -> String {
    let fitting = (2..=links).rev().filter(|length| links.is_multiple_of(*length));
    let mut few: Vec<String> = fitting.take(3).map(|length| length.to_string()).collect();
    few.reverse();
    few.join(" or ")
}

/// Pairs the members of two groups: one to one if they have the same size, in blocks if one size is a
/// multiple of the other (`i` of n·k with `i / k` of n).
pub(super) fn pair_up(a: &[NodeId], b: &[NodeId]) -> Option<Vec<(NodeId, NodeId)>> {
    let (n, m) = (a.len(), b.len());
    if n >= m && n % m == 0 {
        Some((0..n).map(|i| (a[i], b[i / (n / m)])).collect())
    } else if m % n == 0 {
        Some((0..m).map(|i| (a[i / (m / n)], b[i])).collect())
    } else {
        None
    }
}

fn member(name: &str, count: u32, index: u32) -> String {
    if count == 1 { name.to_owned() } else { format!("{name}[{index}]") }
}

/// The help about unknown members.
const MEMBERS: &str = "write `name[17]` for one member, or `name[first:end:step]` for a slice, which \
                       does not include `end`; indices begin at 0";

/// The help if [`pair_up`] finds no pairs.
pub(super) const PAIRING: &str = "the groups must have the same size, or the size of one must be a multiple of the \
                                   other's";

const MAX_NODES: u32 = 1_000_000;
const DEFAULT_LIMIT: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_pair_one_to_one_or_in_blocks() {
        let nodes = |range: Range<u32>| range.map(NodeId).collect::<Vec<_>>();
        let pairs = |a, b| {
            let pairs = pair_up(&nodes(a), &nodes(b))?;
            Some(pairs.iter().map(|(a, b)| (a.0, b.0)).collect::<Vec<_>>())
        };
        assert_eq!(pairs(0..2, 5..7), Some(vec![(0, 5), (1, 6)]));
        assert_eq!(pairs(0..4, 5..7), Some(vec![(0, 5), (1, 5), (2, 6), (3, 6)]));
        assert_eq!(pairs(0..1, 5..7), Some(vec![(0, 5), (0, 6)]));
        assert_eq!(pairs(0..3, 5..7), None);
    }
}
