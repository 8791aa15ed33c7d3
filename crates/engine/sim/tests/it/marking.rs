//! Markers at source hosts: what they are told of the sending TCP, and what comes of it on the wire.

use shortflow_measure::Replica;

use crate::bench::{counts, run, run_with_transfers, scenario_under};

/// `s` with the role `sender`, `c` with the role `receiver`, and a router between them, without any
/// loss. Segments are of 1000 bytes, and each is acknowledged.
fn network(workloads: &str) -> String {
    format!(
        r#"
        policy = "policy.toml"
        duration = "20 s"
        drain = "5 s"
        hosts = {{ s = {{}}, c = {{}} }}
        routers.r = {{}}
        links.near = {{ between = ["s", "r"], rate = "10 Mbit/s", delay = "5 ms", queue = "10000 pkt" }}
        links.far = {{ between = ["r", "c"], rate = "10 Mbit/s", delay = "5 ms", queue = "10000 pkt" }}
        measure.ports = ["s->r", "c->r"]
        bind = [{{ role = "sender", at = "s", to = "r" }}, {{ role = "receiver", at = "c", to = "r" }}]
        {workloads}
        "#
    )
}

fn replica(policy: &str, workloads: &str) -> Replica {
    run(&scenario_under(policy, &network(workloads))).replica
}

/// Packets of each code point that left through a port.
fn sent<const N: usize>(replica: &Replica, port: &str, code_points: [&str; N]) -> [u64; N] {
    code_points.map(|name| counts(replica, port, name).arrived.packets)
}

const SRPT: &str = r#"
    [[roles.sender.classes]]
    name = "all"
    marker.srpt = { thresholds = ["5 KB", "10 KB"], unknown = 2 }
    [roles.receiver]
"#;

#[test]
fn what_remains_of_a_file_is_told_packet_by_packet() {
    let replica = replica(
        SRPT,
        r#"workloads.file.bulk = { from = "s", to = "c", start = "1 s", size = "20 KB" }"#,
    );
    // The file's packets find 20, 19, … 1 KB remaining: ten above 10 KB, five above 5 KB, five
    // below. The SYN and the handshake's ACK find 20 KB, the ACK of the peer's FIN nothing.
    assert_eq!(sent(&replica, "s->r", ["BE", "CS1", "CS2"]), [10 + 2, 5, 5 + 1]);
}

#[test]
fn what_remains_of_a_reply_is_told_as_soon_as_it_is_asked_for() {
    let scenario = scenario_under(
        SRPT,
        &network(
            r#"
            [workloads.web.transfers]
            client = "c"
            server = "s"
            interval = "1 s"
            request.constant = "500 B"
            reply.constant = "20 KB"
            "#,
        ),
    );
    let (outcome, transfers) = run_with_transfers(&scenario);
    let replies = transfers.len() as u64;
    assert!(replies > 5);
    let [last, middle, first] = sent(&outcome.replica, "s->r", ["BE", "CS1", "CS2"]);
    assert_eq!((last, middle), (10 * replies, 5 * replies));
    // The SYN-ACK and the ACK of the client's FIN find nothing remaining.
    assert_eq!(first, (5 + 2) * replies);
}

#[test]
fn of_a_flow_without_end_nobody_says_what_remains() {
    let replica = replica(SRPT, r#"workloads.long.bulk = { from = "s", to = "c" }"#);
    let [last, middle, first] = sent(&replica, "s->r", ["BE", "CS1", "CS2"]);
    assert!(middle > 10_000);
    assert_eq!((last, first), (0, 0), "priority 2 is stated for them");
}

#[test]
fn a_slow_start_is_green_then_yellow_then_red_as_its_window_grows() {
    let policy = r#"
        [[roles.sender.classes]]
        name = "all"
        marker.tcp-state = {}
        [roles.receiver]
    "#;
    let replica = replica(
        policy,
        r#"workloads.file.bulk = { from = "s", to = "c", start = "1 s", size = "100 KB" }"#,
    );
    // Two segments go at a window of 2; each acknowledgement adds one to it and sends two more:
    // six up to a window of 4, eight up to one of 8, 86 beyond. The SYN and the handshake's ACK go
    // at the first window, the ACK of the peer's FIN at the last.
    assert_eq!(sent(&replica, "s->r", ["AF11", "AF12", "AF13"]), [6 + 2, 8, 86 + 1]);
}

#[test]
fn fast_recovery_is_green_among_red_packets() {
    // A slow link with a queue of ten packets: slow start overruns it, and SACK repairs.
    let policy = r#"
        [[roles.sender.classes]]
        name = "all"
        marker.tcp-state = { high = 1, medium = 1, fast_recovery = "retransmissions" }
        [roles.receiver]
    "#;
    let file = r#"workloads.file.bulk = { from = "s", to = "c", start = "1 s", size = "200 KB" }"#;
    let wide = network(&format!("tcp.recovery = \"sack\"\n{file}"));
    let (near, far) = wide.split_once("links.far").unwrap();
    let far = far.replacen("10 Mbit/s", "1 Mbit/s", 1).replacen("10000 pkt", "10 pkt", 1);
    let narrow = format!("{near}links.far{far}");
    let outcome = run(&scenario_under(policy, &narrow));
    let [green, yellow] = sent(&outcome.replica, "s->r", ["AF11", "AF12"]);
    let again = outcome.totals.retransmitted;
    assert!(again > 0 && yellow == 0);
    // The SYN is green, and each segment of fast recovery that is sent again; no timer expires.
    assert_eq!(green, 1 + again);
}

#[test]
fn connections_to_one_port_are_told_apart_by_their_labels() {
    let policy = r#"
        [[roles.sender.classes]]
        name = "telnet"
        match.label = "telnet"
        marker.fixed = { dscp = "AF11" }
        [[roles.sender.classes]]
        name = "web"
        match.label = "web"
        marker.fixed = { dscp = "AF12" }
        [[roles.sender.classes]]
        name = "voice"
        match.label = "voice"
        marker.fixed = { dscp = "EF" }
        [roles.receiver]
    "#;
    let file = |name: &str, rest: &str| {
        format!(
            "workloads.{name}.bulk = {{ from = \"s\", to = \"c\", start = \"1 s\", port = 80, {rest} }}\n"
        )
    };
    let voice = r#"voice.cbr = { from = "s", to = "c", rate = "16 kbit/s", packet = "200 B" }"#;
    let workloads = file("telnet", "size = \"10 KB\"")
        + &file("pages", "size = \"20 KB\", label = \"web\"")
        + &file("other", "size = \"40 KB\"")
        + "workloads."
        + voice;
    let replica = replica(policy, &workloads);
    // Each has a SYN and two ACKs besides its data. The stream has a packet every 100 ms.
    let found = sent(&replica, "s->r", ["AF11", "AF12", "BE", "EF"]);
    assert_eq!(found, [13, 23, 43, 200]);
}

#[test]
fn a_class_may_take_the_head_of_a_connection() {
    let policy = r#"
        [[roles.sender.classes]]
        name = "head"
        match.sent_up_to = "10 KB"
        marker.fixed = { dscp = "EF" }
        [[roles.sender.classes]]
        name = "end"
        match.remaining_up_to = "3 KB"
        marker.fixed = { dscp = "AF11" }
        [roles.receiver]
    "#;
    let replica = replica(
        policy,
        r#"workloads.file.bulk = { from = "s", to = "c", start = "1 s", size = "30 KB" }"#,
    );
    // SYN, ACK and the segments before which 0 to 10 KB were sent; those before which 3, 2 and 1 KB
    // remain, and the last ACK.
    assert_eq!(sent(&replica, "s->r", ["EF", "BE", "AF11"]), [2 + 11, 16, 3 + 1]);
}

#[test]
fn acknowledgements_echo_the_code_point_of_the_data_that_they_acknowledge() {
    let policy = r#"
        [[roles.sender.classes]]
        name = "all"
        marker.tcp-state = {}
        [roles.receiver]
        acks = "echo"
        [[roles.receiver.classes]]
        name = "all but acknowledgements"
        marker.fixed = { dscp = "EF" }
    "#;
    let replica = replica(
        policy,
        r#"workloads.file.bulk = { from = "s", to = "c", start = "1 s", size = "100 KB" }"#,
    );
    let data = sent(&replica, "s->r", ["AF11", "AF12", "AF13"]);
    let acks = sent(&replica, "c->r", ["AF11", "AF12", "AF13", "EF"]);
    assert_eq!(data, [6 + 2, 8, 86 + 1]);
    // Each segment is acknowledged on its own, the last together with a FIN; the SYN by a SYN-ACK.
    assert_eq!(acks, [6, 8, 85, 2]);
}

/// A reply of 20 segments leaves in one flight. Under SRPT it arrives as 1, 16–20, 11–15, 2–10, since the
/// less remains the better the band: 5 + 9 segments come after one that was sent later.
#[test]
fn srpt_reorders_the_packets_of_a_flow_and_dstf_does_not() {
    let reordered_per_reply = |marker: &str| {
        let policy = format!(
            r#"
            [[roles.sender.classes]]
            name = "all"
            marker.{marker} = {{ thresholds = ["5 KB", "10 KB"] }}
            [roles.sender.queue.shared-priority]
            limit = "1000 pkt"
            bands = ["CS2", "CS1", "rest"]
            [roles.receiver]
            "#
        );
        let workload = r#"
            [workloads.web.transfers]
            client = "c"
            server = "s"
            interval = "1 s"
            request.constant = "500 B"
            reply.constant = "20 KB"
            tcp.initial_window = 20
        "#;
        let replica = replica(&policy, workload);
        let replies = replica.workload("web").unwrap().all.completion.n();
        replica.counters["web/reordered packets"] / replies as f64
    };
    assert_eq!(reordered_per_reply("srpt"), 14.0);
    assert_eq!(reordered_per_reply("dstf"), 0.0);
}

#[test]
fn each_reply_of_a_connection_is_an_object_where_applications_set_thresholds() {
    let sent = |thresholds: &str| {
        let policy = format!(
            r#"
            [roles.sender]
            thresholds = "{thresholds}"
            [[roles.sender.classes]]
            name = "all"
            marker.dstf = {{ thresholds = ["5 KB"], code_points = ["CS1", "BE"] }}
            [roles.receiver]
            "#
        );
        let replica = replica(
            &policy,
            r#"
            [workloads.web.web]
            client = "c"
            server = "s"
            http = "1.1"
            request.constant = "500 B"
            think.constant = "100 s"
            page = { index.constant = "3 KB", objects.constant = 2, object.constant = "8 KB" }
            "#,
        );
        sent(&replica, "s->r", ["CS1", "BE"])
    };
    // The index has 3 segments of 1 KB, each object 8: of each the six with at most 5 KB before them are first. SYNs, FINs and
    // acknowledgements without data come besides.
    let [first, last] = sent("application");
    assert!((15..=20).contains(&first) && (4..=7).contains(&last), "{first} and {last}");
    // Of the whole connection about five are.
    let [first, last] = sent("policy");
    assert!((4..=8).contains(&first) && last >= 13, "{first} and {last}");
}
