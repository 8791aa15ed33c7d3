//! What is in a file.

use std::collections::BTreeSet;
use std::fs;

use shortflow_elements::DropReason;
use shortflow_sim::{run_replica, run_replica_before};
use shortflow_trace::{Trace, places};

use crate::support::{Captured, LOSSY, read, scenario, scenario_with, traced};

#[test]
fn both_ends_together_saw_every_packet_that_was_sent_and_that_arrived() {
    let traced = traced(&scenario(LOSSY), &["client", "server"]);
    let (interfaces, packets) = read(&traced.file);
    assert_eq!(interfaces, ["client", "server"]);
    let count = |inbound: bool| packets.iter().filter(|p| p.is_inbound == inbound).count() as u64;
    let totals = traced.outcome.totals;
    assert!(totals.dropped > 50, "{totals:?}");
    assert_eq!((count(false), count(true)), (totals.sent, totals.delivered));
    assert!(packets.is_sorted_by_key(|packet| packet.at));
    assert!(packets.iter().all(|packet| packet.comment.is_none()));
}

#[test]
fn a_port_s_trace_has_what_the_port_counted_with_the_reason_of_each_drop() {
    let scenario = scenario(LOSSY);
    let traced = traced(&scenario, &["r2->r1"]);
    let (_, mut packets) = read(&traced.file);
    // Ports count until arrivals end.
    packets.retain(|packet| packet.at <= scenario.duration.nanos());
    let port = traced.outcome.replica.port("r2->r1").unwrap();
    let passed: u64 = port.code_points.iter().map(|class| class.forwarded.packets).sum();
    assert_eq!(packets.iter().filter(|p| p.comment.is_none()).count() as u64, passed);
    for (number, reason) in DropReason::ALL.into_iter().enumerate() {
        let dropped: u64 = port.code_points.iter().map(|class| class.dropped[number].packets).sum();
        let comment = format!("dropped: {}", reason.name());
        let found = packets.iter().filter(|p| p.comment.as_ref() == Some(&comment)).count() as u64;
        assert_eq!(found, dropped, "{comment}");
    }
    assert!(packets.iter().any(|p| p.comment.as_deref() == Some("dropped: link loss")));
    assert!(packets.iter().any(|p| p.comment.as_deref() == Some("dropped: early")));
    // Those that the link lost after the mark are in the file too.
    let marked = packets.iter().filter(|packet| packet.bytes[15] & 3 == 3).count() as u64;
    assert!(marked > 10, "{marked}");
    assert_eq!(marked, port.ecn_marks);
}

#[test]
fn lengths_and_checksums_are_right_over_payloads_of_zeros() {
    let (_, packets) = read(&traced(&scenario(LOSSY), &["r2->r1", "r1->r2"]).file);
    for packet in &packets {
        let frame = packet.frame();
        let ip = &frame[14..];
        assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
        assert_eq!(sum(&ip[..20]), 0xffff, "of the IP header");
        // RFC 9293 §3.1, RFC 768: addresses, protocol and length come before the segment.
        let length = (ip.len() as u16 - 20).to_be_bytes();
        let pseudo = [&ip[12..20], &[0, ip[9]], &length, &ip[20..]].concat();
        assert_eq!(sum(&pseudo), 0xffff, "of the segment");
        let headers = packet.tcp().map_or(42, |tcp| 34 + usize::from(tcp[12] >> 4) * 4);
        assert_eq!(packet.bytes.len(), headers, "headers and nothing else are stored");
    }
    let datagrams: Vec<&Captured> = packets.iter().filter(|p| p.tcp().is_none()).collect();
    assert_eq!(datagrams.len(), 500, "80 kbit/s for 10 s in packets of 200 B");
    assert!(datagrams.iter().all(|p| p.length == 14 + 200 && p.bytes[15] >> 2 == 46), "EF");
}

/// The ones' complement sum of 16-bit words (RFC 1071 §1).
fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[test]
fn a_syn_offers_what_the_settings_say() {
    let options = |tcp: &str| -> Vec<u8> {
        let text = LOSSY.replace(r#"tcp = { era = "linux-today", ecn = true }"#, tcp);
        let (_, packets) = read(&traced(&scenario(&text), &["client"]).file);
        let syn = packets.iter().find_map(Captured::tcp).unwrap();
        assert_eq!(syn[13] & 0x3f, 0x02, "the first segment is a SYN");
        syn[20..].to_vec()
    };
    // 1448 B and 12 B of options make 1460 B; SACK permitted; 6 MiB need a shift of 7; the end of
    // the list, up to the 52 B of headers that are counted.
    let today = options(r#"tcp = { era = "linux-today" }"#);
    assert_eq!(today, [2, 4, 0x05, 0xb4, 4, 2, 3, 3, 7, 0, 0, 0]);
    let old = options(r#"tcp = { era = "ns2-2002", receive_window = "65535 B" }"#);
    assert_eq!(old, [2, 4, 0x03, 0xe8], "1000 B; no SACK, no scale");
}

#[test]
fn headers_are_as_long_as_is_counted_as_far_as_real_ones_can_be() {
    let lengths = |header: u32| -> Vec<usize> {
        let tcp = format!(r#"tcp = {{ era = "linux-today", header = "{header} B" }}"#);
        let text = LOSSY.replace(r#"tcp = { era = "linux-today", ecn = true }"#, &tcp);
        let (_, packets) = read(&traced(&scenario(&text), &["server"]).file);
        let full = packets.iter().filter(|packet| packet.length > 1448 && packet.tcp().is_some());
        let mut lengths: Vec<usize> = full.map(|packet| packet.bytes.len() - 14).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    };
    assert_eq!(lengths(0), [40], "IPv4 and TCP without options");
    assert_eq!(lengths(55), [52], "options come in words of 4 bytes");
    assert_eq!(lengths(120), [80], "40 bytes of options are the most");
}

#[test]
fn a_packet_has_one_identification_at_every_place_and_another_one_when_it_is_sent_again() {
    let traced = traced(&scenario(LOSSY), &["client", "server", "r2->r1"]);
    let (_, packets) = read(&traced.file);
    let totals = traced.outcome.totals;
    // What no router changes: the identification, addresses, ports and all that TCP and UDP say.
    let name = |packet: &Captured| (packet.bytes[18..20].to_vec(), packet.bytes[26..].to_vec());
    let (sent, elsewhere): (Vec<&Captured>, Vec<&Captured>) =
        packets.iter().partition(|packet| packet.interface < 2 && !packet.is_inbound);
    let names: BTreeSet<_> = sent.iter().map(|packet| name(packet)).collect();
    assert!(elsewhere.len() as u64 > totals.delivered);
    assert!(elsewhere.iter().all(|packet| names.contains(&name(packet))));
    // Segments with data differ, even if the same data are sent again.
    let has_data =
        |packet: &&&Captured| packet.tcp().is_some() && packet.length > packet.bytes.len();
    let data: Vec<_> = sent.iter().filter(has_data).map(|packet| name(packet)).collect();
    assert!(totals.retransmitted > 50, "{totals:?}");
    assert_eq!(data.iter().collect::<BTreeSet<_>>().len(), data.len());
}

#[test]
fn a_trace_changes_nothing_and_is_the_same_each_time() {
    let scenario = scenario(LOSSY);
    let alone = run_replica(&scenario, 0, None, |_| true).unwrap();
    let (one, two) = (traced(&scenario, &["server"]), traced(&scenario, &["server"]));
    assert_eq!(one.outcome.totals, alone.totals);
    assert_eq!(format!("{:?}", one.outcome.replica), format!("{:?}", alone.replica));
    assert_eq!(fs::read(&one.file).unwrap(), fs::read(&two.file).unwrap());
}

/// Acknowledgements that echo a code point pass a host's policy on a short way, but for where somebody looks on:
/// there its conditioner has them too, and does the same.
#[test]
fn echoes_are_the_same_on_their_short_way_and_past_the_conditioner() {
    let echoing = r#"
        [roles.core]
        acks = "echo"
        [[roles.core.classes]]
        name = "all"
        marker.tcp-state = { high = 4, medium = 16 }
        [roles.core.queue.shared-priority]
        limit = "60 pkt"
        bands = ["AF11", "AF12", "rest"]
    "#;
    let at_hosts = r#"bind = [{ role = "core", at = "client", to = "r1" }, { role = "core", at = "server", to = "r2" }]"#;
    let at_a_router = r#"bind = [{ role = "core", at = "r2", to = "r1" }]"#;
    let text = LOSSY.replace(at_a_router, at_hosts).replace("r2->r1", "client->r1");
    let scenario = scenario_with(&text, echoing);
    let alone = run_replica(&scenario, 0, None, |_| true).unwrap();
    let watched = traced(&scenario, &["client", "server"]);
    assert_eq!(format!("{:?}", watched.outcome.replica), format!("{:?}", alone.replica));
    let colours = &alone.replica.port("client->r1").unwrap().code_points;
    let echoed = colours.iter().filter(|class| class.forwarded.packets > 100).count();
    assert_eq!(echoed, 3, "AF11, AF12 and AF13 all come back: {colours:?}");
}

#[test]
fn a_run_that_is_abandoned_leaves_no_file() {
    let scenario = scenario(&LOSSY.replace(r#"duration = "10 s""#, r#"duration = "1000 s""#));
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trace.pcapng");
    let places = places(&scenario, &[]).unwrap();
    let trace = Box::new(Trace::create(&file, &scenario, &places).unwrap());
    run_replica_before(Some(trace), &scenario, 0, None, |_| false).unwrap_err();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}
