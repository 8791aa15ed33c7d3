//! Hosts, TCP, links, queues and markers at work together.

use shortflow_measure::Replica;

use crate::bench::{
    Row, counts, dropped, port, run, run_with_transfers, scenario, scenario_under, workload,
};

/// The mean goodput of a workload's long flows together, in bits per second.
fn goodput(replica: &Replica, name: &str) -> f64 {
    workload(replica, name).long_flows.as_ref().expect("long flows").rates.iter().sum()
}

#[test]
fn flows_in_opposite_directions_both_fill_the_link() {
    let replica = run(&scenario(
        r#"
        duration = "60 s"
        warm_up = "10 s"
        tcp.receive_window = "100 KB"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms" }
        workloads.there.bulk = { from = "a", to = "b" }
        workloads.back.bulk = { from = "b", to = "a" }
        "#,
    ))
    .replica;

    // 1000 of 1080 bytes are payload, and acknowledgements take 40 more for each segment. Those of
    // one flow wait behind the data of the other and come in bursts, so that a window of twice the
    // path now and then leaves a queue empty (Zhang, Shenker & Clark 1991).
    let max = 10e6 * 1000.0 / 1080.0;
    for name in ["there", "back"] {
        let rate = goodput(&replica, name);
        assert!((0.75 * max..1.001 * max).contains(&rate), "{name}: {rate}");
    }
}

/// ```text
///   a ── r1 ── r2 ── b
///        │     │
///        r4 ── r3
/// ```
#[test]
fn packets_take_the_short_side_of_a_ring() {
    let replica = run(&scenario(
        r#"
        duration = "10 s"
        tcp.receive_window = "100 KB"
        hosts = { a = {}, b = {} }
        routers = { r1 = {}, r2 = {}, r3 = {}, r4 = {} }
        links.a = { between = ["a", "r1"], rate = "10 Mbit/s", delay = "1 ms" }
        links.b = { between = ["b", "r2"], rate = "10 Mbit/s", delay = "1 ms" }
        links.r12 = { between = ["r1", "r2"], rate = "10 Mbit/s", delay = "1 ms" }
        links.r23 = { between = ["r2", "r3"], rate = "10 Mbit/s", delay = "1 ms" }
        links.r34 = { between = ["r3", "r4"], rate = "10 Mbit/s", delay = "1 ms" }
        links.r41 = { between = ["r4", "r1"], rate = "10 Mbit/s", delay = "1 ms" }
        measure.ports = ["r1->r2", "r2->r1", "r1->r4", "r2->r3", "r3->r4", "r4->r3"]
        workloads.long.bulk = { from = "a", to = "b" }
        "#,
    ))
    .replica;

    assert!(goodput(&replica, "long") > 9e6);
    for way in ["r1->r2", "r2->r1"] {
        assert!(counts(&replica, way, "BE").forwarded.packets > 10_000, "{way}");
    }
    for way in ["r1->r4", "r2->r3", "r3->r4", "r4->r3"] {
        assert_eq!(counts(&replica, way, "BE").arrived.packets, 0, "{way}");
    }
}

#[test]
fn a_datagram_takes_each_hops_transmission_and_propagation() {
    let replica = run(&scenario(
        r#"
        duration = "10 s"
        hosts = { a = {}, b = {} }
        routers = { r1 = {}, r2 = {}, r3 = {} }
        links.one = { between = ["a", "r1"], rate = "100 Mbit/s", delay = "1 ms" }
        links.two = { between = ["r1", "r2"], rate = "7 Mbit/s", delay = "2 ms" }
        links.three = { between = ["r2", "r3"], rate = "3 Mbit/s", delay = "3 ms", overhead = "18 B" }
        links.four = { between = ["r3", "b"], rate = "1 Gbit/s", delay = "4 ms" }
        workloads.voice.cbr = { from = "a", to = "b", rate = "64 kbit/s", packet = "200 B", stop = "9 s" }
        "#,
    ))
    .replica;

    let bits = 200.0 * 8.0;
    let by_hand = 0.010 + bits / 100e6 + bits / 7e6 + (bits + 18.0 * 8.0) / 3e6 + bits / 1e9;
    let datagrams = workload(&replica, "voice").datagrams.unwrap();
    assert_eq!((datagrams.sent, datagrams.delivered), (360, 360));
    assert!((datagrams.delay.unwrap() - by_hand).abs() < 4e-9, "{datagrams:?} {by_hand}");
    // A link may round to the nanosecond, no more.
    assert!(datagrams.jitter.unwrap() < 2e-9);
}

#[test]
fn delayed_acknowledgements_halve_the_packets_of_the_way_back() {
    let acks_per_segment = |era: &str| {
        let replica = run(&scenario(&format!(
            r#"
            duration = "20 s"
            warm_up = "5 s"
            tcp = {{ era = "{era}", receive_window = "100 KB" }}
            hosts = {{ a = {{}}, b = {{}} }}
            links.line = {{ between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms" }}
            measure.ports = ["a->b", "b->a"]
            workloads.long.bulk = {{ from = "a", to = "b" }}
            "#
        )))
        .replica;
        assert!(goodput(&replica, "long") > 0.9 * 10e6, "{era}");
        counts(&replica, "b->a", "BE").forwarded.packets as f64
            / counts(&replica, "a->b", "BE").forwarded.packets as f64
    };

    assert!((acks_per_segment("ns2-2002") - 1.0).abs() < 0.01);
    assert!((acks_per_segment("linux-today") - 0.5).abs() < 0.01);
}

/// Ten segments of a reply leave at once, so that a transfer of ten takes three round trips, the
/// last of which is the reply; the acknowledgement of an only segment is not waited for.
#[test]
fn a_reply_of_today_fits_into_the_initial_window() {
    let (_, rows) = run_with_transfers(&scenario(
        r#"
        duration = "500 s"
        drain = "10 s"
        tcp.era = "linux-today"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = "1 Gbit/s", delay = "50 ms" }
        [workloads.web.transfers]
        client = "a"
        server = "b"
        interval = "50 s"
        request.constant = "500 B"
        reply.constant = "10 seg"
        "#,
    ));

    assert!(!rows.is_empty());
    for row in rows {
        // Two round trips of 100 ms, 52 bytes three times, the request and ten segments of 1500
        // bytes at 1 Gbit/s: below 0.2 ms more.
        assert!((200_000_000..200_200_000).contains(&row.completion), "{row:?}");
    }
}

const ECN: &str = r#"
policy = "policy.toml"
duration = "60 s"
warm_up = "20 s"
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "10 Mbit/s", delay = "20 ms" }
bind = [{ role = "line", at = "a", to = "b" }]
workloads.long.bulk = { from = "a", to = "b", flows = 4, start_window = "5 s" }
"#;

const RED: &str = r#"
[roles.line.queue.red]
limit = "200 pkt"
min_threshold = "10 pkt"
max_threshold = "100 pkt"
max_probability = 0.1
weight = 0.002
ecn = true
"#;

#[test]
fn with_ecn_a_red_queue_marks_where_it_would_drop() {
    let [with, without] = [true, false]
        .map(|ecn| run(&scenario_under(RED, &format!("tcp.ecn = {ecn}\n{ECN}"))).replica);

    let all_dropped = |replica| counts(replica, "a->b", "BE").all_dropped().packets;
    assert!(port(&with, "a->b").ecn_marks > 100, "{:?}", port(&with, "a->b"));
    assert_eq!(all_dropped(&with), 0, "the average stays below the upper threshold");
    assert_eq!(port(&without, "a->b").ecn_marks, 0);
    assert!(dropped(&without, counts(&without, "a->b", "BE"), "early") > 100);
    assert!(goodput(&with, "long") > 0.95 * 10e6 * 1000.0 / 1040.0);
}

/// Slow start into a small buffer loses about half a window at once. SACK repairs several losses
/// in a round trip, NewReno one; Reno waits for its timer.
#[test]
fn the_better_a_recovery_knows_its_losses_the_sooner_a_burst_of_them_is_repaired() {
    let [reno, newreno, sack] = ["reno", "newreno", "sack"].map(|recovery| {
        let (outcome, rows) = run_with_transfers(&scenario(&format!(
            r#"
            duration = "1000 s"
            drain = "60 s"
            tcp.recovery = "{recovery}"
            hosts = {{ a = {{}}, b = {{}} }}
            links.line = {{ between = ["a", "b"], rate = "10 Mbit/s", delay = "50 ms", queue = "30 pkt" }}
            [workloads.file.transfers]
            client = "a"
            server = "b"
            interval = "100 s"
            request.constant = "1 seg"
            reply.constant = "400 seg"
            "#
        )));
        assert!(rows.len() > 3 && rows.iter().all(|row| row.retransmissions > 10), "{rows:?}");
        workload(&outcome.replica, "file").all.mean().unwrap().value()
    });

    assert!(sack < newreno, "SACK {sack} s, NewReno {newreno} s, Reno {reno} s");
    assert!(newreno < reno, "SACK {sack} s, NewReno {newreno} s, Reno {reno} s");
}

/// A flood fills the queue for two seconds; whatever SYN is lost to it goes again after 3 s.
#[test]
fn a_lost_syn_costs_the_initial_timeout() {
    let (_, rows) = run_with_transfers(&scenario(
        r#"
        duration = "10 s"
        drain = "60 s"
        hosts = { a = {}, b = {} }
        links.line = { between = ["a", "b"], rate = { forward = "1 Mbit/s", back = "100 Mbit/s" }, delay = "10 ms", queue = "2 pkt" }
        workloads.flood.cbr = { from = "a", to = "b", rate = "100 Mbit/s", packet = "1000 B", stop = "2 s" }
        [workloads.web.transfers]
        client = "a"
        server = "b"
        rate = "4 /s"
        stop = "2 s"
        request.constant = "40 B"
        reply.constant = "1 seg"
        "#,
    ));

    let lost: Vec<&Row> = rows.iter().filter(|row| row.syn_retransmissions == 1).collect();
    assert!(lost.len() >= 4, "{rows:?}");
    for row in lost {
        // The SYN of 40 bytes takes 320 µs forward and its answer 3.2 µs back, after 10 ms each.
        assert_eq!(row.handshake, 3_000_000_000 + 20_000_000 + 320_000 + 3_200, "{row:?}");
    }
}

/// Once a buffer as large as the path is full, each flow loses a packet or two and halves: some
/// hundred losses in a minute, whichever way they are repaired. (In ns-2: 170 to 300 after the
/// slow starts of work A.)
#[test]
fn long_flows_lose_few_packets_once_their_slow_starts_are_over() {
    let loss = |recovery: &str| {
        let replica = run(&scenario(&format!(
            r#"
            duration = "80 s"
            warm_up = "20 s"
            tcp.recovery = "{recovery}"
            hosts = {{ a = {{ count = 10 }}, b = {{ count = 10 }} }}
            routers = {{ r1 = {{}}, r2 = {{}} }}
            links.a = {{ between = ["a", "r1"], rate = "1 Gbit/s", delay = ["5 ms", "15 ms", "25 ms", "35 ms", "45 ms"] }}
            links.b = {{ between = ["b", "r2"], rate = "1 Gbit/s", delay = ["5 ms", "15 ms", "25 ms", "35 ms", "45 ms"] }}
            links.core = {{ between = ["r1", "r2"], rate = "50 Mbit/s", delay = "5 ms", queue = "500 pkt" }}
            measure.ports = ["r1->r2"]
            workloads.long.bulk = {{ from = "a", to = "b", flows = 10, start_window = "1 s" }}
            "#
        )))
        .replica;
        assert!(port(&replica, "r1->r2").utilisation > 0.97, "{recovery}");
        port(&replica, "r1->r2").loss().unwrap()
    };

    for recovery in ["newreno", "sack"] {
        let loss = loss(recovery);
        assert!(loss > 0.0 && loss < 0.003, "{recovery}: {loss}");
    }
}
