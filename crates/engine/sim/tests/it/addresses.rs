//! Policies that match by address, between hosts that are given addresses.

use std::collections::BTreeSet;

use shortflow_measure::WarningKind;
use shortflow_scenario::Scenario;
use shortflow_sim::run_replica;

use crate::bench::{run, scenario_under, workload};

/// A slow line on which a bulk transfer fills the queue that calls wait in, or not: by address.
fn line(hosts: &str, rule: &str) -> Scenario {
    let policy = format!(
        r#"
        [[roles.core.queue.strict-priority.bands]]
        match = {{ {rule} }}
        queue.fifo = {{ limit = "50 pkt" }}
        [[roles.core.queue.strict-priority.bands]]
        queue.fifo = {{ limit = "100 pkt" }}
        "#
    );
    let scenario = format!(
        r#"
        duration = "10 s"
        policy = "policy.toml"
        tcp.era = "linux-today"
        hosts = {{ {hosts} }}
        routers = {{ r = {{}}, q = {{}} }}
        [links]
        x = {{ between = ["a", "r"], rate = "1 Gbit/s", delay = "1 ms" }}
        y = {{ between = ["r", "q"], rate = "10 Mbit/s", delay = "5 ms" }}
        z = {{ between = ["q", "b"], rate = "1 Gbit/s", delay = "1 ms" }}
        [[bind]]
        role = "core"
        at = "q"
        to = "r"
        [workloads.down.bulk]
        from = "b"
        to = "a"
        flows = 2
        [workloads.call.cbr]
        from = "b"
        to = "a"
        rate = "80 kbit/s"
        packet = "200 B"
        "#
    );
    scenario_under(&policy, &scenario)
}

/// The mean delay of calls in milliseconds.
fn call_delay(scenario: &Scenario) -> f64 {
    let replica = run(scenario).replica;
    let calls = workload(&replica, "call").datagrams.unwrap();
    assert!(calls.delivered > 400, "{}", calls.delivered);
    1000.0 * calls.delay.unwrap()
}

#[test]
fn a_policy_for_ipv6_prefixes_matches_hosts_of_ipv6() {
    let v6 = "a = { address = \"2001:db8:2::1\" }, b = { address = \"2001:db8:1::1\" }";
    let calls = "protocol = \"udp\", src = \"2001:db8:1::/48\"";
    let (first, last) = (call_delay(&line(v6, calls)), call_delay(&line("a = {}, b = {}", calls)));
    // One bulk packet of 1500 bytes may be on the line, 1.2 ms; behind all of them calls wait for tens of them.
    assert!(first < 7.0 + 2.0, "{first} ms");
    assert!(last > 30.0, "{last} ms");
}

#[test]
fn a_policy_for_ipv4_prefixes_matches_hosts_with_these_addresses() {
    let hosts = "a = {}, b = { address = \"203.0.113.9\" }";
    let calls = "protocol = \"udp\", src = \"203.0.113.0/24\"";
    assert!(call_delay(&line(hosts, calls)) < 9.0);
    assert!(call_delay(&line("a = {}, b = {}", calls)) > 30.0);
}

#[test]
fn other_addresses_of_hosts_change_nothing_where_nobody_looks_at_addresses() {
    let of = |hosts: &str| run(&line(hosts, "protocol = \"udp\"")).replica;
    let automatic = of("a = {}, b = {}");
    let given = of("a = { address = \"100.64.0.1\" }, b = { address = \"203.0.113.9\" }");
    assert_eq!(format!("{automatic:?}"), format!("{given:?}"));
}

#[test]
fn packets_of_ipv6_are_as_large_and_carry_20_bytes_less() {
    let of = |hosts: &str| run(&line(hosts, "protocol = \"udp\"")).replica;
    let goodput = |hosts: &str| {
        let replica = of(hosts);
        workload(&replica, "down").long_flows.as_ref().unwrap().rates.iter().sum::<f64>()
    };
    let v6 = "a = { address = \"2001:db8:2::1\" }, b = { address = \"2001:db8:1::1\" }";
    let share = goodput(v6) / goodput("a = {}, b = {}");
    let (data, packet) = (1448.0, 1500.0);
    assert!((share / ((data - 20.0) / data) - 1.0).abs() < 0.01, "{share} of packets of {packet}");
}

/// Customers with a plan each, and the classes of the first eight.
fn village() -> Scenario {
    let plan = |at: u32| {
        let rate = if at <= 4 { 2 } else { 5 };
        format!(
            "[[roles.core.queue.drr.classes]]\nmatch.dst = \"100.64.0.{at}\"\nquantum = \"1514 B\"\n\
             queue.shaper = {{ rate = \"{rate} Mbit/s\", queue.fq-codel = {{}} }}\n"
        )
    };
    let rest = "[[roles.core.queue.drr.classes]]\nquantum = \"1514 B\"\nqueue.fq-codel = {}\n";
    let policy = (1..=8).map(plan).collect::<String>() + rest;
    scenario_under(
        &policy,
        r#"
        duration = "8 s"
        warm_up = "2 s"
        policy = "policy.toml"
        tcp.era = "linux-today"
        hosts = { sub = { count = 10, address = "100.64.0.0/24" }, cdn = {} }
        routers = { tower = {}, head = {} }
        [links]
        cpe = { between = ["sub", "tower"], rate = "100 Mbit/s", delay = "3 ms" }
        backhaul = { between = ["head", "tower"], rate = "400 Mbit/s", delay = "1 ms" }
        cdn = { between = ["cdn", "head"], rate = "1 Gbit/s", delay = "1 ms" }
        [[bind]]
        role = "core"
        at = "head"
        to = "tower"
        [workloads.updates.bulk]
        from = "cdn"
        to = "sub"
        flows = 10
        "#,
    )
}

#[test]
fn each_customer_gets_the_rate_of_its_own_plan() {
    let replica = run(&village()).replica;
    // Flow number i goes to customer number i.
    let rates = &workload(&replica, "updates").long_flows.as_ref().unwrap().rates;
    let rates: Vec<f64> = rates.iter().map(|rate| rate / 1e6).collect();
    assert_eq!(rates.len(), 10);
    for (at, rate) in rates.iter().enumerate() {
        let Some(plan) = [2.0, 5.0].get(at / 4) else {
            assert!(*rate > 20.0, "customer {at} has no plan: {rate}");
            continue;
        };
        let data = plan * 1448.0 / 1500.0;
        assert!((rate / data - 1.0).abs() < 0.05, "customer {at}: {rate} of {plan}");
    }
}

/// The warnings of two replicas about classes.
fn unmatched(scenario: &str, policy: &str) -> Vec<String> {
    let scenario = scenario_under(policy, scenario);
    let of = |replica| run_replica(&scenario, replica, None, |_| true).unwrap().classes;
    let found = of(0).and(of(1)).warnings(&scenario, &BTreeSet::new());
    assert!(found.iter().all(|one| one.kind == WarningKind::UnmatchedClass));
    found.iter().map(ToString::to_string).collect()
}

/// A host that calls for the first three of ten seconds, over a policy.
fn caller(warm_up: &str) -> String {
    format!(
        r#"
        duration = "10 s"
        warm_up = "{warm_up}"
        replicas = 2
        policy = "policy.toml"
        hosts = {{ a = {{}}, b = {{}} }}
        links.line = {{ between = ["a", "b"], rate = "2 Mbit/s", delay = "1 ms" }}
        bind = [{{ role = "core", at = "a", to = "b" }}]
        workloads.file.bulk = {{ from = "a", to = "b" }}
        workloads.call.cbr = {{ from = "a", to = "b", rate = "80 kbit/s", packet = "200 B", stop = "3 s" }}
        "#
    )
}

#[test]
fn a_class_that_matched_no_packet_is_warned_of_and_one_for_the_rest_is_not() {
    let marked = "\n[[roles.core.classes]]\nname = \"voice\"\nmatch.dscp = \"EF\"\nmarker.fixed.dscp = \"EF\"\n";
    for list in ["strict-priority.bands", "drr.classes", "wrr.classes", "wfq.classes"] {
        let share = match list {
            "drr.classes" => "quantum = \"1500 B\"",
            "wrr.classes" | "wfq.classes" => "weight = 1",
            _ => "",
        };
        let queue = if list == "wfq.classes" {
            "limit = \"50 pkt\""
        } else {
            "queue.fifo.limit = \"50 pkt\""
        };
        let class = |rule: &str| format!("[[roles.core.queue.{list}]]\n{rule}\n{share}\n{queue}\n");
        let policy = class("match.dscp = \"EF\"")
            + &class("match.protocol = [\"udp\", \"tcp\"]")
            + &class("");
        let found = unmatched(&caller("1 s"), &(policy + marked));
        let [only] = &found[..] else { panic!("{list}: {found:?}") };
        let (scheme, _) = list.split_once('.').unwrap();
        let expected = format!(
            "no packet matched the class `voice`, class 1 of `{scheme}` in the role `core` (policy.toml:"
        );
        assert!(only.starts_with(&expected), "{only}");
    }
    let shared = "[roles.core.queue.shared-priority]\nlimit = \"50 pkt\"\n\
                  bands = [\"AF11\", \"8-9\", { match = { dscp = \"EF\" } }, { match = { protocol = \"udp\" } }, \"rest\"]\n";
    let found = unmatched(&caller("1 s"), shared);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(only.contains("of `shared-priority`") && only.contains("policy.toml:3:"), "{only}");
}

#[test]
fn a_class_inside_a_class_of_a_shaper_is_told_apart() {
    let policy = r#"
[roles.core.queue.shaper]
rate = "1 Mbit/s"
[[roles.core.queue.shaper.queue.drr.classes]]
match.protocol = "udp"
quantum = "1500 B"
queue.strict-priority.bands = [{ match.dscp = "EF", queue.fifo.limit = "9 pkt" }, { queue.fifo.limit = "9 pkt" }]
[[roles.core.queue.shaper.queue.drr.classes]]
quantum = "1500 B"
queue.fifo.limit = "50 pkt"
"#;
    let found = unmatched(&caller("1 s"), policy);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(
        only.starts_with("no packet matched class 1 of `strict-priority`") && only.contains(":7:"),
        "{only}"
    );
}

#[test]
fn a_class_whose_packets_all_came_during_the_warm_up_is_said_to_have() {
    let policy = "[[roles.core.queue.strict-priority.bands]]\nmatch.protocol = \"udp\"\nqueue.fifo.limit = \"50 pkt\"\n\
                  [[roles.core.queue.strict-priority.bands]]\nqueue.fifo.limit = \"50 pkt\"\n";
    assert_eq!(unmatched(&caller("1 s"), policy), [""; 0]);
    let found = unmatched(&caller("5 s"), policy);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(only.contains(" after the warm-up, only before its end"), "{only}");
}

#[test]
fn many_classes_without_packets_have_one_warning() {
    let class = |port: u32| {
        format!(
            "[[roles.core.queue.drr.classes]]\nmatch.dscp = {port}\nquantum = \"1500 B\"\nqueue.fifo.limit = \"9 pkt\"\n"
        )
    };
    let policy = (1..=7).map(class).collect::<String>()
        + "[[roles.core.queue.drr.classes]]\nquantum = \"1500 B\"\nqueue.fifo.limit = \"9 pkt\"\n";
    let found = unmatched(&caller("1 s"), &policy);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(
        only.starts_with(
            "no packet matched class 1 of `drr`, class 2 of `drr`, class 3 of `drr` in the role `core`; and 4 more classes"
        ),
        "{only}"
    );
}
