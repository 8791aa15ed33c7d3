//! Classifiers, markers and policers of a role.

use shortflow_elements::{Conditioner, DropReason};
use shortflow_packet::{Dscp, Packet, Protocol};

use crate::{at, packet, place, policy};

fn conditioner(text: &str) -> Conditioner {
    policy(text).role("edge").unwrap().conditioner(place("r1->r2")).unwrap()
}

/// What becomes of `packet` at the start: its code point, or why it is dropped.
fn passed(conditioner: &mut Conditioner, mut packet: Packet) -> Result<Dscp, DropReason> {
    match conditioner.condition(at(0), &mut packet, None) {
        Some(reason) => Err(reason),
        None => Ok(packet.dscp),
    }
}

#[test]
fn the_first_class_that_fits_takes_the_packet_and_others_pass_as_they_are() {
    let mut edge = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "web"
        match = { protocol = "tcp", src_port = 80, dst_port = "1024-65535", src = "10.0.0.0/8" }
        marker.fixed = { dscp = "AF11" }
        [[roles.edge.classes]]
        name = "tcp"
        match = { protocol = "tcp" }
        marker.fixed = { dscp = "AF12" }
        "#,
    );
    let from_port = |port| {
        let mut packet = packet();
        packet.key.src_port = port;
        packet
    };
    assert_eq!(passed(&mut edge, from_port(80)), Ok(Dscp::AF11));
    assert_eq!(passed(&mut edge, from_port(81)), Ok(Dscp::AF12));
    let mut datagram = packet();
    datagram.key.protocol = Protocol::UDP;
    assert_eq!(passed(&mut edge, datagram), Ok(Dscp::BEST_EFFORT));
    let counters = edge.counters();
    assert_eq!([counters[0].packets, counters[1].packets], [[1, 0, 0], [1, 0, 0]]);
    assert_eq!(counters[0].bytes, [1000, 0, 0]);
}

#[test]
fn a_match_may_name_any_protocol_and_prefixes_of_both_families() {
    let mut edge = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "tunnel"
        match = { protocol = "esp", src = "2001:db8::/32" }
        marker.fixed = { dscp = "AF11" }
        [[roles.edge.classes]]
        name = "pings"
        match = { protocol = "icmpv6" }
        marker.fixed = { dscp = "AF12" }
        [[roles.edge.classes]]
        name = "gre"
        match = { protocol = 47 }
        marker.fixed = { dscp = "AF13" }
        "#,
    );
    let mut marked = |protocol, src: &str| {
        let mut packet = packet();
        packet.key.protocol = protocol;
        packet.key.src = src.parse().unwrap();
        passed(&mut edge, packet)
    };
    assert_eq!(marked(Protocol::ESP, "2001:db8::1"), Ok(Dscp::AF11));
    assert_eq!(marked(Protocol::ESP, "2001:db9::1"), Ok(Dscp::BEST_EFFORT));
    assert_eq!(marked(Protocol::ESP, "32.1.13.184"), Ok(Dscp::BEST_EFFORT), "another family");
    assert_eq!(marked(Protocol::ICMPV6, "2001:db9::1"), Ok(Dscp::AF12));
    assert_eq!(marked(Protocol(47), "10.0.0.1"), Ok(Dscp::AF13));
    assert_eq!(marked(Protocol::TCP, "2001:db8::1"), Ok(Dscp::BEST_EFFORT));
}

#[test]
fn users_of_ipv6_are_told_apart_by_as_many_bits_as_the_policy_says() {
    // A bucket of one packet for each user of 56 bits.
    let mut edge = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "all"
        marker.token-bucket = { rate = "1 Mbit/s", depth = "1000 B", per = { each = "source", ipv6_prefix = 56 } }
        "#,
    );
    let mut marked = |src: &str| {
        let mut packet = packet();
        packet.key.src = src.parse().unwrap();
        passed(&mut edge, packet).unwrap()
    };
    assert_eq!(marked("2001:db8:0:100::1"), Dscp::AF11);
    assert_eq!(marked("2001:db8:0:1ff::2"), Dscp::AF12, "the same 56 bits");
    assert_eq!(marked("2001:db8:0:200::1"), Dscp::AF11, "another user");
    assert_eq!(marked("10.0.0.1"), Dscp::AF11);
    assert_eq!(marked("10.0.0.2"), Dscp::AF11, "an address of IPv4 is a user");
}

#[test]
fn a_policer_drops_the_colours_that_it_is_told_to() {
    // A bucket of one packet: the second one at the same instant is out of profile.
    let mut edge = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "all"
        marker.token-bucket = { rate = "1 Mbit/s", depth = "1000 B" }
        police = { yellow = "drop" }
        "#,
    );
    assert_eq!(passed(&mut edge, packet()), Ok(Dscp::AF11));
    assert_eq!(passed(&mut edge, packet()), Err(DropReason::Policed));
    assert_eq!(edge.counters()[0].packets, [1, 1, 0]);
}

#[test]
fn colours_are_written_as_the_policy_says() {
    let mut edge = conditioner(
        r#"
        [code_points]
        green = "AF21"
        yellow = "AF22"
        red = "AF23"
        [[roles.edge.classes]]
        name = "all"
        marker.srtcm = { cir = "1 Mbit/s", cbs = "1000 B", ebs = "1000 B" }
        "#,
    );
    let written: Vec<String> =
        (0..3).map(|_| passed(&mut edge, packet()).unwrap().to_string()).collect();
    assert_eq!(written, ["AF21", "AF22", "AF23"]);
}

#[test]
fn a_colour_aware_meter_never_promotes_a_packet() {
    let mut edge = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "all"
        marker.trtcm = { cir = "1 Mbit/s", cbs = "9 KB", pir = "2 Mbit/s", pbs = "9 KB", color_aware = true }
        "#,
    );
    let colored = |dscp| Packet { dscp, ..packet() };
    assert_eq!(passed(&mut edge, colored(Dscp::AF11)), Ok(Dscp::AF11));
    assert_eq!(passed(&mut edge, colored(Dscp::AF12)), Ok(Dscp::AF12));
    assert_eq!(passed(&mut edge, colored(Dscp::EF)), Ok(Dscp::AF13), "no colour is no claim");
}

#[test]
fn the_fair_marker_protects_the_first_packets_of_a_flow_and_shows_its_table() {
    let mut edge = conditioner(
        r#"
        [[roles.edge.classes]]
        name = "web"
        marker.fair-marker = { cir = "10 Mbit/s", threshold = 3, table_size = 2, initial_rate = "zero" }
        "#,
    );
    for _ in 0..3 {
        assert_eq!(passed(&mut edge, packet()), Ok(Dscp::AF11));
    }
    let counters = edge.counters().remove(0);
    assert_eq!(counters.class, "web");
    assert!(!counters.marker.is_empty(), "the table's counters are shown");
}

#[test]
fn each_place_has_a_random_stream_of_its_own() {
    let tsw = r#"
        [[roles.edge.classes]]
        name = "all"
        marker.tsw2cm = { cir = "100 kbit/s" }
    "#;
    let policy = policy(tsw);
    let marks = |name: &str| -> Vec<Dscp> {
        let mut edge = policy.role("edge").unwrap().conditioner(place(name)).unwrap();
        let mut marks = Vec::new();
        for millis in 0..2000 {
            let mut packet = packet();
            edge.condition(at(10 * millis), &mut packet, None);
            marks.push(packet.dscp);
        }
        marks
    };
    assert_eq!(marks("r1->r2"), marks("r1->r2"));
    assert_ne!(marks("r1->r2"), marks("r2->r1"));
}
