//! Schedulers and shapers at ports of a network.

use shortflow_measure::Replica;

use crate::bench::{counts, port, run, scenario_under, workload};

/// A host whose packets leave by code point over 1 Mbit/s, where 1000 bytes take 8 ms.
fn source_host(queue: &str, workloads: &str) -> Replica {
    let policy = format!("[roles.source.queue.source-scheduler]\n{queue}");
    let scenario = format!(
        r#"
        policy = "policy.toml"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }}
        bind = [{{ role = "source", at = "a", to = "b" }}]
        measure.ports = ["a->b"]
        {workloads}
        "#
    );
    run(&scenario_under(&policy, &scenario)).replica
}

#[test]
fn low_packets_pass_those_that_wait_for_tokens_as_soon_as_the_line_is_free() {
    let replica = source_host(
        r#"
        limit = "10000 pkt"
        high = { rate = "8 bit/s", depth = "1000 B" }
        medium = { rate = "8 bit/s", depth = "1000 B" }
        remark_after = "10000 s"
        "#,
        r#"
        duration = "2000 s"
        [workloads.blocked.cbr]
        from = "a"
        to = "b"
        dscp = "AF11"
        packet = "1000 B"
        rate = "8 kbit/s"
        stop = "10 s"
        [workloads.free.poisson]
        from = "a"
        to = "b"
        size.constant = "1000 B"
        load = "500 kbit/s"
        "#,
    );
    let free = workload(&replica, "free").datagrams.unwrap();
    assert!(free.delivered > 100_000);
    assert_eq!(counts(&replica, "a->b", "AF11").forwarded.packets, 2, "at once, and after 1000 s");
    // Pollaczek & Khinchine for M/D/1 at half load: ρs/(2(1 − ρ)) = 4 ms. Half the arrivals wait;
    // the standard error of their mean over 125 000 is below 1 %.
    let wait = free.delay.unwrap() - 8e-3 - 1e-3;
    assert!((wait - 4e-3).abs() < 0.15e-3, "{wait}");
}

#[test]
fn packets_that_are_remarked_at_a_port_leave_under_their_new_code_point() {
    let replica = source_host(
        r#"
        limit = "100 pkt"
        high = { rate = "8 kbit/s", depth = "1000 B" }
        medium = { rate = "16 kbit/s", depth = "1000 B" }
        "#,
        r#"
        duration = "100 s"
        drain = "10 s"
        [workloads.telnet.cbr]
        from = "a"
        to = "b"
        dscp = "AF11"
        packet = "1000 B"
        rate = "80 kbit/s"
        stop = "90 s"
        "#,
    );
    let datagrams = workload(&replica, "telnet").datagrams.unwrap();
    assert_eq!((datagrams.sent, datagrams.delivered), (900, 900));
    // Ten packets a second come as HIGH. The first finds its tokens. From then on there is a queue,
    // in which packets grow older than 200 ms: they leave as MED, while there are tokens for two a
    // second and a full bucket, and else, when they are 400 ms old, as LOW.
    let left =
        ["AF11", "AF12", "AF13"].map(|name| counts(&replica, "a->b", name).forwarded.packets);
    assert_eq!(left.iter().sum::<u64>(), 900);
    assert!(left[0] == 1 && left[1].abs_diff(2 * 90 + 1) <= 2, "{left:?}");
}

/// Host `many` sends eight long flows and host `one` a single one over 10 Mbit/s.
fn eight_flows_against_one(queue: &str) -> (f64, f64, f64) {
    let policy = format!("[roles.core.queue.{queue}");
    let scenario = r#"
        policy = "policy.toml"
        duration = "60 s"
        warm_up = "10 s"
        hosts = { many = {}, one = {}, sink = {} }
        routers = { near = {}, far = {} }
        links.many = { between = ["many", "near"], rate = "100 Mbit/s", delay = "1 ms" }
        links.one = { between = ["one", "near"], rate = "100 Mbit/s", delay = "1 ms" }
        links.core = { between = ["near", "far"], rate = "10 Mbit/s", delay = "10 ms" }
        links.sink = { between = ["far", "sink"], rate = "100 Mbit/s", delay = "1 ms" }
        bind = [{ role = "core", at = "near", to = "far" }]
        measure.ports = ["near->far"]
        workloads.many.bulk = { from = "many", to = "sink", flows = 8 }
        workloads.one.bulk = { from = "one", to = "sink", flows = 1 }
        "#;
    let replica = run(&scenario_under(&policy, scenario)).replica;
    let goodput = |name| -> f64 {
        workload(&replica, name).long_flows.as_ref().expect("long flows").rates.iter().sum()
    };
    (goodput("many"), goodput("one"), port(&replica, "near->far").mean_wait)
}

#[test]
fn long_flows_share_by_flow_under_fq_codel_and_by_host_under_host_fair_with_a_short_delay() {
    let (many, one, fifo_wait) = eight_flows_against_one("fifo]\nlimit = \"200 pkt\"");
    assert!(many > 5.0 * one && fifo_wait > 0.1, "{many} {one} {fifo_wait}");
    // CoDel leaves a queue alone while one packet is behind its head. Nine flows with so many, and
    // as many again until it takes effect: 9 · 4 packets of 0.832 ms.
    let short = 0.030;
    let (many, one, wait) = eight_flows_against_one("fq-codel]");
    assert!((many / one - 8.0).abs() < 0.8, "{many} {one}");
    assert!(wait < short, "{wait}");
    // With a target of the path's 24 ms, a single Reno flow keeps its half busy.
    let (many, one, _) = eight_flows_against_one("host-fair]\nby = \"source\"\ntarget = \"25 ms\"");
    assert!((many / one - 1.0).abs() < 0.01, "{many} {one}");
    // With 5 ms, a halved window now and then leaves some of it to the others.
    let (many, one, wait) = eight_flows_against_one("host-fair]\nby = \"source\"");
    assert!(one < many && one > 0.9 * (many + one) / 2.0, "{many} {one}");
    assert!(wait < short, "{wait}");
}
