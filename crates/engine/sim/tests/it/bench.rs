//! What the tests here share: scenarios from texts, replicas of them, their transfers one by one.

use std::fs;
use std::sync::atomic::AtomicBool;

use shortflow_measure::results::Folder;
use shortflow_measure::{
    CodePointCounts, PortResult, Replica, RowNames, TransferSink, WorkloadResult,
};
use shortflow_run::{Error, Measured, Outcome, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, from_texts};
use shortflow_sim::{Simulated, Simulator, run_replica};

/// The scenario of a text without a policy.
pub(crate) fn scenario(text: &str) -> Scenario {
    checked(&[("scenario.toml", text)])
}

/// The scenario of a text that names the policy `policy.toml`.
pub(crate) fn scenario_under(policy: &str, text: &str) -> Scenario {
    checked(&[("scenario.toml", text), ("policy.toml", policy)])
}

/// The scenario of a text that reads a file called `name`.
pub(crate) fn scenario_beside(name: &str, file: &str, text: &str) -> Scenario {
    checked(&[("scenario.toml", text), (name, file)])
}

/// The TCP of scenarios that name no era: one whose figures can be counted by hand, with an
/// acknowledgement for each segment of 1000 bytes and a window that the receiver does not limit.
const PLAIN_TCP: [(&str, &str); 6] = [
    ("era", "ns2-2005"),
    ("receive_window", "20 MB"),
    ("rto_initial", "3 s"),
    ("rto_max", "60 s"),
    ("ecn_capable", "new-data"),
    ("restart_after_idle", "false"),
];

fn checked(texts: &[(&str, &str)]) -> Scenario {
    let (_, text) = texts[0];
    let mut changes = Overrides::default();
    if !text.contains("era = ") {
        let absent = PLAIN_TCP.iter().filter(|(key, _)| !text.contains(&format!("{key} = ")));
        changes.set.extend(absent.map(|(key, value)| (format!("tcp.{key}"), (*value).to_owned())));
    }
    let loaded = from_texts(texts, &changes)
        .unwrap_or_else(|mistakes| panic!("the scenario has mistakes:\n{mistakes}"));
    loaded.into_points().swap_remove(0).scenario
}

/// Replica 0. Every run checks the conservation of packets at its end.
pub(crate) fn run(scenario: &Scenario) -> Simulated {
    run_replica(scenario, 0, None, |_| true).expect("the run ends")
}

/// Replicas 0 to `count` − 1, over all cores.
pub(crate) fn replicas(scenario: &Scenario, count: u32) -> Vec<Replica> {
    let tasks: Vec<Task<'_>> = (0..count).map(|replica| Task { scenario, replica }).collect();
    run_tasks(&Simulator, &tasks, 0, &AtomicBool::new(false), &())
        .into_iter()
        .map(|outcome| replica_of(outcome.expect("the run ends")))
        .collect()
}

/// What a task of the simulator found.
pub(crate) fn replica_of(outcome: Outcome) -> Replica {
    let Measured::Replica(replica) = outcome.measured else { panic!("the simulator measures") };
    *replica
}

/// A completed transfer, as its row in the results says; times in whole nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) workload: String,
    pub(crate) id: u64,
    pub(crate) start: u64,
    pub(crate) completion: u64,
    pub(crate) handshake: u64,
    pub(crate) request: u64,
    pub(crate) request_bytes: u64,
    pub(crate) reply_bytes: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    pub(crate) syn_retransmissions: u64,
}

/// Replica 0 and its transfers in the order in which they were completed.
pub(crate) fn run_with_transfers(scenario: &Scenario) -> (Simulated, Vec<Row>) {
    let (outcome, records) = run_with_records(scenario);
    let completed = records.iter().filter(|line| line.contains(",completed,"));
    (outcome, completed.map(|line| row(line)).collect())
}

/// Replica 0 and the lines of all its transfers, complete or not, without their head.
pub(crate) fn run_with_records(scenario: &Scenario) -> (Simulated, Vec<String>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workloads = scenario.result_rows().into_iter().map(|row| row.name).collect();
    let names = RowNames { workloads, ..RowNames::default() };
    let sink = TransferSink::create(&Folder::open(folder.path()), 0, 0, names).expect("a sink");
    let outcome = run_replica(scenario, 0, Some(sink), |_| true).expect("the run ends");
    let text = fs::read_to_string(folder.path().join("transfers-000-000.csv")).expect("the rows");
    (outcome, text.lines().skip(1).map(str::to_owned).collect())
}

fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let nanos = |field: usize| (fields[field].parse::<f64>().unwrap() * 1e9).round() as u64;
    let count = |field: usize| fields[field].parse().unwrap();
    Row {
        workload: fields[0].to_owned(),
        id: count(1),
        start: nanos(2),
        completion: nanos(3),
        handshake: nanos(4),
        request: nanos(5),
        request_bytes: count(7),
        reply_bytes: count(8),
        retransmissions: count(9),
        timeouts: count(10),
        syn_retransmissions: count(11),
    }
}

/// The workload called `name`.
pub(crate) fn workload<'r>(replica: &'r Replica, name: &str) -> &'r WorkloadResult {
    replica.workload(name).unwrap_or_else(|| panic!("workload {name}"))
}

/// The port called `name`.
pub(crate) fn port<'r>(replica: &'r Replica, name: &str) -> &'r PortResult {
    replica.port(name).unwrap_or_else(|| panic!("port {name}"))
}

/// What a port counted of `code_point`.
pub(crate) fn counts<'r>(
    replica: &'r Replica,
    port_name: &str,
    code_point: &str,
) -> &'r CodePointCounts {
    let index = replica.code_points.iter().position(|name| name == code_point);
    &port(replica, port_name).code_points[index.expect("a code point in use")]
}

/// Packets that `counts` dropped for `reason`.
pub(crate) fn dropped(replica: &Replica, counts: &CodePointCounts, reason: &str) -> u64 {
    let index = replica.drop_reasons.iter().position(|name| name == reason);
    counts.dropped[index.expect("a reason")].packets
}

/// What a run found with interruption ruled out.
pub(crate) fn is_interrupted(outcome: &Result<Outcome, Error>) -> bool {
    matches!(outcome, Err(Error::Interrupted))
}
