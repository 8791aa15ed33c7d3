//! From a checked scenario to an engine that is ready to run.

use std::sync::Arc;

use shortflow_elements::dropper::LinkLoss;
use shortflow_elements::{Dscp, FlowKey, Label, Protocol};
use shortflow_measure::{Item, Plan, Recorder, SizeClass, StreamPlan, TransferSink, WorkloadPlan};
use shortflow_policy::Place;
use shortflow_scenario::{
    Direction, Kind, Line, NodeId, NodeKind, Part, ResultRow, Scenario, Workload,
};
use shortflow_units::{Instant, Rng};

use crate::engine::Engine;
use crate::host::session;
use crate::host::source::{Connections, Source, Stream};
use crate::network::ends::{FarEnd, NearEnd};
use crate::network::layout::{Colors, Hop, Network, address_of};
use crate::network::port::Port;
use crate::network::routes::{NodeIndex, PortIndex, Routes};
use crate::record::counters::{CodePoints, Counters};
use crate::record::flow_sampler::FlowSampler;
use crate::record::replica::drop_reasons;
use crate::record::sampler::Sampler;

/// An engine, and what to record of it at the end.
pub(crate) struct Build {
    pub(crate) engine: Engine,
    /// The ports of the plan, in its order.
    pub(crate) watched: Vec<PortIndex>,
}

/// Builds replica number `replica` of `scenario`. Every element is new, and has the random stream
/// that is named after its place.
pub(crate) fn engine(scenario: &Scenario, replica: u32, transfers: Option<TransferSink>) -> Build {
    let seed = seed_of(scenario.seed, replica);
    let code_points = code_points(scenario);
    let network = network(scenario, seed, &CodePoints::new(&code_points));
    let watched = watched(scenario);
    let plan = plan(scenario, &network, &watched, &code_points);
    let (sources, streams) = sources(scenario, seed, replica);
    let sampler = Sampler::new(&watched, scenario.measure.series_interval);
    let flow_sampler = FlowSampler::new(scenario.measure.flow_samples, plan.warm_up, plan.end);
    let recorder = Recorder::new(&plan, transfers);
    let engine = Engine::new(network, sources, streams, sampler, flow_sampler, recorder);
    Build { engine, watched }
}

/// The seed of a replica. That of the first is the scenario's; the others are spread over all seeds
/// (the finalizer of SplitMix64), so that runs with neighbouring seeds share no replica.
fn seed_of(seed: u64, replica: u32) -> u64 {
    if replica == 0 {
        return seed;
    }
    let mut z = seed.wrapping_add(u64::from(replica).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Each link is two ports: forward has the even number, back the next.
fn lines(scenario: &Scenario) -> impl Iterator<Item = (NodeId, NodeId, &Line)> {
    scenario
        .links
        .iter()
        .flat_map(|link| [(link.a, link.b, &link.forward), (link.b, link.a, &link.back)])
}

/// The pairs of hosts between which packets go.
pub(crate) fn pairs(scenario: &Scenario) -> Vec<(NodeIndex, NodeIndex)> {
    let pairs = scenario.workloads.iter().flat_map(|workload| workload.kind.pairs());
    pairs.map(|(a, b)| (a.0, b.0)).collect()
}

fn network(scenario: &Scenario, seed: u64, code_points: &CodePoints) -> Network {
    let ends: Vec<(u32, u32)> = lines(scenario).map(|(from, to, _)| (from.0, to.0)).collect();
    let forwards: Vec<bool> =
        scenario.nodes.iter().map(|node| node.kind == NodeKind::Router).collect();
    let ports = lines(scenario)
        .map(|(from, to, line)| hop(scenario, seed, from, to, line, code_points))
        .collect();
    let port_names = lines(scenario).map(|(from, to, _)| port_name(scenario, from, to)).collect();
    let ingress_names =
        lines(scenario).map(|(from, to, _)| ingress_name(scenario, from, to)).collect();
    let colors = scenario
        .policy
        .as_ref()
        .map_or([Dscp::AF11, Dscp::AF12, Dscp::AF13], |policy| policy.code_points());
    Network {
        ports,
        port_names,
        ingress_names,
        nodes: scenario.nodes.len(),
        routes: Routes::new(&forwards, &ends),
        colors: Colors::new(colors),
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
    let ingress_name = ingress_name(scenario, from, to);
    let at_egress = Place { name: &name, seed, rate: line.rate };
    let at_ingress = Place { name: &ingress_name, ..at_egress };
    let egress = role_at(scenario, from, Direction::To(to));
    let ingress = role_at(scenario, to, Direction::From(from));
    let is_reported = scenario.measure.ports.contains(&(from, to));
    let counters = Counters::new(is_reported.then_some(code_points));
    let queue = egress.and_then(|role| role.queue(at_egress));
    let Line { rate, delay, limit, overhead, loss } = line;
    let port = match queue {
        Some(queue) => Port::with_queue(queue, *rate, *delay, *overhead, counters),
        None => Port::plain(*rate, *delay, *overhead, *limit, counters),
    };
    let loss = loss
        .as_ref()
        .map(|loss| LinkLoss::new(loss.clone(), Rng::stream(seed, &format!("{name}/loss"))));
    Hop {
        port,
        from: from.0,
        to: to.0,
        near: NearEnd::of(egress.and_then(|role| role.conditioner(at_egress))),
        far: FarEnd::of(loss, ingress.and_then(|role| role.conditioner(at_ingress))),
        through: None,
    }
}

/// The role that `node` plays in this direction.
fn role_at(
    scenario: &Scenario,
    node: NodeId,
    direction: Direction,
) -> Option<&shortflow_policy::Role> {
    let binding = scenario.bindings.iter().find(|b| b.at == node && b.direction == direction)?;
    let policy = scenario.policy.as_ref()?;
    Some(policy.role(&binding.role).expect("a checked scenario binds roles that exist"))
}

fn port_name(scenario: &Scenario, from: NodeId, to: NodeId) -> String {
    let name = |node: NodeId| &scenario.nodes[node.index()].name;
    format!("{}->{}", name(from), name(to))
}

/// The place where packets from `from` enter `to`.
fn ingress_name(scenario: &Scenario, from: NodeId, to: NodeId) -> String {
    let name = |node: NodeId| &scenario.nodes[node.index()].name;
    format!("{}<-{}", name(to), name(from))
}

/// The ports that are reported one by one.
fn watched(scenario: &Scenario) -> Vec<PortIndex> {
    scenario
        .measure
        .ports
        .iter()
        .map(|&(from, to)| {
            let index = lines(scenario).position(|(a, b, _)| (a, b) == (from, to));
            index.expect("a checked scenario measures ports that exist") as PortIndex
        })
        .collect()
}

/// The code points that packets can have: best effort, those that the policy writes, those that
/// workloads write.
fn code_points(scenario: &Scenario) -> Vec<Dscp> {
    let mut used = vec![Dscp::BEST_EFFORT];
    if let Some(policy) = &scenario.policy {
        used.extend(policy.written_code_points());
    }
    for workload in &scenario.workloads {
        match &workload.kind {
            Kind::Cbr(cbr) => used.push(cbr.dscp),
            Kind::Poisson(poisson) => used.push(poisson.dscp),
            Kind::Transfers(_) | Kind::Bulk(_) | Kind::Web(_) | Kind::Telnet(_) | Kind::Ftp(_) => {}
        }
    }
    used.sort_unstable();
    used.dedup();
    used
}

fn plan(
    scenario: &Scenario,
    network: &Network,
    watched: &[PortIndex],
    code_points: &[Dscp],
) -> Plan {
    let size_classes: Vec<SizeClass> = scenario
        .measure
        .size_classes
        .iter()
        .map(|class| SizeClass { label: class.label.clone(), max_bytes: class.up_to.0 })
        .collect();
    let row = |row: ResultRow| WorkloadPlan {
        name: row.name,
        item: item(&scenario.workloads[row.workload].kind, row.part),
        size_classes: match scenario.workloads[row.workload].kind {
            Kind::Transfers(_) | Kind::Web(_) | Kind::Ftp(_) => size_classes.clone(),
            _ => Vec::new(),
        },
    };
    let mut names: Vec<String> = code_points.iter().map(Dscp::to_string).collect();
    names.push("other".to_owned());
    Plan {
        workloads: scenario.result_rows().into_iter().map(row).collect(),
        streams: stream_plans(scenario),
        limits: scenario.measure.limits.clone(),
        ports: watched.iter().map(|&port| network.port_names[port as usize].clone()).collect(),
        code_points: names,
        drop_reasons: drop_reasons(),
        warm_up: Instant::START + scenario.warm_up,
        end: Instant::START + scenario.duration,
        drain: scenario.drain,
        series_interval: scenario.measure.series_interval,
    }
}

/// What is timed of this part of a workload.
fn item(kind: &Kind, part: Part) -> Item {
    match (kind, part) {
        (Kind::Web(_), Part::Whole) => Item::Page,
        (_, Part::Objects) => Item::Object,
        (Kind::Telnet(_), _) => Item::Echo,
        (Kind::Ftp(_), _) => Item::File,
        (Kind::Transfers(_) | Kind::Bulk(_) | Kind::Cbr(_) | Kind::Poisson(_), _) => Item::Transfer,
    }
}

/// What is reported of each stream of datagrams, in the order in which [`add_sources`] adds them.
fn stream_plans(scenario: &Scenario) -> Vec<Option<StreamPlan>> {
    let mut plans = Vec::new();
    for (workload, found) in scenario.workloads.iter().enumerate() {
        match &found.kind {
            Kind::Cbr(cbr) if cbr.by_stream => plans.extend((0..cbr.streams()).map(|number| {
                let (&(from, to), rate) = cbr.stream(number);
                let pair = port_name(scenario, from, to);
                let is_alone = cbr.streams() == cbr.pairs.len();
                let name = if is_alone { pair } else { format!("{pair} #{}", number + 1) };
                Some(StreamPlan { workload: workload as u16, name, rate: rate.bits_per_sec() })
            })),
            Kind::Cbr(cbr) => plans.extend((0..cbr.streams()).map(|_| None)),
            Kind::Poisson(poisson) => plans.extend(poisson.pairs.iter().map(|_| None)),
            _ => {}
        }
    }
    plans
}

fn sources(scenario: &Scenario, seed: u64, replica: u32) -> (Vec<Source>, Vec<Stream>) {
    let mut sources = Vec::new();
    let mut streams = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        match session::build(scenario, index, seed, replica, sources.len() as u32) {
            Some(sessions) => sources.push(Source::Sessions(sessions)),
            None => add_sources(index as u16, workload, seed, &mut sources, &mut streams),
        }
    }
    (sources, streams)
}

/// Connections of workload number `index`, to this port.
pub(crate) fn connections(index: u16, workload: &Workload, port: u16) -> Connections {
    Connections {
        workload: index,
        pairs: workload.kind.pairs().iter().map(|(a, b)| (a.0, b.0)).collect(),
        port,
        config: Arc::clone(&workload.tcp),
    }
}

fn add_sources(
    index: u16,
    workload: &Workload,
    seed: u64,
    sources: &mut Vec<Source>,
    streams: &mut Vec<Stream>,
) {
    let name = &workload.name;
    let connections = |port| connections(index, workload, port);
    match &workload.kind {
        Kind::Transfers(transfers) => sources.push(Source::Transfers {
            connections: connections(transfers.port),
            arrivals: transfers.arrivals(seed, name).peekable(),
            opened: 0,
        }),
        Kind::Bulk(bulk) => {
            let mut starts = bulk.starts(seed, name);
            starts.sort_by_key(|start| start.at);
            sources.push(Source::Bulk {
                connections: connections(bulk.port),
                starts: starts.into(),
                size: bulk.size.map(|size| size.0),
            });
        }
        Kind::Cbr(cbr) => {
            for number in 0..cbr.streams() {
                let stream = add_stream(index, *cbr.stream(number).0, cbr.port, cbr.dscp, streams);
                let departures = cbr.departures(seed, name, number).peekable();
                sources.push(Source::Cbr { stream, departures });
            }
        }
        Kind::Poisson(poisson) => {
            for (pair, ends) in poisson.pairs.iter().enumerate() {
                let stream = add_stream(index, *ends, poisson.port, poisson.dscp, streams);
                let departures = poisson.departures(seed, name, pair).peekable();
                sources.push(Source::Poisson { stream, departures });
            }
        }
        Kind::Web(_) | Kind::Telnet(_) | Kind::Ftp(_) => {
            unreachable!("sessions are built on their own")
        }
    }
}

fn add_stream(
    workload: u16,
    (from, to): (NodeId, NodeId),
    port: u16,
    dscp: Dscp,
    streams: &mut Vec<Stream>,
) -> u32 {
    let stream = streams.len() as u32;
    // Streams have source ports of their own, so that no two share a 5-tuple.
    let key = FlowKey {
        src: address_of(from.0),
        dst: address_of(to.0),
        src_port: FIRST_STREAM_PORT.wrapping_add(stream as u16),
        dst_port: port,
        protocol: Protocol::Udp,
    };
    streams.push(Stream { workload, node: from.0, key, dscp });
    stream
}

const FIRST_STREAM_PORT: u16 = 16_384;
