//! Builds an engine from a checked scenario.

use std::sync::Arc;

use shortflow_elements::Conditioner;
use shortflow_elements::dropper::LinkLoss;
use shortflow_measure::{Recorder, TransferSink};
use shortflow_packet::{Dscp, Label, Protocol};
use shortflow_policy::{PortSite, Role};
use shortflow_run::{
    TcpInfoLog, code_points, end_of, ingress_name, plan, port_name, ports, role_at, seed_of,
};
use shortflow_scenario::{
    Direction, Line, MAX_STREAMS, NodeId, NodeKind, Scenario, Workload, WorkloadKind,
};
use shortflow_units::Rng;

use crate::engine::Engine;
use crate::host::source::{Connections, Source, Stream, StreamId};
use crate::network::ends::{FarEnd, NearEnd};
use crate::network::index::{PortId, Ports};
use crate::network::key::{NodeKey, Transport};
use crate::network::layout::{Colors, Hop, Network, Roles};
use crate::network::line::Line as Wire;
use crate::network::port::Port;
use crate::network::routes::Routes;
use crate::record::counters::{CodePoints, Counters};
use crate::record::flow_sampler::FlowSampler;
use crate::record::sampler::Sampler;
use crate::record::tcp_sampler::TcpSampler;

/// An engine, and what it records at the end.
pub(crate) struct Build {
    pub(crate) engine: Engine,
    /// The reported ports, in the order of the plan.
    pub(crate) watched: Vec<PortId>,
}

/// Builds replica number `replica` of `scenario`. Every element is new, and has the random stream named after
/// its place.
pub(crate) fn engine(
    scenario: &Scenario,
    replica: u32,
    transfers: Option<TransferSink>,
    tcp_info: Option<TcpInfoLog>,
) -> Build {
    let seed = seed_of(scenario.seed, replica);
    let (network, watched) = network_alone(scenario, replica);
    let plan = plan(scenario);
    let (sources, streams) = sources(scenario, seed, replica);
    let sampler = Sampler::new(&watched, scenario.measure.series_interval);
    let flow_sampler = FlowSampler::new(scenario.measure.flow_samples, plan.warm_up, plan.end);
    let tcp_sampler = TcpSampler::new(tcp_info, end_of(scenario));
    let recorder = Recorder::new(&plan, transfers);
    let samplers = (sampler, flow_sampler, tcp_sampler);
    let engine = Engine::new(network, sources, streams, samplers, recorder);
    Build { engine, watched }
}

/// Builds ports, routes and bound roles, and selects the reported ports.
pub(crate) fn network_alone(scenario: &Scenario, replica: u32) -> (Network, Vec<PortId>) {
    let seed = seed_of(scenario.seed, replica);
    let code_points = CodePoints::new(&code_points(scenario));
    (network(scenario, seed, &code_points), watched(scenario))
}

/// An upper limit on the entities of the event queue: the arrivals of each port, the departures of each port
/// with a policy's queue, the sources, the timers, the sampler.
pub(crate) fn entities(scenario: &Scenario) -> usize {
    let has_departures = |(from, to, _): &(NodeId, NodeId, &Line)| {
        role_at(scenario, *from, Direction::To(*to)).is_some_and(|role| role.queues())
    };
    let served = ports(scenario).filter(has_departures).count();
    // Each stream of datagrams is a source, and so is each workload over TCP.
    let sources = scenario.workloads.iter().map(|workload| {
        workload.kind.traffic().datagrams().map_or(1, |datagrams| datagrams.streams)
    });
    ports(scenario).count() + served + sources.sum::<usize>() + 2
}

/// The pairs of hosts that exchange packets.
pub(crate) fn pairs(scenario: &Scenario) -> Vec<(NodeId, NodeId)> {
    scenario.workloads.iter().flat_map(|workload| workload.kind.pairs()).copied().collect()
}

fn network(scenario: &Scenario, seed: u64, code_points: &CodePoints) -> Network {
    let ends: Vec<(NodeId, NodeId)> = ports(scenario).map(|(from, to, _)| (from, to)).collect();
    let forwards: Vec<bool> =
        scenario.nodes.iter().map(|node| node.kind == NodeKind::Router).collect();
    let hops = ports(scenario)
        .map(|(from, to, line)| hop(scenario, seed, from, to, line, code_points))
        .collect();
    let port_names = ports(scenario).map(|(from, to, _)| port_name(scenario, from, to)).collect();
    let ingress_names =
        ports(scenario).map(|(from, to, _)| ingress_name(scenario, from, to)).collect();
    Network {
        ports: Ports::new(hops),
        port_names,
        ingress_names,
        nodes: scenario.nodes.len(),
        addresses: Arc::clone(&scenario.addresses),
        routes: Routes::new(&forwards, &ends),
        colors: colors(scenario),
        labels: scenario.workloads.iter().map(|workload| label(scenario, workload)).collect(),
    }
}

/// The label of a workload's connections, if the policy mentions it.
fn label(scenario: &Scenario, workload: &Workload) -> Label {
    scenario.policy.as_ref().map_or(Label::NONE, |policy| policy.label(&workload.label))
}

fn hop(
    scenario: &Scenario,
    seed: u64,
    from: NodeId,
    to: NodeId,
    line: &Line,
    code_points: &CodePoints,
) -> Hop {
    let name = port_name(scenario, from, to);
    let site = PortSite { name: &name, seed, rate: line.rate };
    let egress = role_at(scenario, from, Direction::To(to));
    let is_reported = scenario.measure.ports.contains(&(from, to));
    let counters = Counters::new(is_reported.then_some(code_points));
    let Line { rate, rate_over_time, delay, limit, link_layer, loss } = line;
    let wire = Wire::new(*rate, *delay, *link_layer).with_schedule(rate_over_time.clone());
    let port = if let Some(gate) = egress.and_then(|role| role.gate(site)) {
        Port::gated(gate, wire, counters)
    } else if let Some(queue) = egress.and_then(|role| role.queue(site)) {
        Port::with_queue(queue, wire, counters)
    } else {
        Port::plain(wire, *limit, counters)
    };
    let loss = loss
        .as_ref()
        .map(|loss| LinkLoss::new(loss.clone(), Rng::stream(seed, &format!("{name}/loss"))));
    let (near, far) = conditioners(scenario, seed, from, to, line);
    Hop { port, from, to, near: NearEnd::new(near), far: FarEnd::new(loss, far), through: None }
}

/// The conditioners before the port's queue, and those where its link enters the next node.
fn conditioners(
    scenario: &Scenario,
    seed: u64,
    from: NodeId,
    to: NodeId,
    line: &Line,
) -> (Option<Conditioner>, Option<Conditioner>) {
    let (name, ingress_name) = (port_name(scenario, from, to), ingress_name(scenario, from, to));
    let at = |name, role: Option<&Role>| {
        role.and_then(|role| role.conditioner(PortSite { name, seed, rate: line.rate }))
    };
    let near = at(&name, role_at(scenario, from, Direction::To(to)));
    (near, at(&ingress_name, role_at(scenario, to, Direction::From(from))))
}

/// The roles of each port, for a network that is already running.
pub(crate) fn roles(scenario: &Scenario, replica: u32) -> Vec<Roles> {
    let seed = seed_of(scenario.seed, replica);
    let roles = |(from, to, line): (NodeId, NodeId, &Line)| {
        let name = port_name(scenario, from, to);
        let site = PortSite { name: &name, seed, rate: line.rate };
        let (near, far) = conditioners(scenario, seed, from, to, line);
        let egress = role_at(scenario, from, Direction::To(to));
        let queue = egress.and_then(|role| role.queue(site));
        Roles { near, far, queue, limit: line.limit }
    };
    ports(scenario).map(roles).collect()
}

/// Assigns the code points of a scenario's policy to the entries of a tally.
pub(crate) fn colors(scenario: &Scenario) -> Colors {
    let standard = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
    Colors::new(scenario.policy.as_ref().map_or(standard, |policy| policy.code_points()))
}

/// The ports that are reported individually.
fn watched(scenario: &Scenario) -> Vec<PortId> {
    scenario
        .measure
        .ports
        .iter()
        .map(|&(from, to)| {
            let index = ports(scenario).position(|(a, b, _)| (a, b) == (from, to));
            PortId(index.expect("a checked scenario measures ports that exist") as u32)
        })
        .collect()
}

fn sources(scenario: &Scenario, seed: u64, replica: u32) -> (Vec<Source>, Vec<Stream>) {
    let mut sources = Vec::new();
    let mut streams = Vec::new();
    for index in 0..scenario.workloads.len() {
        match shortflow_sessions::build(scenario, index, seed, replica, sources.len() as u32) {
            Some(sessions) => {
                let connections = connections(scenario, index as u16, sessions.port());
                sources.push(Source::Sessions { connections, sessions });
            }
            None => add_sources(scenario, index as u16, seed, &mut sources, &mut streams),
        }
    }
    (sources, streams)
}

/// The connections of workload number `index`, to this port.
fn connections(scenario: &Scenario, index: u16, port: u16) -> Connections {
    let workload = &scenario.workloads[usize::from(index)];
    Connections {
        workload: index,
        pairs: workload.kind.pairs().to_vec(),
        port,
        transport: Transport::new(Protocol::TCP, workload.ip, &scenario.addresses),
        config: Arc::clone(&workload.tcp),
    }
}

fn add_sources(
    scenario: &Scenario,
    index: u16,
    seed: u64,
    sources: &mut Vec<Source>,
    streams: &mut Vec<Stream>,
) {
    let workload = &scenario.workloads[usize::from(index)];
    let name = &workload.name;
    let connections = |port| connections(scenario, index, port);
    match &workload.kind {
        WorkloadKind::Transfers(transfers) => sources.push(Source::Transfers {
            connections: connections(transfers.port),
            arrivals: transfers.arrivals(seed, name).peekable(),
            opened: 0,
        }),
        WorkloadKind::Bulk(bulk) => {
            let mut starts = bulk.starts(seed, name);
            starts.sort_by_key(|start| start.at);
            sources.push(Source::Bulk {
                connections: connections(bulk.port),
                starts: starts.into(),
                size: bulk.size.map(|size| size.0),
            });
        }
        WorkloadKind::Cbr(cbr) => {
            for number in 0..cbr.streams() {
                let ends = *cbr.stream(number).0;
                let stream = add_stream(scenario, index, ends, cbr.port, cbr.dscp, streams);
                let departures = cbr.departures(seed, name, number).peekable();
                sources.push(Source::Cbr { stream, departures });
            }
        }
        WorkloadKind::Poisson(poisson) => {
            for (pair, ends) in poisson.pairs.iter().enumerate() {
                let (port, dscp) = (poisson.port, poisson.dscp);
                let stream = add_stream(scenario, index, *ends, port, dscp, streams);
                let departures = poisson.departures(seed, name, pair).peekable();
                sources.push(Source::Poisson { stream, departures });
            }
        }
        WorkloadKind::Web(_) | WorkloadKind::Telnet(_) | WorkloadKind::Ftp(_) => {
            unreachable!("sessions are built on their own")
        }
    }
}

fn add_stream(
    scenario: &Scenario,
    workload: u16,
    (from, to): (NodeId, NodeId),
    port: u16,
    dscp: Dscp,
    streams: &mut Vec<Stream>,
) -> StreamId {
    let stream = StreamId(streams.len() as u32);
    let ip = scenario.workloads[usize::from(workload)].ip;
    // Each stream has its own source port, so no two share a 5-tuple.
    let key = NodeKey {
        src: from,
        dst: to,
        src_port: (FIRST_STREAM_PORT + stream.0)
            .try_into()
            .expect("a checked scenario has a port for each stream"),
        dst_port: port,
        transport: Transport::new(Protocol::UDP, ip, &scenario.addresses),
    };
    let headers = ip.header() + UDP_HEADER;
    streams.push(Stream { workload, node: from, key, dscp, headers });
    stream
}

/// Bytes of the UDP header.
const UDP_HEADER: u32 = 8;

/// From here on there are as many ports as the limit on streams.
const FIRST_STREAM_PORT: u32 = (1 << 16) - MAX_STREAMS;
