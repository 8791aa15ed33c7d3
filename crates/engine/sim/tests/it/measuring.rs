//! What counts in the results: from the warm-up's end to the end of arrivals, and the transfers
//! that started then, until the drain is over.

use shortflow_scenario::WorkloadKind;

use crate::bench::{counts, port, run, run_with_transfers, scenario, scenario_under, workload};

/// Transfers of 91 segments, each of which takes some 290 ms, ten in a second.
fn web(duration: &str, warm_up: &str, drain: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        warm_up = "{warm_up}"
        drain = "{drain}"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "100 Mbit/s", delay = "20 ms" }}
        measure.ports = ["b->a"]
        [workloads.web.transfers]
        client = "a"
        server = "b"
        rate = "10 /s"
        request.constant = "1 seg"
        reply.constant = "91 seg"
        "#
    )
}

#[test]
fn transfers_that_start_in_the_warm_up_count_in_no_statistic() {
    let (outcome, rows) = run_with_transfers(&scenario(&web("20 s", "5 s", "5 s")));
    let late = rows.iter().filter(|row| row.start >= 5_000_000_000).count() as u64;

    assert!(late > 100 && rows.len() as u64 > late + 25);
    assert_eq!(workload(&outcome.replica, "web").all.completion.n(), late);
    assert_eq!(outcome.replica.measured, 15.0);
}

#[test]
fn transfers_under_way_when_arrivals_end_complete_in_the_drain_and_count() {
    let without = run_with_transfers(&scenario(&web("20 s", "0 s", "0 s")));
    let with = run_with_transfers(&scenario(&web("20 s", "0 s", "5 s")));

    let open = workload(&without.0.replica, "web").open;
    assert!(open > 0, "some are under way at 20 s");
    assert_eq!(workload(&with.0.replica, "web").open, 0);
    assert_eq!(with.1.len(), without.1.len() + open as usize, "no more arrive in the drain");
    // Nobody is counted at ports in the drain.
    assert_eq!(with.0.replica.ports, without.0.replica.ports);
}

/// Where every other packet is lost and retries are few, transfers are given up: some in the
/// handshake, some later. None of them may vanish. A timer that has backed off runs for 10 s at most,
/// so that nobody is still trying at the end.
#[test]
fn every_transfer_is_completed_or_failed_when_it_had_the_time() {
    let scenario = scenario(
        r#"
        duration = "100 s"
        drain = "100 s"
        tcp = { era = "linux-today", linear_syn_timeouts = 0, syn_retries = 1, data_retries = 2, rto_max = "10 s" }
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "10 Mbit/s", delay = "1 ms", loss = 0.4 }
        [workloads.web.transfers]
        client = "a"
        server = "b"
        rate = "10 /s"
        request.constant = "100 B"
        reply.constant = "5 KB"
        "#,
    );
    let (outcome, rows) = run_with_transfers(&scenario);
    let web = workload(&outcome.replica, "web");
    let WorkloadKind::Transfers(transfers) = &scenario.workloads[0].kind else { unreachable!() };
    let arrived = transfers.arrivals(scenario.seed, "web").count() as u64;

    assert!(web.failed > 300 && rows.len() > 100, "{} failed, {} done", web.failed, rows.len());
    assert_eq!(web.open, 0, "what was given up is not open");
    assert_eq!(web.all.completion.n() + web.failed, arrived);
}

#[test]
fn counters_of_a_port_start_anew_when_the_warm_up_ends() {
    let whole = run(&scenario(&web("20 s", "0 s", "0 s"))).replica;
    let rest = run(&scenario(&web("20 s", "10 s", "0 s"))).replica;
    let head = run(&scenario(&web("10 s", "0 s", "0 s"))).replica;

    let arrived = |replica| counts(replica, "b->a", "BE").arrived.packets;
    assert_eq!(arrived(&whole), arrived(&head) + arrived(&rest));
    let busy =
        |replica: &shortflow_measure::Replica| port(replica, "b->a").utilisation * replica.measured;
    assert!((busy(&whole) - busy(&head) - busy(&rest)).abs() < 1e-6);
}

/// A plain queue books its transmissions ahead: the work booked when the warm-up ends is done
/// after it.
#[test]
fn an_overloaded_link_is_busy_all_the_time_after_a_warm_up() {
    let scenario = scenario(
        r#"
        duration = "20 s"
        warm_up = "10 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms", queue = "500 pkt" }
        measure = { ports = ["a->b"], series_interval = "1 s" }
        [workloads.flood.cbr]
        from = "a"
        to = "b"
        rate = "2 Mbit/s"
        packet = "1000 B"
        "#,
    );
    let replica = run(&scenario).replica;

    assert!((port(&replica, "a->b").utilisation - 1.0).abs() < 1e-9);
    // The stream begins somewhere in the first second.
    for sample in replica.series.iter().skip(2) {
        assert!((sample.utilisation - 1.0).abs() < 1e-3, "{sample:?}");
    }
}

const MARKED: &str = r#"
policy = "policy.toml"
duration = "20 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "2 Mbit/s", delay = "10 ms" }
bind = [{ role = "line", at = "b", to = "a" }]
tcp.ecn = true
[workloads.long.bulk]
from = "b"
to = "a"
flows = 3
"#;

const MARKING: &str = r#"
[[roles.line.classes]]
name = "all"
marker.tsw2cm = { cir = "1 Mbit/s" }
[roles.line.queue.red]
limit = "100 pkt"
min_threshold = "5 pkt"
max_threshold = "60 pkt"
max_probability = 0.1
ecn = true
"#;

#[test]
fn marks_start_to_count_anew_when_the_warm_up_ends() {
    let run_from = |warm_up: &str, duration: &str| {
        let text = MARKED.replace(
            "duration = \"20 s\"",
            &format!("duration = \"{duration}\"\nwarm_up = \"{warm_up}\""),
        );
        run(&scenario_under(MARKING, &text)).replica
    };
    let (whole, head, rest) =
        (run_from("0 s", "20 s"), run_from("0 s", "10 s"), run_from("10 s", "20 s"));

    let marks = |replica| port(replica, "b->a").ecn_marks;
    assert!(marks(&head) > 10 && marks(&rest) > 10);
    assert_eq!(marks(&whole), marks(&head) + marks(&rest));
    for color in ["green", "yellow"] {
        let marked = |replica: &shortflow_measure::Replica| {
            replica.counters[&format!("b->a/all/marked {color} packets")]
        };
        assert!(marked(&head) > 100.0, "{color}");
        assert_eq!(marked(&whole), marked(&head) + marked(&rest), "{color}");
    }
}

/// 1.5 Mbit/s of datagrams over 1 Mbit/s for 20 s, of which the last 15 s are measured: the queue grows
/// all the time, and most waits have not ended when measuring does.
fn overload(policy: &str) -> shortflow_measure::Replica {
    let bind =
        if policy.is_empty() { "" } else { "bind = [{ role = \"core\", at = \"a\", to = \"b\" }]" };
    let named = if policy.is_empty() { "" } else { "policy = \"policy.toml\"" };
    let text = format!(
        r#"
        {named}
        duration = "20 s"
        warm_up = "5 s"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms", queue = "5000 pkt" }}
        {bind}
        measure.ports = ["a->b"]
        measure.series_interval = "10 ms"
        [workloads.flood.cbr]
        from = "a"
        to = "b"
        packet = "500 B"
        rate = "1.5 Mbit/s"
        "#
    );
    match policy {
        "" => run(&scenario(&text)).replica,
        policy => run(&scenario_under(policy, &text)).replica,
    }
}

#[test]
fn the_mean_queue_is_that_over_time_at_a_plain_port_and_under_a_policy_alike() {
    let policy = "[roles.core.queue.fifo]\nlimit = \"5000 pkt\"\n";
    let (plain, policy) = (overload(""), overload(policy));
    let (ours, other) = (port(&plain, "a->b"), port(&policy, "a->b"));
    assert_eq!(ours.mean_queue_packets, other.mean_queue_packets);
    assert!((ours.mean_wait - other.mean_wait).abs() < 1e-6);
    let measured = plain.series.iter().filter(|sample| sample.at.as_secs_f64() >= 5.0);
    let queues: Vec<f64> = measured.map(|sample| f64::from(sample.queue_packets)).collect();
    let over_time = queues.iter().sum::<f64>() / queues.len() as f64;
    assert!((ours.mean_queue_packets / over_time - 1.0).abs() < 0.01, "{over_time}");
}

#[test]
fn the_first_sample_after_the_warm_up_covers_a_whole_interval() {
    let replica = run(&scenario(
        r#"
        duration = "40 s"
        warm_up = "15 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
        measure.ports = ["a->b"]
        measure.series_interval = "10 s"
        [workloads.half.cbr]
        from = "a"
        to = "b"
        packet = "500 B"
        rate = "500 kbit/s"
        "#,
    ))
    .replica;
    let after = replica.series.iter().find(|sample| sample.at.as_secs_f64() == 20.0).unwrap();
    assert!((after.utilisation - 0.5).abs() < 0.01, "{}", after.utilisation);
}

#[test]
fn what_load_adds_to_the_delay_of_datagrams_is_what_they_wait_and_nothing_on_an_idle_path() {
    let stream = |arrivals: &str| {
        let text = format!(
            r#"
            duration = "50 s"
            hosts = {{ a = {{}}, b = {{}} }}
            routers.r = {{}}
            links.near = {{ between = ["a", "r"], rate = "1 Gbit/s", delay = "3 ms" }}
            links.line = {{ between = ["r", "b"], rate = "1 Mbit/s", delay = "7 ms", link_layer = "pppoe-llcsnap" }}
            measure.ports = ["r->b"]
            workloads.calls.{arrivals}
            "#
        );
        let outcome = run(&scenario(&text));
        let found = workload(&outcome.replica, "calls").datagrams.unwrap();
        (found, port(&outcome.replica, "r->b").mean_wait)
    };
    let (alone, _) =
        stream(r#"cbr = { from = "a", to = "b", rate = "80 kbit/s", packet = "200 B" }"#);
    // 200 bytes take 1.6 µs over the first link. On the line they and 40 more fill five cells of 53 bytes.
    let by_hand = 0.010 + 1.6e-6 + 5.0 * 53.0 * 8.0 / 1e6;
    assert!((alone.idle_delay.unwrap() - by_hand).abs() < 1e-9, "{alone:?}");
    assert_eq!(alone.delay, alone.idle_delay);

    let poisson =
        r#"poisson = { from = "a", to = "b", load = "400 kbit/s", size.constant = "200 B" }"#;
    let (busy, wait) = stream(poisson);
    let added = busy.delay.unwrap() - busy.idle_delay.unwrap();
    assert!(wait > 0.001 && (added / wait - 1.0).abs() < 0.01, "{added} s added, {wait} s waited");
}
