//! Policies of source hosts, rehearsed for some seconds beside their simulation.

use shortflow_measure::Replica;
use shortflow_scenario::Scenario;

use crate::real::both;
use crate::scenario;

/// A site's server, whose role is `source`, answers clients over a line of 10 Mbit/s.
fn site(policy: &str, more: &str, workloads: &str) -> Scenario {
    let text = format!(
        r#"
        policy = "policy.toml"
        duration = "3 s"
        hosts = {{ client = {{}}, server = {{}} }}
        routers = {{ r = {{}} }}
        measure.ports = ["client->r", "r->client"]
        {more}
        [links]
        access = {{ between = ["server", "r"], rate = "100 Mbit/s", delay = "1 ms" }}
        line = {{ between = ["r", "client"], rate = "10 Mbit/s", delay = "10 ms", queue = "60 pkt" }}
        [workloads]
        {workloads}
        "#
    );
    scenario(&[("site.toml", &text), ("policy.toml", policy)])
}

const AT_SERVER: &str = r#"bind = [{ role = "source", at = "server", to = "r" }]"#;
const WEB: &str = r#"web.transfers = { client = "client", server = "server", rate = "20 /s", request = { constant = "300 B" }, reply = { constant = "10 KB" } }"#;
const FILE: &str = r#"file.bulk = { from = "server", to = "client" }"#;

/// What share of the packets that came to a port had each code point: rehearsed, and simulated.
fn shares(found: &[Replica; 2], port: &str, code_points: &[&str]) -> Vec<[f64; 2]> {
    let share = |replica: &Replica, name: &str| {
        let index = replica.code_points.iter().position(|point| point.as_str() == name);
        let port = replica.port(port).unwrap();
        let all: u64 = port.code_points.iter().map(|count| count.arrived.packets).sum();
        let of = index.map_or(0, |index| port.code_points[index].arrived.packets);
        of as f64 / all as f64
    };
    code_points.iter().map(|name| found.each_ref().map(|replica| share(replica, name))).collect()
}

/// The policy of this name that the project has.
fn policy(name: &str) -> String {
    let path = format!("{}/../../policies/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// All three roles, as every policy of the project has them.
const ALL_ROLES: &str = r#"bind = [
    { role = "source", at = "server", to = "r" },
    { role = "edge", at = "r", from = "server" },
    { role = "core", at = "r", to = "client" },
]"#;

fn near(what: &str, [found, expected]: [f64; 2], within: f64) {
    assert!((found - expected).abs() <= within, "{what}: {found}, simulated {expected}");
}

const BY_STATE: &str = r#"
[[roles.source.classes]]
name = "tcp"
match = { protocol = "tcp" }
marker.tcp-state = { high = 10, medium = 20 }
"#;

#[cfg(feature = "ebpf")]
#[test]
fn short_transfers_are_marked_best_by_the_state_of_their_tcp_as_in_the_simulation() {
    // Four segments fit into the first window, and use too little of it for a kernel to let it grow.
    let web = WEB.replace("10 KB", "5 KB");
    let Some(found) = both(&site(BY_STATE, AT_SERVER, &web)) else { return };
    for share in shares(&found, "r->client", &["AF11"]) {
        assert_eq!(share, [1.0, 1.0], "SYN-ACKs, data, acknowledgements and FINs");
    }
    assert!(found[0].workloads[0].all.n() > 30);
}

#[cfg(feature = "ebpf")]
#[test]
fn a_long_transfer_falls_through_the_thresholds_as_in_the_simulation() {
    let file = r#"file.bulk = { from = "server", to = "client", tcp = { congestion = "reno" } }"#;
    let randomized = BY_STATE.replace("medium = 20", "medium = 20, randomized = true");
    for policy in [BY_STATE, &randomized] {
        let Some(found) = both(&site(policy, AT_SERVER, file)) else { return };
        let [high, medium, low]: [[f64; 2]; 3] =
            shares(&found, "r->client", &["AF11", "AF12", "AF13"]).try_into().unwrap();
        near("high", high, 0.15);
        near("medium", medium, 0.15);
        near("low", low, 0.2);
        assert!(low[0] > 0.3, "the window of a pipe of 20 to 80 segments");
    }
}

#[cfg(feature = "ebpf")]
#[test]
fn the_scheduler_of_a_source_host_and_police_and_mark_keep_the_shape_of_their_simulation() {
    let both_loads = format!("{WEB}\n{FILE}");
    for (name, code_points) in [
        ("source-scheduler.toml", &["AF11", "AF12", "AF13"][..]),
        ("police-and-mark.toml", &["AF11", "BE"]),
    ] {
        let Some(found) = both(&site(&policy(name), ALL_ROLES, &both_loads)) else { return };
        for (code_point, share) in code_points.iter().zip(shares(&found, "r->client", code_points))
        {
            near(&format!("{name}: {code_point}"), share, 0.2);
        }
        let web = found.each_ref().map(|replica| replica.workloads[0].all.n() as f64);
        near(&format!("{name}: transfers"), web, 15.0);
    }
}

#[cfg(feature = "ebpf")]
#[test]
fn an_aggregate_keeps_to_its_rate_and_hears_of_its_senders() {
    let text = policy("aggregate.toml");
    let Some(found) = both(&site(&text, ALL_ROLES, FILE)) else { return };
    // 5 Mbit/s and a bucket of 200 KB, over three seconds.
    near("utilisation", found.each_ref().map(|at| at.port("r->client").unwrap().utilisation), 0.1);
    let heard = found.each_ref().map(|replica| {
        let named = |name: &String| name.contains("triggers: acknowledgement");
        let counts = replica.counters.iter().filter(|(name, _)| named(name));
        counts.map(|(_, count)| *count).sum::<f64>()
    });
    assert!(heard[0] > 100.0 && heard[1] > 100.0, "acknowledgements: {heard:?}");
}

/// What these ask for shows in packets and in what applications say: no state of a kernel is read.
#[test]
fn what_remains_decides_the_priority_as_in_the_simulation_without_ebpf() {
    let srpt = "[[roles.source.classes]]\nname = \"all\"\nmarker.srpt = { thresholds = [\"3 KB\", \"8 KB\"] }\n";
    let Some(found) = both(&site(srpt, AT_SERVER, WEB)) else { return };
    let names: Vec<&str> = found[0].code_points.iter().map(String::as_str).collect();
    for (name, share) in names.iter().zip(shares(&found, "r->client", &names)) {
        // A kernel acknowledges some requests by packets of their own, one or two more for each nine.
        near(name, share, 0.1);
    }
}

#[test]
fn labels_tell_workloads_apart_from_the_first_packet_on_without_ebpf() {
    let by_label = r#"
        [[roles.source.classes]]
        name = "pages"
        match = { label = "pages" }
        marker.fixed = { dscp = "AF11" }
        [[roles.source.classes]]
        name = "rest"
        marker.fixed = { dscp = "AF13" }
    "#;
    let pages = WEB.replace("client =", "label = \"pages\", client =");
    let Some(found) = both(&site(by_label, AT_SERVER, &pages)) else { return };
    assert_eq!(shares(&found, "r->client", &["AF11"]), [[1.0, 1.0]]);
}

#[test]
fn acknowledgements_echo_the_code_point_of_their_data_without_ebpf() {
    let echo = r#"
        [roles.echo]
        acks = "echo"
        [[roles.source.classes]]
        name = "all"
        marker.fixed = { dscp = "AF12" }
    "#;
    let bind = r#"bind = [
        { role = "source", at = "server", to = "r" },
        { role = "echo", at = "client", to = "r" },
    ]"#;
    let Some(found) = both(&site(echo, bind, FILE)) else { return };
    // The SYN and the first acknowledgement of the client come before any data.
    for [rehearsed, simulated] in shares(&found, "client->r", &["AF12"]) {
        assert!(rehearsed > 0.99 && simulated > 0.99, "{rehearsed}, simulated {simulated}");
    }
}
