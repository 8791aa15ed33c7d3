//! Markers by flows, users, senders and streams, as policies name them.

use shortflow_elements::{Conditioner, DropReason, ThresholdSource};
use shortflow_packet::{
    Address, Dscp, FlowKey, Label, ObjectView, Packet, Phase, Protocol, SenderView, TcpFlags,
};
use shortflow_policy::from_text;
use shortflow_units::Bytes;

use crate::{at, packet, place, policy};

fn conditioner(text: &str) -> Conditioner {
    policy(text).role("edge").unwrap().conditioner(place("r1->r2")).unwrap()
}

/// A conditioner with one class for all packets, which has `settings`.
fn class(settings: &str) -> Conditioner {
    conditioner(&format!("[[roles.edge.classes]]\nname = \"all\"\n{settings}\n"))
}

/// What becomes of `packet` at an instant: its code point, or why it is dropped.
fn passed(edge: &mut Conditioner, millis: u64, mut packet: Packet) -> Result<String, DropReason> {
    match edge.condition(at(millis), &mut packet, None) {
        Some(reason) => Err(reason),
        None => Ok(packet.dscp.to_string()),
    }
}

fn reported(edge: &mut Conditioner, mut packet: Packet, sender: &SenderView) -> String {
    assert_eq!(edge.condition(at(0), &mut packet, Some(sender)), None);
    packet.dscp.to_string()
}

fn from_port(port: u16) -> Packet {
    let mut packet = packet();
    packet.key.src_port = port;
    packet
}

fn from_host(host: u32) -> Packet {
    let mut packet = packet();
    packet.key.src = Address::v4(host);
    packet
}

/// The code points of `count` packets of 1000 bytes.
fn run(edge: &mut Conditioner, count: usize, packet: impl Fn() -> Packet) -> Vec<String> {
    (0..count).map(|_| passed(edge, 0, packet()).unwrap()).collect()
}

#[test]
fn dstf_has_the_thresholds_of_its_paper_and_the_class_selectors_by_default() {
    let mut edge = class("marker.dstf = {}");
    let marks = run(&mut edge, 1300, packet);
    let firsts: Vec<_> = ["CS7", "CS6", "CS5", "CS4", "CS3", "CS2", "CS1", "BE"]
        .map(|name| marks.iter().position(|mark| mark == name).unwrap())
        .to_vec();
    assert_eq!(firsts, [0, 6, 11, 21, 41, 101, 301, 1201]);
    assert_eq!(passed(&mut edge, 0, from_port(81)).unwrap(), "CS7", "another flow");
    // Green is the first priority, red the last.
    assert_eq!(edge.counters()[0].packets, [7, 1195, 99]);
}

#[test]
fn dstf_may_count_pairs_of_hosts_with_a_decay_and_have_thresholds_of_its_own() {
    let mut edge = class(
        r#"marker.dstf = { thresholds = ["1 KB", "2 KB"], code_points = ["EF", "AF11", "LE"], per = "host-pair", decay = "8 kbit/s" }"#,
    );
    let mut from = |millis, port| passed(&mut edge, millis, from_port(port)).unwrap();
    let marks = [1, 2, 3, 4, 5].map(|port| from(0, port));
    assert_eq!(marks, ["EF", "EF", "AF11", "LE", "LE"]);
    // Bytes of the last priority are not counted, so 3000 were.
    assert_eq!(from(1_999, 6), "AF11", "of 3000 bytes 1999 are forgotten");
}

#[test]
fn dstf_may_count_payload_and_forget_what_was_silent() {
    let per = r#"per = { each = "flow", table_size = 10, idle_timeout = "1 s" }"#;
    let mut edge = class(&format!("marker.dstf = {{ count = \"payload\", {per} }}"));
    // 960 of 1000 bytes are payload: five packets are 4800.
    assert_eq!(run(&mut edge, 7, packet)[4..], ["CS7", "CS7", "CS6"]);
    assert_eq!(passed(&mut edge, 1_000, packet()).unwrap(), "CS6");
    assert_eq!(passed(&mut edge, 2_001, packet()).unwrap(), "CS7");
}

#[test]
fn with_63_thresholds_srpt_comes_near_to_a_continuous_one() {
    let mut edge =
        class(r#"marker.srpt.thresholds = { first = "1500 B", last = "100 MB", count = 63 }"#);
    let mut of = |remaining| {
        let remaining = Some(Bytes(remaining));
        reported(&mut edge, packet(), &SenderView { remaining, ..SenderView::default() })
    };
    assert_eq!([of(1_500), of(1_501), of(100_000_000), of(100_000_001)], ["63", "62", "LE", "BE"]);
    // A step is a factor of (100 MB/1500 B)^(1/62) = 1.1963.
    assert_eq!([of(1_794), of(1_796)], ["62", "61"]);
    let unknown = SenderView::default();
    assert_eq!(reported(&mut edge, packet(), &unknown), "BE");
}

#[test]
fn tcp_state_marks_with_the_policys_colours_and_thresholds_by_class() {
    let text = r#"
        [code_points]
        green = "AF21"
        yellow = "AF22"
        red = "AF23"
        [[roles.edge.classes]]
        name = "telnet"
        match.label = "telnet"
        marker.tcp-state = { high = 65535 }
        [[roles.edge.classes]]
        name = "head"
        match.sent_up_to = "64 KB"
        marker.tcp-state = { high = 8 }
        [[roles.edge.classes]]
        name = "rest"
        marker.tcp-state = { high = 4, medium = 6 }
    "#;
    let named = policy(text);
    assert_eq!((named.labels(), named.label("telnet")), (&["telnet".to_owned()][..], Label(1)));
    assert_eq!(named.label("web"), Label::NONE);
    assert!(named.role("edge").unwrap().reads_sender());
    let mut edge = conditioner(text);
    let mut of = |label, sent, window_segments| {
        let phase = Phase::CongestionAvoidance;
        let sent = Bytes(sent);
        let sender = SenderView {
            label: Label(label),
            sent,
            window_segments: Some(window_segments),
            phase: Some(phase),
            ..Default::default()
        };
        reported(&mut edge, packet(), &sender)
    };
    assert_eq!(of(1, 0, 4_000), "AF21", "telnet");
    assert_eq!([of(0, 64_000, 8), of(0, 64_000, 16), of(0, 64_000, 17)], ["AF21", "AF22", "AF23"]);
    assert_eq!([of(0, 64_001, 4), of(0, 64_001, 6), of(0, 64_001, 7)], ["AF21", "AF22", "AF23"]);
}

#[test]
fn tcp_state_may_be_randomized() {
    let mut edge = class("marker.tcp-state = { high = 4, medium = 8, randomized = true }");
    let sender = SenderView { window_segments: Some(16), ..SenderView::default() };
    let marks: Vec<_> = (0..1000).map(|_| reported(&mut edge, packet(), &sender)).collect();
    let [green, yellow, red] =
        ["AF11", "AF12", "AF13"].map(|name| marks.iter().filter(|mark| *mark == name).count());
    // 250, 375 and 375 expected; five standard deviations are at most 77.
    assert!(green.abs_diff(250) < 77 && yellow.abs_diff(375) < 77, "{green} {yellow} {red}");
}

#[test]
fn a_fixed_priority_is_policed_by_a_leaky_bucket_of_each_flow() {
    let marker = r#"marker.fixed = { dscp = "CS7", bucket = { rate = "8 kbit/s", depth = "2 KB", per = "flow" } }"#;
    let mut dropping = class(&format!("{marker}\npolice.yellow = \"drop\""));
    let mut demoting = class(&format!("{marker}\npolice.yellow = {{ remark = \"CS1\" }}"));
    let of = |edge: &mut Conditioner, millis, port| passed(edge, millis, from_port(port));
    let (ok, policed) = (Ok("CS7".to_owned()), Err(DropReason::Policed));
    let marks = [0; 3].map(|_| of(&mut dropping, 0, 1));
    assert_eq!(marks, [ok.clone(), ok.clone(), policed]);
    assert_eq!(of(&mut dropping, 0, 2), ok, "another flow has tokens of its own");
    assert_eq!(of(&mut dropping, 1_000, 1), ok, "a packet's tokens came in a second");
    let marks = [0; 3].map(|_| of(&mut demoting, 0, 1).unwrap());
    assert_eq!(marks, ["CS7", "CS7", "CS1"]);
}

#[test]
fn an_edge_router_marks_each_users_aggregate_with_two_buckets() {
    let mut edge = class(
        r#"marker.two-buckets = { green = { rate = "250 kbit/s", depth = "2 KB" }, yellow = { rate = "500 kbit/s", depth = "1 KB" }, per = "source" }"#,
    );
    assert_eq!(run(&mut edge, 5, || from_host(1)), ["AF11", "AF11", "AF12", "AF13", "AF13"]);
    assert_eq!(run(&mut edge, 1, || from_host(2)), ["AF11"]);
    let mut shared = class(
        r#"marker.two-buckets = { green = { rate = "250 kbit/s", depth = "2 KB" }, yellow = { rate = "500 kbit/s", depth = "1 KB" }, per = "all" }"#,
    );
    assert_eq!(run(&mut shared, 2, || from_host(1)), ["AF11", "AF11"]);
    assert_eq!(run(&mut shared, 1, || from_host(2)), ["AF12"]);
}

#[test]
fn a_users_policer_moves_offending_packets_down_or_drops_them() {
    let mut down = class(
        r#"marker.two-buckets = { green = { rate = "250 kbit/s", depth = "1 KB" }, yellow = { rate = "500 kbit/s", depth = "1 KB" }, color_aware = true, per = "source" }"#,
    );
    let marked = |dscp| move || Packet { dscp, ..from_host(1) };
    assert_eq!(run(&mut down, 3, marked(Dscp::AF11)), ["AF11", "AF12", "AF13"]);
    assert_eq!(run(&mut down, 1, marked(Dscp::AF13)), ["AF13"]);

    let mut dropping = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "high"
        match.dscp = ["AF11"]
        marker.fixed = { dscp = "AF11", bucket = { rate = "250 kbit/s", depth = "1 KB", per = "source" } }
        police.yellow = "drop"
        [[roles.edge.classes]]
        name = "medium"
        match.dscp = ["AF12"]
        marker.fixed = { dscp = "AF12", bucket = { rate = "500 kbit/s", depth = "1 KB", per = "source" } }
        police.yellow = "drop"
        "#,
    );
    let mut of = |dscp| passed(&mut dropping, 0, marked(dscp)());
    assert_eq!([of(Dscp::AF11), of(Dscp::AF11)], [Ok("AF11".into()), Err(DropReason::Policed)]);
    assert_eq!([of(Dscp::AF12), of(Dscp::AF12)], [Ok("AF12".into()), Err(DropReason::Policed)]);
    assert_eq!(of(Dscp::AF13), Ok("AF13".into()));
}

#[test]
fn three_colour_meters_may_be_each_hosts_own() {
    for meter in [
        r#"srtcm = { cir = "8 kbit/s", cbs = "1 KB", ebs = "1 KB", per = "destination" }"#,
        r#"trtcm = { cir = "8 kbit/s", cbs = "1 KB", pir = "8 kbit/s", pbs = "2 KB", per = "destination" }"#,
    ] {
        let mut edge = class(&format!("marker.{meter}"));
        let to = |host| {
            move || {
                let mut packet = packet();
                packet.key.dst = Address::v4(host);
                packet
            }
        };
        assert_eq!(run(&mut edge, 3, to(1)), ["AF11", "AF12", "AF13"]);
        assert_eq!(run(&mut edge, 1, to(2)), ["AF11"]);
    }
}

const ADMISSION: &str = r#"marker.admission = { link = "10 Mbit/s", share = 0.1, peak = "400 kbit/s", admitted = "CS7" }"#;

#[test]
fn streams_beyond_the_share_are_demoted_or_dropped() {
    let stream = |port| {
        let mut packet = from_port(port);
        packet.key.protocol = Protocol::UDP;
        packet
    };
    let mut demoting = class(ADMISSION);
    let marks = [1, 2, 3, 1, 3].map(|port| passed(&mut demoting, 0, stream(port)).unwrap());
    assert_eq!(marks, ["CS7", "CS7", "BE", "CS7", "BE"]);
    let counted = demoting.counters()[0].marker.clone();
    assert_eq!(counted[..2], [("streams admitted", 2), ("streams refused", 1)]);

    let mut dropping = class(&format!("{ADMISSION}\npolice.red = \"drop\""));
    let mut of = |port| passed(&mut dropping, 0, stream(port));
    let admitted = || Ok("CS7".to_owned());
    assert_eq!([of(1), of(2), of(3)], [admitted(), admitted(), Err(DropReason::Policed)]);
}

#[test]
fn acknowledgements_echo_where_the_role_says_so_and_belong_to_no_class() {
    let text = |acks: &str| {
        format!(
            "[roles.edge]\n{acks}\n[[roles.edge.classes]]\nname = \"all\"\nmarker.fixed.dscp = \"EF\""
        )
    };
    let ack = || Packet { payload: 0, flags: TcpFlags::ACK, ..packet() };
    let sender = SenderView { received_dscp: Some(Dscp::AF12), ..SenderView::default() };
    let mut echoing = conditioner(&text("acks = \"echo\""));
    assert_eq!(reported(&mut echoing, ack(), &sender), "AF12");
    assert_eq!(reported(&mut echoing, packet(), &sender), "EF", "it carries data");
    assert_eq!(echoing.counters()[0].packets, [1, 0, 0]);
    assert_eq!(reported(&mut conditioner(&text("acks = \"mark\"")), ack(), &sender), "EF");

    let alone = policy("[roles.edge]\nacks = \"echo\"");
    let role = alone.role("edge").unwrap();
    assert!(role.conditions() && role.reads_sender());
}

#[test]
fn applications_set_thresholds_where_the_role_lets_them() {
    let text = |key: &str, class: &str| {
        format!("[roles.edge]\n{key}\n[[roles.edge.classes]]\nname = \"all\"\n{class}")
    };
    let dstf = "marker.dstf = { thresholds = [\"2 KB\"], code_points = [\"AF11\", \"BE\"] }";
    let policy = policy(&text("thresholds = \"application\"", dstf));
    let role = policy.role("edge").unwrap();
    assert!(role.asks_applications() && role.reads_sender());
    let mut edge = role.conditioner(place("r1->r2")).unwrap();
    assert_eq!(edge.thresholds(), ThresholdSource::Application);
    let mut at =
        |object| reported(&mut edge, packet(), &SenderView { object, ..SenderView::default() });
    let own = |sent, thresholds: &[u64]| {
        let thresholds: Vec<Bytes> = thresholds.iter().copied().map(Bytes).collect();
        Some(ObjectView::new(Bytes(sent), &thresholds))
    };
    // Without an object the flow counts, of packets of 1000 bytes.
    assert_eq!([None; 4].map(&mut at), ["AF11", "AF11", "AF11", "BE"]);
    // In an object, its bytes: by the policy's thresholds or by its own.
    assert_eq!(
        [own(0, &[]), own(2_000, &[]), own(2_001, &[])].map(&mut at),
        ["AF11", "AF11", "BE"]
    );
    assert_eq!([own(4_999, &[5_000]), own(5_000, &[5_000])].map(&mut at), ["AF11", "BE"]);
    assert_eq!([own(0, &[0]), own(0, &[0, 9])].map(&mut at), ["BE", "BE"]);

    let by_policy = class(dstf);
    assert_eq!(by_policy.thresholds(), ThresholdSource::Policy);
    let refused = text("thresholds = \"application\"", "marker.fixed.dscp = \"EF\"");
    let mistakes = from_text("test.toml", &refused, &[]).unwrap_err();
    assert!(
        mistakes.to_string().contains("no class of this role distinguishes packets by bytes sent"),
        "{mistakes}"
    );
}

#[test]
fn thresholds_of_applications_replace_bounds_of_rules_in_their_order() {
    let class = |name: &str, bound: &str, dscp: &str| {
        format!(
            "[[roles.edge.classes]]\nname = \"{name}\"\nmatch.sent_up_to = \"{bound}\"\nmarker.fixed.dscp = \"{dscp}\"\n"
        )
    };
    let (early, late) = (class("early", "2 KB", "AF11"), class("late", "9 KB", "AF12"));
    let text = format!("[roles.edge]\nthresholds = \"application\"\n{early}{late}");
    let mut edge = conditioner(&text);
    let mut at = |sent, thresholds: &[u64]| {
        let thresholds: Vec<Bytes> = thresholds.iter().copied().map(Bytes).collect();
        let object = Some(ObjectView::new(Bytes(sent), &thresholds));
        reported(
            &mut edge,
            packet(),
            &SenderView { object, sent: Bytes(1 << 40), ..SenderView::default() },
        )
    };
    assert_eq!([at(2_000, &[]), at(2_001, &[]), at(9_001, &[])], ["AF11", "AF12", "BE"]);
    let own = [100, 200];
    assert_eq!([at(99, &own), at(100, &own), at(200, &own)], ["AF11", "AF12", "BE"]);
    assert_eq!(
        [at(99, &[100]), at(100, &[100])],
        ["AF11", "BE"],
        "one threshold: the last level follows"
    );
}

#[test]
fn every_code_point_that_is_written_is_known_beforehand() {
    let written = |settings: &str| {
        let text = format!("[[roles.edge.classes]]\nname = \"all\"\n{settings}");
        let names: Vec<_> =
            policy(&text).written_code_points().iter().map(Dscp::to_string).collect();
        names.join(" ")
    };
    assert_eq!(written("marker.dstf = {}"), "BE CS1 CS2 CS3 CS4 CS5 CS6 CS7");
    assert_eq!(written("marker.srpt.thresholds = [\"1 KB\"]"), "BE CS1");
    assert_eq!(written("marker.tcp-state = {}"), "AF11 AF12 AF13");
    assert_eq!(written(&format!("{ADMISSION}\npolice.red.remark = \"LE\"")), "BE LE CS7");
    assert_eq!(written("police.green.remark = \"AF41\""), "AF41");
}

#[test]
fn an_account_is_kept_until_it_is_settled_and_a_shorter_timeout_is_refused() {
    // 6000 bytes take 96 s to be earned: more than the 60 s of silence after which most are forgotten.
    let bucket = r#"rate = "500 bit/s", depth = "6 KB""#;
    let mut edge = class(&format!("marker.token-bucket = {{ {bucket}, per = \"source\" }}"));
    let sent = (0..6).map(|_| passed(&mut edge, 0, from_host(1)).unwrap());
    assert!(sent.collect::<Vec<_>>().iter().all(|dscp| dscp == "AF11"));
    assert_eq!(passed(&mut edge, 0, from_host(1)).unwrap(), "AF12");
    // After 80 s there are 5000 bytes, and not 6000 as in a fresh bucket.
    let later: Vec<_> = (0..6).map(|_| passed(&mut edge, 80_000, from_host(1)).unwrap()).collect();
    assert_eq!(later, ["AF11", "AF11", "AF11", "AF11", "AF11", "AF12"]);

    let per = r#"per = { each = "source", idle_timeout = "95 s" }"#;
    let text = format!(
        "[[roles.edge.classes]]\nname = \"all\"\nmarker.token-bucket = {{ {bucket}, {per} }}\n"
    );
    let refused = from_text("test.toml", &text, &[]).unwrap_err().to_string();
    assert!(refused.contains("idle_timeout 95 s must be at least 96 s"), "{refused}");
}

#[test]
fn a_match_takes_lists_also_from_a_parameter_and_a_port_at_either_end() {
    let text = "[parameters]\ncalls = [\"EF\", \"CS5\"]\nports = [\"3478-3481\", 8801]\n\
        [[roles.edge.classes]]\nname = \"marked\"\nmatch = { dscp = \"$calls\" }\nmarker.fixed.dscp = \"AF41\"\n\
        [[roles.edge.classes]]\nname = \"calls\"\nmatch = { protocol = [\"udp\", 132], port = \"$ports\" }\n\
        marker.fixed.dscp = \"AF42\"\n\
        [[roles.edge.classes]]\nname = \"sites\"\nmatch = { src = [\"10.1.0.0/16\", \"2001:db8::/32\"] }\n\
        marker.fixed.dscp = \"AF43\"\n";
    let mut edge = conditioner(text);
    let mut mark = |dscp, protocol, [src_port, dst_port]: [u16; 2], src: &str| {
        let mut packet = Packet { dscp, ..packet() };
        let src = src.parse().unwrap();
        packet.key = FlowKey { protocol, src_port, dst_port, src, ..packet.key };
        passed(&mut edge, 0, packet).unwrap()
    };
    let (be, udp) = (Dscp::BEST_EFFORT, Protocol::UDP);
    assert_eq!(mark("CS5".parse().unwrap(), udp, [1, 2], "10.0.0.1"), "AF41");
    assert_eq!(mark(be, udp, [50_000, 3481], "10.0.0.1"), "AF42");
    assert_eq!(mark(be, Protocol::SCTP, [8801, 50_000], "10.0.0.1"), "AF42");
    assert_eq!(mark(be, Protocol::TCP, [50_000, 3481], "10.0.0.1"), "BE", "not its protocol");
    assert_eq!(mark(be, udp, [50_000, 3482], "10.0.0.1"), "BE", "not its port");
    assert_eq!(mark(be, udp, [1, 2], "10.1.0.1"), "AF43");
    assert_eq!(mark(be, udp, [1, 2], "2001:db8::1"), "AF43");
}
