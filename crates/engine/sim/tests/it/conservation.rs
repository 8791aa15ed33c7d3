//! No packet is lost or made, whatever is thrown at a network.
//!
//! Each run checks at its end, over the whole network and at every port, that what came in has
//! left, was dropped or is still held. Here the same is checked from outside, by code point.

use crate::bench::{port, run, scenario_under};

const POLICY: &str = r#"
[[roles.edge.classes]]
name = "web"
match.protocol = "tcp"
marker.srtcm = { cir = "3 Mbit/s", cbs = "10 KB", ebs = "20 KB" }
police.red = "drop"

[[roles.edge.classes]]
name = "voice"
match.protocol = "udp"
marker.token-bucket = { rate = "200 kbit/s", depth = "2 KB" }

[roles.core.queue.multi-red]
limit = "60 pkt"
average = "cumulative"
weight = 0.02
levels = [
    { code_points = ["AF11"], min_threshold = "20 pkt", max_threshold = "50 pkt", max_probability = 0.1 },
    { code_points = ["AF12"], min_threshold = "5 pkt", max_threshold = "20 pkt", max_probability = 0.2 },
    { code_points = "rest", min_threshold = "2 pkt", max_threshold = "8 pkt", max_probability = 0.5 },
]

[roles.tight.queue.fifo]
limit = "3000 B"
"#;

/// An overloaded path with a lossy link, a policer, a multi-level RED and a queue of two packets.
/// Arrivals end after 20 s; long after that nothing is under way.
const SCENARIO: &str = r#"
policy = "policy.toml"
duration = "3000 s"
hosts = { a = {}, b = {}, c = {} }
routers = { r1 = {}, r2 = {} }
links.a = { between = ["a", "r1"], rate = "100 Mbit/s", delay = "1 ms" }
links.b = { between = ["b", "r2"], rate = "100 Mbit/s", delay = "1 ms", loss = { forward = 0.02, back = 0.05 } }
links.c = { between = ["c", "r1"], rate = "100 Mbit/s", delay = "1 ms" }
links.core = { between = ["r1", "r2"], rate = "2 Mbit/s", delay = "5 ms", loss = { AF11 = 0.001, rest = 0.03 } }
bind = [
    { role = "edge", at = "r1", from = "a" },
    { role = "core", at = "r1", to = "r2" },
    { role = "tight", at = "r2", to = "r1" },
]
measure.ports = ["a->r1", "r1->a", "b->r2", "r2->b", "c->r1", "r1->c", "r1->r2", "r2->r1"]

[workloads.web.transfers]
client = "b"
server = "a"
rate = "60 /s"
stop = "20 s"
request.exponential.mean = "2 KB"
reply.exponential.mean = "10 KB"

[workloads.back.transfers]
client = "c"
server = "b"
rate = "20 /s"
stop = "20 s"
request.exponential.mean = "1 KB"
reply.exponential.mean = "10 KB"

[workloads.voice.cbr]
from = "a"
to = "b"
rate = "400 kbit/s"
packet = "200 B"
stop = "20 s"
"#;

#[test]
fn what_comes_to_a_port_is_forwarded_or_dropped_for_a_reason() {
    let outcome = run(&scenario_under(POLICY, SCENARIO));
    let (replica, totals) = (outcome.replica, outcome.totals);

    let mut reasons = vec![0; replica.drop_reasons.len()];
    let mut forwarded = 0;
    for result in &replica.ports {
        let (mut arrived, mut gone) = (0, 0);
        for counts in &result.code_points {
            arrived += counts.arrived.packets;
            gone += counts.forwarded.packets + counts.all_dropped().packets;
            forwarded += counts.forwarded.packets;
            for (sum, count) in reasons.iter_mut().zip(&counts.dropped) {
                *sum += count.packets;
            }
        }
        assert_eq!(arrived, gone, "{}", result.name);
    }
    let by_reason = |name: &str| {
        reasons[replica.drop_reasons.iter().position(|reason| reason == name).unwrap()]
    };
    for reason in ["overlimit", "early", "forced", "policed", "link loss"] {
        assert!(by_reason(reason) > 20, "{reason}: {}", by_reason(reason));
    }
    assert_eq!(reasons.iter().sum::<u64>(), totals.dropped);
    // What passed over a link and was not lost on it or refused behind it was forwarded.
    assert_eq!(totals.hops, forwarded + by_reason("link loss") + by_reason("policed"));
    assert_eq!(totals.sent, totals.delivered + totals.dropped);
    assert!(replica.workloads.iter().all(|workload| workload.open == 0));
}

#[test]
fn a_port_without_a_marker_behind_it_keeps_the_count_of_each_code_point() {
    let replica = run(&scenario_under(POLICY, SCENARIO)).replica;

    for (index, counts) in port(&replica, "r1->r2").code_points.iter().enumerate() {
        let gone = counts.forwarded.packets + counts.all_dropped().packets;
        let name = &replica.code_points[index];
        assert_eq!(counts.arrived.packets, gone, "{name}: {counts:?}");
        let bytes = counts.forwarded.bytes + counts.all_dropped().bytes;
        assert_eq!(counts.arrived.bytes, bytes, "{name}: {counts:?}");
    }
    let arrived = |name: &str| {
        let index = replica.code_points.iter().position(|point| point == name).unwrap();
        port(&replica, "r1->r2").code_points[index].arrived.packets
    };
    assert!(arrived("AF11") > 500 && arrived("AF12") > 500, "both colours are there");
    assert_eq!(arrived("AF13"), 0, "the policer lets no red packet pass");
    assert!(arrived("BE") > 500, "c has no contract");
}
