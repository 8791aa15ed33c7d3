//! The plan of a scenario: what is recorded.

use shortflow_measure::{End, Plan, SizeClass, StreamPlan, WorkloadPlan};
use shortflow_packet::Dscp;
use shortflow_scenario::{PairEnd, Part, ResultRow, Scenario, Traffic};
use shortflow_units::Instant;

use crate::names::{code_points, drop_reasons, port_name};

/// What is recorded of a scenario, the same for all engines.
pub fn plan(scenario: &Scenario) -> Plan {
    let size_classes: Vec<SizeClass> = scenario
        .measure
        .size_classes
        .iter()
        .map(|class| SizeClass { label: class.label.clone(), max_bytes: class.up_to.0 })
        .collect();
    let row = |row: ResultRow| {
        let traffic = scenario.workloads[row.workload].kind.traffic();
        let has_classes = traffic.sizes().is_some();
        WorkloadPlan {
            name: row.name,
            item: traffic.item(row.part),
            size_classes: if has_classes { size_classes.clone() } else { Vec::new() },
            offered: (row.part == Part::Whole).then(|| offered(scenario, traffic)).flatten(),
            // The first node of a pair opens the connections.
            data_to: match traffic.sender() {
                PairEnd::First => End::Server,
                PairEnd::Second => End::Client,
            },
        }
    };
    let mut names: Vec<String> = code_points(scenario).iter().map(Dscp::to_string).collect();
    names.push("other".to_owned());
    let reported = scenario.measure.ports.iter();
    Plan {
        workloads: scenario.result_rows().into_iter().map(row).collect(),
        streams: stream_plans(scenario),
        idle_delays: scenario.idle_delays(),
        limits: scenario.measure.limits.clone(),
        ports: reported.map(|&(from, to)| port_name(scenario, from, to)).collect(),
        code_points: names,
        drop_reasons: drop_reasons(),
        warm_up: Instant::START + scenario.warm_up,
        end: Instant::START + scenario.duration,
        drain: scenario.drain,
        series_interval: scenario.measure.series_interval,
    }
}

/// The bits per second of replies that are requested, on average over the measured time.
fn offered(scenario: &Scenario, traffic: &dyn Traffic) -> Option<f64> {
    let (arrivals, bytes) = (traffic.arrivals()?, traffic.asked_bytes_per_second()?);
    let (warm_up, end) = (Instant::START + scenario.warm_up, Instant::START + scenario.duration);
    let (start, stop) = (arrivals.start.max(warm_up), arrivals.stop.min(end));
    let seconds = |from: Instant, to: Instant| to.as_secs_f64() - from.as_secs_f64();
    Some(bytes * 8.0 * seconds(start, stop).max(0.0) / seconds(warm_up, end))
}

/// The end of a scenario's run: the end of arrivals plus the time for open transfers.
pub fn end_of(scenario: &Scenario) -> Instant {
    Instant::START + scenario.duration + scenario.drain
}

/// The report of each stream of datagrams, in the order of workloads and their streams.
fn stream_plans(scenario: &Scenario) -> Vec<Option<StreamPlan>> {
    let mut plans = Vec::new();
    for (workload, found) in scenario.workloads.iter().enumerate() {
        let Some(datagrams) = found.kind.traffic().datagrams() else { continue };
        let is_alone = datagrams.streams == found.kind.pairs().len();
        let reported = datagrams.reported.iter().enumerate();
        let reported = reported.map(|(number, &((from, to), rate))| {
            let pair = port_name(scenario, from, to);
            let name = if is_alone { pair } else { format!("{pair} #{}", number + 1) };
            Some(StreamPlan { workload: workload as u16, name, rate: rate.bits_per_sec() })
        });
        let begins = plans.len();
        plans.extend(reported);
        // All others share one report.
        plans.resize(begins + datagrams.streams, None);
    }
    plans
}
