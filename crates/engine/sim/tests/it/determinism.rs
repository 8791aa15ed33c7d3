//! The same seed gives the same result, bit for bit; policies are compared under the same arrivals.

use std::sync::atomic::AtomicBool;

use shortflow_run::{Task, run_tasks};
use shortflow_scenario::Scenario;
use shortflow_sim::Simulator;

use crate::bench::{Row, replica_of, run, run_with_transfers, scenario_under};

/// Everything that draws random numbers: arrivals, sizes, a marker, RED, a lossy link.
const SCENARIO: &str = r#"
policy = "policy.toml"
duration = "12 s"
warm_up = "2 s"
drain = "3 s"
seed = 7
hosts = { a = { count = 3 }, b = { count = 3 } }
routers = { r1 = {}, r2 = {} }
links.a = { between = ["a", "r1"], rate = "100 Mbit/s", delay = ["1 ms", "3 ms", "9 ms"] }
links.b = { between = ["b", "r2"], rate = "100 Mbit/s", delay = "1 ms", loss = 0.002 }
links.core = { between = ["r1", "r2"], rate = "4 Mbit/s", delay = "5 ms" }
bind = [{ role = "edge", at = "r2", from = "b" }, { role = "core", at = "r2", to = "r1" }]
measure.series_interval = "1 s"

[workloads.web.transfers]
client = "a"
server = "b"
load = "3.6 Mbit/s"
request.constant = "300 B"
reply.exponential.mean = "10 KB"

[workloads.long.bulk]
from = "b"
to = "a"
flows = 2
start_window = "1 s"

[workloads.probe.poisson]
from = "b"
to = "a"
rate = "5 /s"
size.uniform = { min = "100 B", max = "600 B" }
"#;

const FAIR_MARKER: &str = r#"
[[roles.edge.classes]]
name = "all"
marker.fair-marker = { cir = "2 Mbit/s" }
[roles.core.queue.multi-red]
limit = "100 pkt"
levels = [
    { code_points = ["AF11"], min_threshold = "30 pkt", max_threshold = "60 pkt", max_probability = 0.1 },
    { code_points = "rest", min_threshold = "5 pkt", max_threshold = "30 pkt", max_probability = 0.2 },
]
"#;

const BEST_EFFORT: &str = r#"
[roles.edge]
[roles.core.queue.fifo]
limit = "100 pkt"
"#;

/// All that replicas 0 to 3 found, as text; run on `threads` threads in the order `order`.
fn found(scenario: &Scenario, threads: usize, order: [u32; 4]) -> Vec<String> {
    let tasks = order.map(|replica| Task { scenario, replica });
    let outcomes = run_tasks(&Simulator, &tasks, threads, &AtomicBool::new(false), &());
    let mut found = vec![String::new(); 4];
    for (replica, outcome) in order.into_iter().zip(outcomes) {
        let Ok(outcome) = outcome else { panic!("the run ends") };
        let found_here = replica_of(outcome);
        let series = &found_here.series;
        let text = serde_json::to_string(&found_here).expect("a replica is plain data");
        found[replica as usize] = format!("{text} {series:?}");
    }
    found
}

#[test]
fn the_same_seed_gives_the_same_result_on_any_number_of_threads_in_any_order() {
    let scenario = scenario_under(FAIR_MARKER, SCENARIO);

    let alone = found(&scenario, 1, [0, 1, 2, 3]);

    assert_eq!(found(&scenario, 2, [0, 1, 2, 3]), alone);
    assert_eq!(found(&scenario, 3, [3, 1, 0, 2]), alone);
}

#[test]
fn different_seeds_give_different_results() {
    let scenario = scenario_under(FAIR_MARKER, SCENARIO);
    let found = found(&scenario, 0, [0, 1, 2, 3]);

    for (index, one) in found.iter().enumerate() {
        assert!(found[index + 1..].iter().all(|other| other != one), "replica {index}");
    }
    let mut reseeded = scenario.clone();
    reseeded.seed += 1;
    let text = serde_json::to_string(&run(&reseeded).replica).expect("a replica is plain data");
    let is_shared = found.iter().any(|replica| replica.starts_with(&text));
    assert!(!is_shared, "runs with neighbouring seeds share no replica");
}

/// Common random numbers: what a policy changes is all that changes.
#[test]
fn two_policies_see_the_same_transfers() {
    let arrivals = |policy| {
        let (_, mut rows) = run_with_transfers(&scenario_under(policy, SCENARIO));
        rows.sort_by_key(|row| row.id);
        rows
    };
    let (ours, reference) = (arrivals(FAIR_MARKER), arrivals(BEST_EFFORT));

    // Transfers that are still open at the end have no row.
    let mut pairs = Vec::new();
    for row in &ours {
        pairs.extend(reference.iter().find(|other| other.id == row.id).map(|other| (row, other)));
    }
    assert!(pairs.len() > 300, "{} pairs", pairs.len());
    let offered = |row: &Row| (row.start, row.request_bytes, row.reply_bytes);
    assert!(pairs.iter().all(|(one, other)| offered(one) == offered(other)));
    let differ = pairs.iter().filter(|(one, other)| one.completion != other.completion).count();
    assert!(differ > pairs.len() / 2, "the policies do something: {differ} of {}", pairs.len());
}
