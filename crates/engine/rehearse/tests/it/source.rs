//! Policies of source hosts that need no state of a kernel, rehearsed for some seconds beside their simulation.

use shortflow_measure::Replica;
use shortflow_scenario::Scenario;

use crate::real::both;
use crate::scenario;

/// A site's server, whose role is `source`, answers clients over a line of 10 Mbit/s.
pub(crate) fn site(policy: &str, more: &str, workloads: &str) -> Scenario {
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

pub(crate) const AT_SERVER: &str = r#"bind = [{ role = "source", at = "server", to = "r" }]"#;
pub(crate) const WEB: &str = r#"web.transfers = { client = "client", server = "server", rate = "20 /s", request = { constant = "300 B" }, reply = { constant = "10 KB" } }"#;
pub(crate) const FILE: &str = r#"file.bulk = { from = "server", to = "client" }"#;

/// What share of the packets that came to a port had each code point: rehearsed, and simulated.
pub(crate) fn shares(found: &[Replica; 2], port: &str, code_points: &[&str]) -> Vec<[f64; 2]> {
    let share = |replica: &Replica, name: &str| {
        let index = replica.code_points.iter().position(|point| point.as_str() == name);
        let port = replica.port(port).unwrap();
        let all: u64 = port.code_points.iter().map(|count| count.arrived.packets).sum();
        let of = index.map_or(0, |index| port.code_points[index].arrived.packets);
        of as f64 / all as f64
    };
    code_points.iter().map(|name| found.each_ref().map(|replica| share(replica, name))).collect()
}

pub(crate) fn near(what: &str, [found, expected]: [f64; 2], within: f64) {
    assert!((found - expected).abs() <= within, "{what}: {found}, simulated {expected}");
}

/// What these ask for shows in packets and in what applications say: no state of a kernel is read.
#[test]
fn what_remains_decides_the_priority_as_in_the_simulation_without_ebpf() {
    let srpt = "[[roles.source.classes]]\nname = \"all\"\nmarker.srpt = { thresholds = [\"3 KB\", \"8 KB\"] }\n";
    let Some(found) = both(&site(srpt, AT_SERVER, WEB)) else { return };
    let [last, middle, first]: [[f64; 2]; 3] =
        shares(&found, "r->client", &["BE", "CS1", "CS2"]).try_into().unwrap();
    // Of seven segments two leave before 8 KB remain, then three before 3 KB do. Kernels acknowledge more by packets
    // without data, of which nothing remains.
    let share = [0, 1].map(|at| last[at] / (last[at] + middle[at]));
    // So it is two of five, and of three replies that the end cuts off after two segments 3.6 / (5 n + 6) more.
    assert!(found.iter().all(|replica| replica.workloads[0].all.n() > 30));
    share.into_iter().for_each(|share| near("what goes last", [share, 0.4], 0.023));
    assert!(first[0] >= first[1] && last[0] > 0.1, "{first:?} {last:?}");
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

/// Pages of an index and one object, which four byte-range requests ask for.
const RANGES: &str = r#"page.web = { client = "client", server = "server", http = "1.0", ranges = 4, sessions = 3, request = { constant = "300 B" }, page = { index = { constant = "4 KB" }, objects = { constant = 1 }, object = { constant = "20 KB" } }, think = { exponential = { mean = "50 ms" } } }"#;

#[test]
fn replies_to_byte_range_requests_are_marked_as_in_the_simulation_without_ebpf() {
    let by_range = r#"
        [[roles.source.classes]]
        name = "ranges"
        match.byte_range = true
        marker.fixed.dscp = "AF13"
        [[roles.source.classes]]
        name = "rest"
        marker.fixed.dscp = "AF11"
    "#;
    let Some(found) = both(&site(by_range, AT_SERVER, RANGES)) else { return };
    let [ranges]: [[f64; 2]; 1] = shares(&found, "r->client", &["AF13"]).try_into().unwrap();
    near("byte ranges", ranges, 0.03);
    assert!((0.5..0.95).contains(&ranges[1]), "an index is no range: {ranges:?}");
}

#[test]
fn a_policer_ends_connections_as_in_the_simulation_without_ebpf() {
    let ending = r#"
        [[roles.source.classes]]
        name = "ranges"
        match.byte_range = true
        police.green = "end"
    "#;
    let Some(found) = both(&site(ending, AT_SERVER, &format!("{RANGES}\n{WEB}"))) else { return };
    for replica in &found {
        let [page, web] = ["page", "web"].map(|name| replica.workload(name).unwrap());
        assert!(page.failed > 10 && page.all.completion.n() == 0, "{} failed", page.failed);
        assert!(web.failed == 0 && web.all.n() > 30, "{} of {}", web.failed, web.all.n());
    }
}
