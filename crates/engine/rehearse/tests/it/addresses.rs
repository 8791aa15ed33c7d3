//! Hosts with addresses of their own: real kernels send from these, and policies match them.

use shortflow_measure::{Replica, WarningKind};
use shortflow_rehearse::Rehearsal;
use shortflow_run::ClassUse;
use shortflow_scenario::Scenario;

use crate::real::outcome;
use crate::{machine, scenario};

/// A line that two bulk flows fill, where calls go first by their source address.
fn line(hosts: &str, calls: &str, others: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "3 s"
        warm_up = "500 ms"
        policy = "policy.toml"
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
        [workloads.web.transfers]
        client = "a"
        server = "b"
        rate = "10 /s"
        request.constant = "300 B"
        reply.constant = "10 KB"
        "#
    );
    let band = |rule: &str, limit: u32| {
        format!(
            "[[roles.core.queue.strict-priority.bands]]\n{rule}\nqueue.fifo.limit = \"{limit} pkt\"\n"
        )
    };
    let policy = band(&format!("match = {{ {calls} }}"), 50)
        + &band(&format!("match = {{ {others} }}"), 50)
        + &band("", 50);
    scenario(&[("line.toml", &text), ("policy.toml", &policy)])
}

/// What a rehearsal found, and how many packets its classes were given; none where there can be no rehearsal.
fn rehearsed(rehearsal: Rehearsal, scenario: &Scenario) -> Option<(Replica, ClassUse)> {
    let _machine = machine();
    outcome(rehearsal, scenario).map(|(replica, classes)| (replica, classes.unwrap()))
}

/// The mean delay of calls in milliseconds.
fn call_delay(replica: &Replica) -> f64 {
    let calls = replica.workloads[1].datagrams.as_ref().unwrap();
    assert!(calls.delivered > 100, "{}", calls.delivered);
    1000.0 * calls.delay.unwrap()
}

/// The warnings about classes.
fn unmatched(scenario: &Scenario, classes: &ClassUse) -> Vec<String> {
    let warnings = classes.warnings(scenario, &Default::default());
    assert!(warnings.iter().all(|one| one.kind == WarningKind::UnmatchedClass));
    warnings.into_iter().map(|one| one.message).collect()
}

#[test]
fn hosts_of_ipv6_only_speak_it_and_a_policy_for_their_prefix_matches() {
    let hosts = "a = { address = \"2001:db8:2::1\" }, b = { address = \"2001:db8:1::1\" }";
    let calls = "protocol = \"udp\", src = \"2001:db8:1::/48\"";
    let scenario = line(hosts, calls, "src = \"10.0.0.0/8\"");
    let Some((found, classes)) = rehearsed(Rehearsal::OVER_IPV4, &scenario) else { return };
    // 7 ms on the way, and behind one packet of 1500 bytes, not tens of them of 1.2 ms each.
    assert!(call_delay(&found) < 20.0, "{}", call_delay(&found));
    assert!(found.workloads[2].all.n() > 10, "{:?}", found.workloads[2]);
    assert_eq!(
        unmatched(&scenario, &classes),
        ["no packet matched class 2 of `strict-priority` in the role `core`"]
    );
}

#[test]
fn hosts_with_ipv4_addresses_of_their_own_are_matched_by_them() {
    let hosts =
        "a = { address = \"100.64.0.7\" }, b = { address = [\"203.0.113.9\", \"2001:db8::9\"] }";
    let calls = "protocol = \"udp\", src = \"203.0.113.0/24\", dst = \"100.64.0.7\"";
    let scenario = line(hosts, calls, "dst = \"10.0.0.1\"");
    let Some((found, classes)) = rehearsed(Rehearsal::OVER_IPV4, &scenario) else { return };
    assert!(call_delay(&found) < 20.0, "{}", call_delay(&found));
    assert_eq!(unmatched(&scenario, &classes).len(), 1);
}

#[test]
fn a_host_without_an_ipv6_address_is_refused_where_all_are_to_speak_it() {
    let scenario =
        line("a = { address = \"100.64.0.7\" }, b = {}", "protocol = \"udp\"", "dscp = \"EF\"");
    let refused = shortflow_run::Engine::check(&Rehearsal::OVER_IPV6, &scenario).unwrap_err();
    assert!(refused.0.starts_with("down: a has no IPv6 address\n"), "{}", refused.0);
}
