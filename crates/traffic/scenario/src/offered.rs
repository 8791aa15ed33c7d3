//! The load that workloads offer to each link, even if it exceeds the link's rate.
//!
//! Only transfers and datagrams have a known load, because they do not depend on the network. The load of
//! sessions and endless flows depends on the throughput that they get, so only their names are listed. Data
//! count with headers and link layer overhead. Acknowledgements and connection setup do not count.

use std::collections::{BTreeMap, VecDeque};

use crate::model::{NodeId, NodeKind, Scenario};
use crate::workloads::Offer;

/// The load that workloads offer to the links of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedLoad {
    /// Each direction of each link, forward then back, in the order of the links.
    pub lines: Vec<LineLoad>,
    /// The indices of workloads whose load depends on the throughput that they get.
    pub elastic: Vec<usize>,
}

/// The load offered to one direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LineLoad {
    /// The node that sends.
    pub from: NodeId,
    /// The node at the other end.
    pub to: NodeId,
    /// The rate of the link in bit/s, on average over the run.
    pub rate: f64,
    /// Bits per second of each workload that sends here, by index.
    pub workloads: BTreeMap<usize, f64>,
}

impl LineLoad {
    /// Bits per second of all workloads together.
    pub fn total(&self) -> f64 {
        // `sum` of an empty iterator of floats is -0.
        self.workloads.values().fold(0.0, |sum, bits| sum + bits)
    }

    /// The total divided by the rate of the link. Above 1 the link is overloaded; without a rate any load overloads it.
    pub fn share(&self) -> f64 {
        let total = self.total();
        if total > 0.0 { total / self.rate } else { 0.0 }
    }
}

/// The traffic of one workload from one node to another.
struct Demand {
    workload: usize,
    from: NodeId,
    to: NodeId,
    offer: Offer,
}

impl Scenario {
    /// The load that workloads offer to each link while all of them are active.
    pub fn offered_load(&self) -> OfferedLoad {
        let mut elastic = Vec::new();
        let mut demands = Vec::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            match workload.kind.traffic().offers(&workload.tcp) {
                Some(offers) => demands.extend(offers.into_iter().map(|offer| {
                    let Offer { from, to, .. } = offer;
                    Demand { workload: index, from, to, offer }
                })),
                None => elastic.push(index),
            }
        }
        let mut routed = Routed::new(self, self.idle_lines());
        routed.add(demands);
        OfferedLoad { lines: routed.lines, elastic }
    }

    /// Each direction of each link, without load.
    fn idle_lines(&self) -> Vec<LineLoad> {
        let lines = self.links.iter().flat_map(|link| {
            let line =
                |from, to, rate: f64| LineLoad { from, to, rate, workloads: BTreeMap::new() };
            [
                line(link.a, link.b, link.forward.mean_rate(self.duration).bytes_per_sec() * 8.0),
                line(link.b, link.a, link.back.mean_rate(self.duration).bytes_per_sec() * 8.0),
            ]
        });
        lines.collect()
    }
}

impl Scenario {
    /// The ports, as (node, next node), that the packets of a workload pass in both directions.
    pub(crate) fn ports_of(&self, workload: usize) -> Vec<(NodeId, NodeId)> {
        let pairs = self.workloads[workload].kind.traffic().pairs();
        let both = pairs.iter().flat_map(|&(one, other)| [(one, other), (other, one)]);
        let demand = |(from, to)| {
            let offer = Offer { from, to, bytes: 1.0, packets: 1.0 };
            Demand { workload, from, to, offer }
        };
        let demands = both.map(demand).collect();
        let mut routed = Routed::new(self, self.idle_lines());
        routed.add(demands);
        let passed = routed.lines.iter().filter(|line| line.workloads.contains_key(&workload));
        passed.map(|line| (line.from, line.to)).collect()
    }
}

impl Scenario {
    /// The lines (forward, then back, in the order of links) that packets of each pair pass from its first
    /// node to its second.
    pub fn ways(&self, pairs: &[(NodeId, NodeId)]) -> Vec<Vec<usize>> {
        let demands = pairs.iter().enumerate().map(|(index, &(from, to))| {
            let offer = Offer { from, to, bytes: 1.0, packets: 1.0 };
            Demand { workload: index, from, to, offer }
        });
        let demands = demands.collect();
        let mut routed = Routed::new(self, self.idle_lines());
        routed.add(demands);
        let mut ways = vec![Vec::new(); pairs.len()];
        for (line, load) in routed.lines.iter().enumerate() {
            load.workloads.keys().for_each(|&pair| ways[pair].push(line));
        }
        ways
    }
}

/// Routes demands as packets are routed: fewest hops, and the first link in case of ties.
struct Routed<'s> {
    scenario: &'s Scenario,
    lines: Vec<LineLoad>,
    /// The lines that leave each node, in order.
    out: Vec<Vec<usize>>,
}

impl<'s> Routed<'s> {
    fn new(scenario: &'s Scenario, lines: Vec<LineLoad>) -> Self {
        let mut out = vec![Vec::new(); scenario.nodes.len()];
        for (index, line) in lines.iter().enumerate() {
            out[line.from.index()].push(index);
        }
        Routed { scenario, lines, out }
    }

    fn add(&mut self, demands: Vec<Demand>) {
        // All traffic to a node takes the same path from where it meets. A node with one link is reached over
        // its neighbour, so one search serves all nodes behind a router.
        let mut by_target: BTreeMap<NodeId, Vec<Demand>> = BTreeMap::new();
        for mut demand in demands {
            if self.step(&mut demand) {
                continue;
            }
            if let [line] = self.out[demand.to.index()][..] {
                // The line to a node is the reverse of the line from it.
                self.load(line ^ 1, &demand);
                demand.to = self.lines[line].to;
            }
            if demand.from != demand.to {
                by_target.entry(demand.to).or_default().push(demand);
            }
        }
        for (target, demands) in by_target {
            self.spread(target, &demands);
        }
    }

    /// Moves a demand over the only or the direct line of its sender. Returns whether it has arrived.
    fn step(&mut self, demand: &mut Demand) -> bool {
        let out = &self.out[demand.from.index()];
        let direct = out.iter().find(|line| self.lines[**line].to == demand.to);
        let Some(&line) = direct.or(if out.len() == 1 { out.first() } else { None }) else {
            return false;
        };
        self.load(line, demand);
        demand.from = self.lines[line].to;
        demand.from == demand.to
    }

    /// Routes `demands` to `target`.
    fn spread(&mut self, target: NodeId, demands: &[Demand]) {
        let next = self.next_lines(target);
        for demand in demands {
            let mut at = demand.from;
            while at != target {
                // In a checked scenario every workload has a path.
                let Some(line) = next[at.index()] else { break };
                self.load(line, demand);
                at = self.lines[line].to;
            }
        }
    }

    /// The line by which each node sends to `target`.
    fn next_lines(&self, target: NodeId) -> Vec<Option<usize>> {
        let mut hops: Vec<Option<u32>> = vec![None; self.out.len()];
        hops[target.index()] = Some(0);
        let mut next = vec![None; self.out.len()];
        let mut queue = VecDeque::from([(target, 0)]);
        while let Some((node, distance)) = queue.pop_front() {
            for &line in &self.out[node.index()] {
                let near = self.lines[line].to;
                // The reverse direction of the same link.
                let back = line ^ 1;
                match hops[near.index()] {
                    None => {
                        hops[near.index()] = Some(distance + 1);
                        next[near.index()] = Some(back);
                        if self.scenario.nodes[near.index()].kind == NodeKind::Router {
                            queue.push_back((near, distance + 1));
                        }
                    }
                    Some(found) if found == distance + 1 => {
                        next[near.index()] = next[near.index()].min(Some(back));
                    }
                    Some(_) => {}
                }
            }
        }
        next
    }

    fn load(&mut self, line: usize, demand: &Demand) {
        let link = &self.scenario.links[line / 2];
        let way = if line.is_multiple_of(2) { &link.forward } else { &link.back };
        let Offer { bytes, packets, .. } = demand.offer;
        // Assumes that all packets have the mean size, which matters only for cells.
        let bytes = match packets > 0.0 {
            true => packets * way.link_layer.mean_wire_size(bytes / packets),
            false => bytes,
        };
        *self.lines[line].workloads.entry(demand.workload).or_default() += bytes * 8.0;
    }
}
