//! Cutting a transfer into flows, against priority for those that have sent little.

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

/// The mean time over seeds of a page of 320 KB that comes in `flows` pieces at once, in seconds. A tenth of
/// the link is left beside others' transfers of 100 KB. Of one seed, with some thirty pages, it is right to a third.
fn page_time(per: &str, flows: u32) -> f64 {
    let seeds = 1..=4;
    seeds.map(|seed| page_time_of(seed, per, flows)).sum::<f64>() / 4.0
}

fn page_time_of(seed: u64, per: &str, flows: u32) -> f64 {
    let piece = 320 / flows;
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
        at = "far"
        from = "server"
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
        page.index.constant = "1 KB"
        page.objects.constant = {flows}
        page.object.constant = "{piece} KB"
        think.constant = "5 s"
        [workloads.others.transfers]
        client = "other"
        server = "server"
        load = "4 Mbit/s"
        request.constant = "300 B"
        reply.constant = "100 KB"
        "#
    );
    let outcome = run(&scenario_under(&policy(per), &text));
    let page = workload(&outcome.replica, "page");
    assert!(page.all.completion.n() >= 15, "{} pages", page.all.completion.n());
    page.all.mean().unwrap().value()
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
