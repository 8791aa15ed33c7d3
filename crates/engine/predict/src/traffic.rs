//! The traffic of a scenario's workloads: routes, demand, and the load of one visit on each line.

use std::sync::Arc;

use shortflow_packet::{Address, Dscp, Protocol};
use shortflow_scenario::{NodeId, Scenario, Workload, WorkloadKind};
use shortflow_tcp::Config;

use crate::demands::{comes_and_goes, demand};
use crate::lines::{Line, ways};
use crate::marks::{Hop, Kind, Meters, Piece, SlowStart};
use crate::sizes::{Listed, listed, mean};
use crate::way::hops;

/// A port that no rule means, as that of who opens a connection.
const EPHEMERAL: u16 = 49_152;

/// Bytes of an IPv4 and a UDP header.
const UDP_HEADERS: f64 = 28.0;

/// A workload, as far as closed forms look at it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) workload: usize,
    pub(crate) tcp: Arc<Config>,
    pub(crate) routes: Vec<Route>,
    pub(crate) demand: Demand,
    /// Whether its packets are a Poisson process.
    pub(crate) is_poisson: bool,
    /// Whether it sends now more and now less in a manner of its own.
    pub(crate) varies: bool,
    /// Why it has no closed form, if so.
    pub(crate) lacks: Option<String>,
}

impl Source {
    /// Whether a flow has several packets on the way, whose order counts: TCP, but for echoes of one packet each.
    pub(crate) fn sends_several(&self) -> bool {
        match &self.demand {
            Demand::Packets { .. } => false,
            Demand::Open { visit, .. } | Demand::Closed { visit, .. } => visit.shape != Shape::Echo,
            Demand::Endless { .. } => true,
        }
    }

    /// Whether some of its packets pass a line.
    pub(crate) fn passes(&self, line: usize) -> bool {
        let hops =
            |route: &'_ Route| route.there.iter().chain(&route.back).any(|hop| hop.line == line);
        self.routes.iter().any(hops)
    }
}

/// A pair of a workload.
#[derive(Debug)]
pub(crate) struct Route {
    /// The two nodes.
    pub(crate) ends: (NodeId, NodeId),
    /// From the first node to the second.
    pub(crate) there: Vec<Hop>,
    /// Back.
    pub(crate) back: Vec<Hop>,
    /// The share of the workload's visits, or its connections, that is this pair's.
    pub(crate) share: f64,
}

impl Route {
    /// The way of a message in this direction.
    pub(crate) fn way(&self, is_there: bool) -> &[Hop] {
        if is_there { &self.there } else { &self.back }
    }
}

/// How much comes, and when.
#[derive(Debug)]
pub(crate) enum Demand {
    /// Packets whatever becomes of them: so many a second over all routes, of these sizes.
    Packets { per_second: f64, sizes: Listed, ages: Ages },
    /// Visits whatever becomes of them.
    Open { per_second: f64, visit: Visit },
    /// The next visit some time after the end of the one before.
    Closed { sessions: f64, pause: f64, visit: Visit },
    /// Connections that send without an end.
    Endless { connections: f64 },
}

/// What each flow that lasts has sent when measuring begins, and when it ends, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ages {
    begin: f64,
    end: f64,
    /// Bytes per second of each.
    pub(crate) rate: f64,
}

impl Ages {
    /// Of flows that have sent all that a thing can depend on.
    pub(crate) const ENDLESS: Ages =
        Ages { begin: f64::INFINITY, end: f64::INFINITY, rate: f64::INFINITY };

    /// Of flows of a workload that send so many bytes a second.
    fn new(scenario: &Scenario, workload: &Workload, rate: f64) -> Ages {
        let (mut begin, mut end) =
            (scenario.warm_up.as_secs_f64(), scenario.duration.as_secs_f64());
        if let Some(arrivals) = workload.kind.traffic().arrivals() {
            let start = arrivals.start.as_secs_f64();
            begin = (begin - start).max(0.0);
            end = (end.min(arrivals.stop.as_secs_f64()) - start).max(begin);
        }
        Ages { begin: begin * rate, end: end * rate, rate }
    }

    /// The share of the packets that are sent from some bytes of their flow on up to others.
    pub(crate) fn share(self, from: f64, to: f64) -> f64 {
        if self.end > self.begin {
            (self.end.min(to) - self.begin.max(from)).max(0.0) / (self.end - self.begin)
        } else {
            f64::from(u8::from(from <= self.end && (self.end < to || to.is_infinite())))
        }
    }

    /// The pieces of a hop that packets belong to, each with its share of them.
    pub(crate) fn pieces(self, hop: &Hop) -> impl Iterator<Item = (&Piece, f64)> {
        let next = hop.pieces.iter().skip(1).map(|piece| piece.from).chain([f64::INFINITY]);
        let pieces = hop.pieces.iter().zip(next);
        pieces.map(move |(piece, next)| (piece, self.share(piece.from, next)))
    }
}

/// What is asked for at a time.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    /// Connections that are opened for it.
    pub(crate) connections: f64,
    /// The messages of a connection, in their order, each as often as it comes on average.
    pub(crate) messages: Vec<Message>,
    /// What it consists of.
    pub(crate) shape: Shape,
}

impl Visit {
    /// Whether its connections stay when it is over.
    pub(crate) fn stays(&self) -> bool {
        matches!(self.shape, Shape::Echo | Shape::Pipeline { stays: true, .. })
    }
}

/// What a visit consists of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// A request and its reply over a connection of their own.
    Exchange,
    /// A request and its reply over a connection that stays.
    Echo,
    /// A file over a connection of its own.
    File,
    /// An index, then so many objects with the share of pages that have so many, over at most so many
    /// connections at a time, each for one object.
    Objects { numbers: Listed, connections: f64 },
    /// An index, then all objects at once over the same connection, which is opened for each page or stays.
    Pipeline { numbers: Listed, stays: bool },
}

/// A message of a visit.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Whether it goes from the first node to the second.
    pub(crate) is_there: bool,
    pub(crate) sizes: Listed,
    /// How many come in a visit, on average.
    pub(crate) count: f64,
    /// Whether the connection has sent so much that only the last marks apply.
    pub(crate) is_late: bool,
    /// How many are sent one after another over one connection, as one message.
    pub(crate) in_line: f64,
}

impl Message {
    pub(crate) fn new(is_there: bool, sizes: Listed, count: f64) -> Message {
        Message { is_there, sizes, count, is_late: false, in_line: 1.0 }
    }
}

/// All workloads, in their order.
pub(crate) fn sources(scenario: &Scenario, lines: &[Line], meters: &mut Meters) -> Vec<Source> {
    let all = scenario.workloads.iter().enumerate();
    all.map(|(index, workload)| source(scenario, lines, meters, index, workload)).collect()
}

fn source(
    scenario: &Scenario,
    lines: &[Line],
    meters: &mut Meters,
    index: usize,
    workload: &Workload,
) -> Source {
    let mut kind = kind(scenario, workload);
    let (demand, lacks) = demand(workload, Ages::new(scenario, workload, kind.rate));
    let comes_and_goes = comes_and_goes(scenario, workload);
    let mut demand = demand;
    let ways = ways(scenario, lines, workload.kind.traffic().pairs());
    let shares = shares(&mut demand, workload, ways.len());
    let routes = ways.iter().zip(shares).filter(|(_, share)| *share > 0.0);
    let routes = routes.map(|(way, share)| {
        kind.addresses = addresses(scenario, workload, way.ends);
        if let WorkloadKind::Telnet(telnet) = &workload.kind {
            // The next character waits for the echo of the one before.
            let delays = way.there.iter().chain(&way.back).map(|line| lines[*line].delay);
            kind.rate = kind.packet / (telnet.pause.mean() + delays.sum::<f64>());
        }
        let ((src, dst), (src_port, dst_port)) = (kind.addresses, kind.ports);
        let turned = Kind { addresses: (dst, src), ports: (dst_port, src_port), ..kind };
        Route {
            ends: way.ends,
            there: hops(scenario, lines, meters, &kind, &way.there),
            back: hops(scenario, lines, meters, &turned, &way.back),
            share,
        }
    });
    let routes = routes.collect();
    let is_poisson = matches!(workload.kind, WorkloadKind::Poisson(_));
    Source {
        workload: index,
        tcp: workload.tcp.clone(),
        routes,
        demand,
        is_poisson,
        varies: comes_and_goes.is_some(),
        lacks: comes_and_goes.or(lacks),
    }
}

/// The share of each of so many ways.
fn shares(demand: &mut Demand, workload: &Workload, ways: usize) -> Vec<f64> {
    let alike = vec![1.0 / ways as f64; ways];
    // Number i of those that stay runs over the i-th pair, round and round.
    let turns = |count: usize| {
        let each = |way: usize| count.saturating_sub(way).div_ceil(ways) as f64;
        (0..ways).map(|way| each(way) / count as f64).collect()
    };
    match (&workload.kind, demand) {
        (WorkloadKind::Cbr(cbr), _) => {
            let mut sums = vec![0.0; ways];
            let streams = (0..cbr.streams()).map(|stream| cbr.stream(stream).1.bytes_per_sec());
            streams.enumerate().for_each(|(stream, rate)| sums[stream % ways] += rate);
            let all: f64 = sums.iter().sum();
            sums.iter().map(|sum| sum / all).collect()
        }
        (_, Demand::Closed { sessions, .. }) => turns(*sessions as usize),
        (_, Demand::Endless { connections }) => turns(*connections as usize),
        _ => alike,
    }
}

/// The addresses of two hosts in the version of IP that a workload speaks.
fn addresses(
    scenario: &Scenario,
    workload: &Workload,
    (from, to): (NodeId, NodeId),
) -> (Address, Address) {
    let of = |node| scenario.addresses.get(node, workload.ip);
    let of = |node| of(node).expect("hosts speak a version that they have");
    (of(from), of(to))
}

fn kind(scenario: &Scenario, workload: &Workload) -> Kind {
    let (mss, header) = (f64::from(workload.tcp.mss), f64::from(workload.tcp.header));
    let mut kind = Kind {
        // Each way has its own.
        addresses: addresses(scenario, workload, workload.kind.traffic().pairs()[0]),
        protocol: Protocol::TCP,
        ports: (EPHEMERAL, 0),
        dscp: Dscp::BEST_EFFORT,
        packet: mss + header,
        header,
        rate: 0.0,
        window: SlowStart::from_config(&workload.tcp),
    };
    match &workload.kind {
        WorkloadKind::Transfers(transfers) => kind.ports.1 = transfers.port,
        WorkloadKind::Bulk(bulk) => kind.ports.1 = bulk.port,
        WorkloadKind::Web(web) => kind.ports.1 = web.sessions.port,
        WorkloadKind::Ftp(ftp) => kind.ports.1 = ftp.sessions.port,
        WorkloadKind::Telnet(telnet) => {
            kind.ports.1 = telnet.sessions.port;
            kind.packet = f64::from(telnet.character) + header;
        }
        WorkloadKind::Cbr(cbr) => {
            kind.protocol = Protocol::UDP;
            kind.ports.1 = cbr.port;
            kind.dscp = cbr.dscp;
            kind.packet = f64::from(cbr.packet);
            kind.header = UDP_HEADERS + f64::from(workload.ip.more());
            kind.rate = cbr.rates.iter().map(|rate| rate.bytes_per_sec()).fold(0.0, f64::max);
        }
        WorkloadKind::Poisson(poisson) => {
            kind.protocol = Protocol::UDP;
            kind.ports.1 = poisson.port;
            kind.dscp = poisson.dscp;
            kind.packet = mean(&listed(&poisson.size), |size| size);
            kind.header = UDP_HEADERS + f64::from(workload.ip.more());
            kind.rate = poisson.rate * kind.packet;
        }
    }
    kind
}
