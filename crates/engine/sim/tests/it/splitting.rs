//! Cutting a transfer into flows, against priority for those that have sent little.

use shortflow_measure::Replica;

use crate::bench::{run, scenario_under, workload};

/// DSTF with a threshold between a piece of 20 KB and the whole of 320 KB.
fn policy(per: &str) -> String {
    format!(
        r#"
        [[roles.edge.classes]]
        name = "all"
        marker.dstf = {{ {per}, thresholds = ["30 KB"], code_points = ["CS1", "BE"] }}
        [roles.core.queue.shared-priority]
        limit = "100 pkt"
        bands = ["CS1", "rest"]
        "#
    )
}

/// How a page of 320 KB is cut.
#[derive(Clone, Copy)]
enum Cut {
    /// Into so many objects.
    Objects(u32),
    /// By so many byte-range requests for one object.
    Ranges(u32),
}

/// The mean time over seeds of a page of 320 KB that comes in `flows` pieces at once, in seconds. A tenth of
/// the link is left beside others' transfers of 100 KB. Of one seed, with some thirty pages, it is right to a third.
fn page_time(per: &str, flows: u32) -> f64 {
    mean_time(&policy(per), Cut::Objects(flows))
}

fn mean_time(policy: &str, cut: Cut) -> f64 {
    let seeds = 1..=4;
    seeds.map(|seed| page_times(seed, policy, cut)).sum::<f64>() / 4.0
}

fn page_times(seed: u64, policy: &str, cut: Cut) -> f64 {
    let replica = pages(seed, policy, cut);
    let page = workload(&replica, "page");
    assert!(page.all.completion.n() >= 15, "{} pages", page.all.completion.n());
    page.all.mean().unwrap().value()
}

fn pages(seed: u64, policy: &str, cut: Cut) -> Replica {
    let (flows, objects, ranges) = match cut {
        Cut::Objects(flows) => (flows, flows, 1),
        Cut::Ranges(flows) => (flows, 1, flows),
    };
    let object = 320 / objects;
    let text = format!(
        r#"
        policy = "policy.toml"
        seed = {seed}
        duration = "200 s"
        drain = "60 s"
        hosts = {{ user = {{}}, other = {{}}, server = {{}} }}
        routers = {{ near = {{}}, far = {{}} }}
        [tcp]
        era = "linux-today"
        [links]
        user = {{ between = ["user", "near"], rate = "100 Mbit/s", delay = "1 ms" }}
        other = {{ between = ["other", "near"], rate = "100 Mbit/s", delay = "1 ms" }}
        line = {{ between = ["far", "near"], rate = "5 Mbit/s", delay = "10 ms" }}
        server = {{ between = ["server", "far"], rate = "100 Mbit/s", delay = "1 ms" }}
        [[bind]]
        role = "edge"
        at = "server"
        to = "far"
        [[bind]]
        role = "core"
        at = "far"
        to = "near"
        [workloads.page.web]
        client = "user"
        server = "server"
        http = "1.0"
        connections = {flows}
        request.constant = "300 B"
        ranges = {ranges}
        page.index.constant = "1 KB"
        page.objects.constant = {objects}
        page.object.constant = "{object} KB"
        think.constant = "5 s"
        [workloads.others.transfers]
        client = "other"
        server = "server"
        load = "4 Mbit/s"
        request.constant = "300 B"
        reply.constant = "100 KB"
        "#
    );
    run(&scenario_under(policy, &text)).replica
}

/// A first class for replies to byte-range requests, with this action.
fn with_ranges(action: &str) -> String {
    let class =
        format!("[[roles.edge.classes]]\nname = \"ranges\"\nmatch.byte_range = true\n{action}\n");
    class + &policy("per = \"flow\"")
}

#[test]
fn byte_ranges_of_an_object_come_as_so_many_objects_would() {
    let flow = policy("per = \"flow\"");
    let [objects, ranges] =
        [Cut::Objects(16), Cut::Ranges(16)].map(|cut| page_times(1, &flow, cut));
    assert_eq!(objects.to_bits(), ranges.to_bits());
}

#[test]
fn byte_ranges_gain_nothing_where_they_have_the_last_priority() {
    let policy = with_ranges("marker.fixed.dscp = \"BE\"");
    let [whole, cut] = [1, 16].map(|ranges| mean_time(&policy, Cut::Ranges(ranges)));
    assert!(cut > whole / 1.2, "{cut} s against {whole} s");
}

#[test]
fn a_policer_ends_connections_with_replies_to_byte_range_requests_and_no_others() {
    let policy = with_ranges("police.green = \"end\"");
    let replica = pages(1, &policy, Cut::Ranges(16));
    let (page, others) = (workload(&replica, "page"), workload(&replica, "others"));
    assert!(page.failed > 15 && page.all.completion.n() == 0, "{} failed", page.failed);
    assert!(others.failed == 0 && others.all.completion.n() > 500, "{}", others.failed);
    let whole = pages(1, &policy, Cut::Ranges(1));
    let page = workload(&whole, "page");
    assert!(page.failed == 0 && page.all.completion.n() > 15, "one request asks for no range");
}

/// Sixteen pieces of 20 KB are all in the better priority; of the whole, only a tenth is.
#[test]
fn sixteen_flows_are_much_faster_than_one_where_priority_is_per_flow() {
    let (whole, cut) = (page_time("per = \"flow\"", 1), page_time("per = \"flow\"", 16));
    assert!(cut < whole / 1.5, "{cut} s against {whole} s");
}

/// However it is cut, the pair of hosts has sent the same; what is forgotten in a page's time is less than a piece.
/// What is left is that losses cost sixteen windows less than one: over 64 seeds a cut page is 1.25 times as fast, where
/// priority is per flow 1.9 times.
#[test]
fn sixteen_flows_gain_less_over_one_where_priority_is_per_pair_of_hosts() {
    let per = "per = \"host-pair\", decay = \"32 kbit/s\"";
    let (whole, cut) = (page_time(per, 1), page_time(per, 16));
    assert!(cut > whole / 1.5, "{cut} s against {whole} s");
}
