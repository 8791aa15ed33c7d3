//! What is to be recorded of a scenario.

use shortflow_elements::Dscp;
use shortflow_measure::{Item, Plan, SizeClass, StreamPlan, WorkloadPlan};
use shortflow_scenario::{Kind, Part, ResultRow, Scenario};
use shortflow_units::Instant;

use crate::names::{code_points, drop_reasons, port_name};

/// What is to be recorded of a scenario, the same under every engine.
pub fn plan(scenario: &Scenario) -> Plan {
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
    let mut names: Vec<String> = code_points(scenario).iter().map(Dscp::to_string).collect();
    names.push("other".to_owned());
    let reported = scenario.measure.ports.iter();
    Plan {
        workloads: scenario.result_rows().into_iter().map(row).collect(),
        streams: stream_plans(scenario),
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

/// When the run of a scenario ends: when arrivals have ended and open transfers had their time.
pub fn end_of(scenario: &Scenario) -> Instant {
    Instant::START + scenario.duration + scenario.drain
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

/// What is reported of each stream of datagrams: workload by workload in their order, and the streams
/// of each in theirs.
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
