//! In a network as in the element alone: a class that asks for less than its share loses nothing to a flood
//! of another.

use crate::bench::{run, scenario_under, workload};

/// A class `light` beside 40 Mbit/s of `flood` over 10 Mbit/s, under a policy with the roles `edge`, which
/// marks, and `core`: packets sent, lost, and lost by the flood.
fn beside_a_flood(policy: &str, light: &str, flood: &str) -> [u64; 3] {
    let scenario = format!(
        r#"
        policy = "policy.toml"
        duration = "5 s"
        drain = "1 s"
        hosts = {{ a = {{}}, b = {{}}, sink = {{}} }}
        routers = {{ near = {{}}, far = {{}} }}
        links.a = {{ between = ["a", "near"], rate = "1 Gbit/s", delay = "1 us" }}
        links.b = {{ between = ["b", "near"], rate = "1 Gbit/s", delay = "1 us" }}
        links.core = {{ between = ["near", "far"], rate = "10 Mbit/s", delay = "1 ms" }}
        links.sink = {{ between = ["far", "sink"], rate = "1 Gbit/s", delay = "1 us" }}
        bind = [
            {{ role = "edge", at = "near", from = "a" }},
            {{ role = "edge", at = "near", from = "b" }},
            {{ role = "core", at = "near", to = "far" }},
        ]
        [workloads]
        light.cbr = {{ from = "a", to = "sink", start = "0.5 s", stop = "4.5 s", {light} }}
        flood.cbr = {{ from = "b", to = "sink", rate = "40 Mbit/s", {flood} }}
        "#
    );
    let replica = run(&scenario_under(policy, &scenario)).replica;
    let [light, flood] = ["light", "flood"].map(|name| workload(&replica, name).datagrams.unwrap());
    [light.sent, light.sent - light.delivered, flood.sent - flood.delivered]
}

/// Every queue that serves several classes, with AF21 or the light host's flow as a class that has three
/// quarters of the line, half of it, or all.
const QUEUES: [(&str, &str); 15] = [
    (
        "wfq",
        r#"queue.wfq = { limit = "100 pkt", classes = [{ match = { dscp = "AF21" }, weight = 3 }, { weight = 1 }] }"#,
    ),
    (
        "wfq in bytes",
        r#"queue.wfq = { limit = "60 KB", classes = [{ match = { dscp = "AF21" }, weight = 3 }, { weight = 1 }] }"#,
    ),
    (
        "wfq of flows",
        r#"queue.wfq = { classes = [{ weight = 1, per = "flow", limit = "60 KB" }] }"#,
    ),
    (
        "drr",
        r#"queue.drr.classes = [{ match = { dscp = "AF21" }, quantum = "4500 B", queue.fifo = { limit = "50 pkt" } }, { queue.fifo = { limit = "50 pkt" } }]"#,
    ),
    (
        "htb",
        r#"queue.htb.classes = [{ match = { dscp = "AF21" }, at_least = "3 Mbit/s", queue.fifo = { limit = "50 pkt" } }, { at_least = "1 Mbit/s", queue.fifo = { limit = "50 pkt" } }]"#,
    ),
    (
        "plans",
        r#"queue.plans = { by = "source", customers = [{ addresses = "10.0.0.1", at_most = "40 Mbit/s" }, { addresses = "10.0.0.2", at_most = "40 Mbit/s" }], queue = { fifo = { limit = "50 pkt" } } }"#,
    ),
    (
        "wrr",
        r#"queue.wrr.classes = [{ match = { dscp = "AF21" }, weight = 3, queue.fifo = { limit = "50 pkt" } }, { queue.fifo = { limit = "50 pkt" } }]"#,
    ),
    (
        "strict-priority",
        r#"queue.strict-priority.bands = [{ match = { dscp = "AF21" }, queue.fifo = { limit = "50 pkt" } }, { queue.fifo = { limit = "50 pkt" } }]"#,
    ),
    (
        "shared-priority",
        r#"queue.shared-priority = { limit = "100 pkt", bands = ["AF21", "rest"] }"#,
    ),
    (
        "shared-priority in bytes",
        r#"queue.shared-priority = { limit = "60 KB", bands = ["AF21", "rest"] }"#,
    ),
    ("fq-codel", r#"queue.fq-codel = { limit = "100 pkt" }"#),
    ("fq-codel in bytes", r#"queue.fq-codel = { limit = "60 KB" }"#),
    ("host-fair", r#"queue.host-fair = { by = "source", limit = "100 pkt" }"#),
    ("stf", r#"queue.stf = { limit = "100 pkt" }"#),
    (
        "source-scheduler",
        r#"queue.source-scheduler = { limit = "100 pkt", high = { rate = "8 bit/s", depth = "1500 B" }, medium = { rate = "8 bit/s", depth = "1500 B" } }"#,
    ),
];

#[test]
fn a_class_within_its_share_loses_nothing_to_a_flood_whatever_the_sizes_of_packets() {
    for (name, queue) in QUEUES {
        for (size, of_flood) in [(1000, 1000), (1500, 60), (200, 1500)] {
            // 3 Mbit/s are below the least share, of weights by packets: 1500-byte packets of the light
            // class have 7/8 of the line, and 200-byte packets 3 · 200 of 3 · 200 + 1500 bytes.
            let rate =
                if size == 200 && ["wrr", "source-scheduler"].contains(&name) { 1 } else { 3 };
            let light = format!("dscp = \"AF21\", rate = \"{rate} Mbit/s\", packet = \"{size} B\"");
            let flood = format!("packet = \"{of_flood} B\"");
            let policy = format!("[roles.edge]\n[roles.core]\n{queue}");
            let [sent, lost, flood_lost] = beside_a_flood(&policy, &light, &flood);
            assert!(sent > 300 && flood_lost > 1000, "{name}: {sent} {flood_lost}");
            assert_eq!(lost, 0, "{name}: of {sent} packets of {size} B beside {of_flood} B");
        }
    }
}

/// SIMA's share is the nominal bit rate: who keeps to it is marked with a high precedence.
#[test]
fn a_flow_within_its_nominal_bit_rate_loses_nothing_to_one_far_above_its_own() {
    let [real_time, other] = ["real-time", "non-real-time"];
    for (light, flood) in [(real_time, other), (other, real_time), (other, other)] {
        let policy = format!(
            r#"
            [[roles.edge.classes]]
            name = "light"
            match.dscp = "AF21"
            marker.sima = {{ class = "{light}", nbr = "4 Mbit/s", link = "1 Gbit/s" }}
            [[roles.edge.classes]]
            name = "flood"
            marker.sima = {{ class = "{flood}", nbr = "1 Mbit/s", link = "1 Gbit/s" }}
            [roles.core.queue.sima]
            real_time = {{ limit = "60 KB" }}
            non_real_time = {{ limit = "60 KB" }}
            "#
        );
        let offered = r#"dscp = "AF21", rate = "3 Mbit/s", packet = "1000 B""#;
        let [sent, lost, flood_lost] = beside_a_flood(&policy, offered, "packet = \"300 B\"");
        assert!(sent > 300 && flood_lost > 1000, "{light} beside {flood}: {sent} {flood_lost}");
        assert_eq!(lost, 0, "{light} beside {flood}: of {sent} packets");
    }
}
