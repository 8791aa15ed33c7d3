//! Transfers that are not complete at the end: they count, and decide no order that they could turn.

use shortflow_measure::{Estimate, Summary};

use crate::bench::{replicas, run_with_records, scenario, scenario_under, workload};

/// The 99th percentile of all transfers at 9.2 of 10 Mbit/s with heavy-tailed replies, eight times
/// over a minute, under a queue at the bottleneck.
fn p99(queue: &str, drain: &str) -> Option<Estimate> {
    let policy = format!("[roles.core.queue.{queue}]\nlimit = \"200 pkt\"\n");
    let scenario = scenario_under(
        &policy,
        &format!(
            r#"
            policy = "policy.toml"
            duration = "60 s"
            drain = "{drain}"
            hosts = {{ client = {{}}, server = {{}} }}
            links.line = {{ between = ["client", "server"], rate = "10 Mbit/s", delay = "20 ms" }}
            bind = [{{ role = "core", at = "server", to = "client" }}]
            [workloads.web.transfers]
            client = "client"
            server = "server"
            load = "9.2 Mbit/s"
            request.constant = "1 seg"
            reply.pareto = {{ mean = "200 KB", shape = 1.2, max = "10 MB" }}
            "#
        ),
    );
    let summary = Summary::of(&replicas(&scenario, 8));
    summary.workload("web").expect("a workload").all.p99
}

/// Smallest Transmitted Flow first starves the longest transfers, which are open when the run ends. Left
/// out, they could make it seem to have the shorter 99th percentile.
#[test]
fn the_order_of_two_policies_does_not_hang_on_how_long_is_waited_for_open_transfers() {
    let stf = "stf]\nflows = 65_536\nidle_timeout = \"60 s\"\n#";
    let order = |drain: &str| {
        let (fifo, stf) = (p99("fifo", drain).unwrap(), p99(stf, drain).unwrap());
        (!fifo.at_least && !stf.at_least).then_some(fifo.mean < stf.mean)
    };
    let settled = order("2000 s");
    assert!(settled.is_some(), "all are complete, so that there is an order");
    let early = order("0 s");
    assert!(early.is_none() || early == settled, "{early:?} before {settled:?}");
}

/// Where every other packet is lost and retries are few, some transfers are given up and some are
/// still open at the end.
#[test]
fn the_records_of_all_transfers_add_up_to_what_is_reported() {
    let scenario = scenario(
        r#"
        duration = "60 s"
        warm_up = "10 s"
        tcp = { era = "linux-today", syn_retries = 1, data_retries = 2, rto_max = "10 s" }
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms", loss = 0.4 }
        measure.ports = ["a->b"]
        [workloads.web.transfers]
        client = "a"
        server = "b"
        rate = "10 /s"
        request.constant = "1 seg"
        reply.constant = "20 seg"
        "#,
    );
    let (outcome, records) = run_with_records(&scenario);
    let web = workload(&outcome.replica, "web");
    let rows: Vec<Vec<&str>> = records.iter().map(|line| line.split(',').collect()).collect();
    let of = |state: &str, counted: &[&str]| -> Vec<&Vec<&str>> {
        rows.iter().filter(|row| row[18] == state && counted.contains(&row[19])).collect()
    };
    let (counted, any) = (["true"], ["true", "false"]);
    let completed = of("completed", &counted);
    assert_eq!(completed.len() as u64, web.all.completion.n());
    assert_eq!(of("open", &any).len() as u64, web.open);
    assert_eq!(of("failed", &counted).len() as u64, web.failed);
    assert!(web.failed > 0 && web.open > 0 && completed.len() > 10, "all three occur");
    let unfinished = of("open", &counted).len() + of("failed", &counted).len();
    assert_eq!(unfinished as u64, web.all.unfinished);
    assert_eq!(
        rows.len(),
        of("completed", &any).len() + of("open", &any).len() + of("failed", &any).len()
    );

    let sum = |rows: &[&Vec<&str>], column: usize| -> f64 {
        rows.iter().map(|row| row[column].parse::<f64>().unwrap()).sum()
    };
    let times = sum(&completed, 3) / completed.len() as f64;
    assert!((times - web.all.completion.mean().unwrap()).abs() < 1e-6);
    let all = [of("completed", &counted), of("open", &counted), of("failed", &counted)].concat();
    assert_eq!(sum(&all, 21) as u64, web.all.carried_bytes());
    assert_eq!(sum(&completed, 9) as u64, web.retransmissions);
    assert!(rows.iter().all(|row| row[25] == "80" || !row[25].is_empty()), "a server's port");
}
