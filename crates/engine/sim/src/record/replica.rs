//! Runs one replica: builds the network, runs it, and returns the measures.

use std::collections::BTreeMap;

use shortflow_measure::{Occasion, Replica, TransferSink};
use shortflow_run::{ClassUse, Error, Refusal, Tap, TcpInfoLog, end_of, workload_counter};
use shortflow_scenario::Scenario;
use shortflow_units::Instant;

use crate::build::{self, Build};
use crate::engine::Engine;
use crate::host::flow::Side;
use crate::network::fabric::Totals;
use crate::record::classes::{BoundRoles, class_counts};
use crate::record::ports::{Counted, network_counts};

/// The result of a simulated replica.
#[derive(Debug)]
pub struct Simulated {
    /// Its measures.
    pub replica: Replica,
    /// The totals of the whole network.
    pub totals: Totals,
    /// Packets per class of the policy.
    pub classes: ClassUse,
}

/// Runs replica number `replica` of `scenario`.
///
/// `look` is called from time to time with the simulated time; the run ends if it returns false. Each
/// completed transfer is written to `transfers`. The same scenario and replica give the same result, bit for
/// bit, whatever else runs in parallel.
///
/// # Panics
/// If a packet was lost or created: a bug, never the input's fault.
pub fn run_replica(
    scenario: &Scenario,
    replica: u32,
    transfers: Option<TransferSink>,
    look: impl FnMut(Instant) -> bool,
) -> Result<Simulated, Error> {
    run_replica_before(None, scenario, replica, transfers, look)
}

/// As [`run_replica`], with a `tap`, which does not change the results.
pub fn run_replica_before(
    tap: Option<Box<dyn Tap>>,
    scenario: &Scenario,
    replica: u32,
    transfers: Option<TransferSink>,
    look: impl FnMut(Instant) -> bool,
) -> Result<Simulated, Error> {
    let watched = Watched { transfers, tap, tcp_info: None };
    run_replica_watched(watched, scenario, replica, look)
}

/// What is written down of a replica besides its measures, and does not change them.
#[derive(Default)]
pub struct Watched {
    /// Each completed transfer.
    pub transfers: Option<TransferSink>,
    /// Packets.
    pub tap: Option<Box<dyn Tap>>,
    /// The state of TCP senders.
    pub tcp_info: Option<TcpInfoLog>,
}

/// As [`run_replica`], and writes down what is `watched`.
pub fn run_replica_watched(
    watched: Watched,
    scenario: &Scenario,
    replica: u32,
    mut look: impl FnMut(Instant) -> bool,
) -> Result<Simulated, Error> {
    let Watched { transfers, tap, tcp_info } = watched;
    let warm_up = Instant::START + scenario.warm_up;
    let measured_until = Instant::START + scenario.duration;
    let end = end_of(scenario);
    let Build { mut engine, watched } = build::engine(scenario, replica, transfers, tcp_info);
    let (ports, horizon) = (engine.fabric.network.ports.len(), engine.fabric.horizon());
    refuse_beyond(horizon, ports, scenario)?;
    engine.fabric.show_to(tap);
    engine.fabric.find_through_ports(&build::pairs(scenario));
    run_until(warm_up, &mut engine, scenario, &mut look)?;
    engine.end_warm_up(measured_until);
    let counted_before = counts(&engine, scenario);
    let roles = BoundRoles::of_ports(scenario);
    let classes_before = class_counts(&engine.fabric.network, &roles);
    run_until(measured_until, &mut engine, scenario, &mut look)?;
    record_long_flows(&mut engine, scenario);
    let measured = measured_until.since(warm_up);
    let counted = Counted::of_ports(&mut engine.fabric, &watched, measured);
    let counted = counted.with(counts(&engine, scenario), &counted_before);
    counted.record(&mut engine.recorder);
    run_until(end, &mut engine, scenario, &mut look)?;
    record_open(&mut engine);
    engine.record_sessions(|workload| scenario.workloads[usize::from(workload)].name.clone());
    engine.fabric.check_conservation();
    engine.fabric.finish_tap().map_err(Error::Trace)?;
    let whole = class_counts(&engine.fabric.network, &roles);
    let classes = ClassUse { warm_up: classes_before, whole };
    let totals = engine.fabric.totals;
    engine.tcp_sampler.finish()?;
    let found = Replica { number: replica, ..engine.recorder.finish()? };
    Ok(Simulated { replica: found, totals, classes })
}

/// Not generic: the engine is compiled once, in this crate, for speed.
fn run_until(
    until: Instant,
    engine: &mut Engine,
    scenario: &Scenario,
    look: &mut dyn FnMut(Instant) -> bool,
) -> Result<(), Error> {
    if engine.run(until, look) {
        return Ok(());
    }
    let Some(key) = engine.ephemeral.exhausted() else { return Err(Error::Interrupted) };
    let [client, server] = [key.src, key.dst].map(|node| &scenario.nodes[node.index()].name);
    let (port, count) = (key.dst_port, engine.ephemeral.count());
    Err(Error::Refused(Refusal(format!(
        "{client} has {count} connections to port {port} of {server}, one from each source port, and cannot \
         open another; closed ones count while they are in TIME_WAIT; lower the load, spread it over more \
         hosts, or shorten `tcp.time_wait`"
    ))))
}

/// Refuses a scenario that ends after `horizon`, the last instant of the event queue of a network with so
/// many ports.
pub(crate) fn refuse_beyond(
    horizon: Instant,
    ports: usize,
    scenario: &Scenario,
) -> Result<(), Refusal> {
    if end_of(scenario) <= horizon {
        return Ok(());
    }
    Err(Refusal(format!("a network with {ports} ports can be simulated for at most {horizon}")))
}

/// The throughput of endless flows, and the fair share.
fn record_long_flows(engine: &mut Engine, scenario: &Scenario) {
    let Engine { flows, recorder, flow_sampler, .. } = engine;
    let fair = scenario.max_min_rates();
    let mut shares: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| flow.is_endless()) {
        let (workload, key) = (flow.application.workload(), flow.key());
        let bytes = flow.ends[Side::Server].delivered - flow.delivered_before;
        recorder.long_flow(workload, bytes, flow_sampler.samples(flow.serial));
        shares.entry(workload).or_default().push(fair[&(key.src, key.dst)]);
    }
    for (workload, shares) in shares {
        recorder.max_min_shares(workload, shares);
    }
}

/// Incomplete transfers. A transfer that one end has abandoned never completes, even if the other end still
/// waits.
fn record_open(engine: &mut Engine) {
    let Engine { fabric, flows, recorder, tcp_sampler, .. } = engine;
    for flow in flows.iter() {
        fabric.totals.add(flow);
        flow.asked_for().for_each(|transfer| recorder.open_transfer(&transfer));
        match flow.unfinished() {
            Some(transfer) if flow.has_failed() => {
                recorder.failed_transfer(flow.failed_at.min(fabric.now), &transfer);
                tcp_sampler.ended(fabric.now, Occasion::Failed, flow);
            }
            Some(transfer) => {
                recorder.open_transfer(&transfer);
                tcp_sampler.ended(fabric.now, Occasion::Open, flow);
            }
            None if flow.is_exchange() => {}
            None => tcp_sampler.ended(fabric.now, Occasion::Open, flow),
        }
    }
}

/// The counters of conditioners, queues, senders of long flows and receivers since the start.
fn counts(engine: &Engine, scenario: &Scenario) -> BTreeMap<String, u64> {
    let mut counts = network_counts(&engine.fabric.network);
    counts.extend(long_flow_counts(engine, scenario));
    counts.extend(reordering_counts(engine, scenario));
    counts
}

/// The number of reordered data packets, for each workload over TCP: `web/reordered packets`.
fn reordering_counts(engine: &Engine, scenario: &Scenario) -> BTreeMap<String, u64> {
    (0..)
        .zip(&scenario.workloads)
        .filter(|(_, workload)| workload.kind.uses_tcp())
        .map(|(index, workload)| {
            let count = engine.reordered.get(&index).copied().unwrap_or(0);
            (workload_counter(&workload.name, "reordered packets"), count)
        })
        .collect()
}

/// The loss recovery of endless flows' senders, named after their workload: `long/timeouts`.
fn long_flow_counts(engine: &Engine, scenario: &Scenario) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for flow in engine.flows.iter().filter(|flow| flow.is_endless()) {
        let workload = &scenario.workloads[usize::from(flow.application.workload())].name;
        let stats = flow.ends[Side::Client].tcp.stats();
        for (name, count) in [
            ("timeouts", stats.timeouts),
            ("fast retransmits", stats.fast_retransmits),
            ("retransmissions", stats.retransmitted_segments),
        ] {
            *counts.entry(workload_counter(workload, name)).or_default() += u64::from(count);
        }
    }
    counts
}
