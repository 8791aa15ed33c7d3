//! Aggregate-fair growth in a kernel, beside that of the simulation.

use crate::real::both;
use crate::scenario;

/// Four long flows with round trips of 50 ms beside four of 200, from one server over a RED queue of 4 Mbit/s.
fn beside(congestion: &str) -> Option<[f64; 2]> {
    let text = format!(
        r#"
        policy = "policy.toml"
        duration = "16 s"
        warm_up = "4 s"
        tcp = {{ congestion = "{congestion}" }}
        hosts = {{ server = {{}}, near = {{}}, far = {{}} }}
        routers = {{ a = {{}}, b = {{}} }}
        bind = [{{ role = "core", at = "a", to = "b" }}]
        [links]
        server = {{ between = ["server", "a"], rate = "1 Gbit/s", delay = "10 us" }}
        line = {{ between = ["a", "b"], rate = "4 Mbit/s", delay = "10 us" }}
        near = {{ between = ["b", "near"], rate = "1 Gbit/s", delay = "25 ms" }}
        far = {{ between = ["b", "far"], rate = "1 Gbit/s", delay = "100 ms" }}
        [workloads]
        near.bulk = {{ from = "server", to = "near", flows = 4, port = 81 }}
        far.bulk = {{ from = "server", to = "far", flows = 4, port = 82 }}
        "#
    );
    let policy = r#"
        [roles.core]
        queue.red = { limit = "60 pkt", min_threshold = "6 pkt", max_threshold = "30 pkt", max_probability = 0.1 }
    "#;
    let found = both(&scenario(&[("s.toml", &text), ("policy.toml", policy)]))?;
    Some(found.each_ref().map(|replica| {
        let delivered = |at: usize| replica.workloads[at].delivered_bytes as f64;
        delivered(1) / delivered(0)
    }))
}

/// How often it is measured at most. The ratio of one run spreads: the simulation's is 1.03 on average with a standard
/// deviation of 0.11 (1500 replicas, none below 0.64), and under Reno 0.37 with 0.04 (40 replicas, none above 0.5). A
/// machine that stalls spreads it further, but not from Reno's to this.
const RUNS: usize = 3;

#[test]
fn far_connections_get_as_much_as_near_ones_where_windows_grow_by_the_mean_of_round_trips() {
    let mut best = [0.0_f64; 2];
    for _ in 0..RUNS {
        let Some(found) = beside("aggregate-fair") else { return };
        best = [best[0].max(found[0]), best[1].max(found[1])];
        if best.iter().all(|&fair| fair > 0.6) {
            return;
        }
        eprintln!("far ones get {found:?} of what near ones get, rehearsed and simulated");
    }
    panic!("at best, far ones get {best:?} of what near ones get, rehearsed and simulated");
}
