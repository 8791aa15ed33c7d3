//! A trace of a rehearsal: the packets are those of the kernel.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use shortflow_elements::DropReason;
use shortflow_measure::Replica;
use shortflow_rehearse::Rehearsal;
use shortflow_run::{Engine, Error, Measured, Observers, Task};
use shortflow_trace::{Trace, places};
use shortflow_wire::{Ip, Ipv4Header, Layers, TcpOption, Transport, checksum::Sum};
use tempfile::TempDir;

use crate::support::{Captured, LOSSY, read, scenario, tool};

/// A rehearsal of which a trace was kept, once for all tests.
struct Rehearsed {
    replica: Replica,
    file: PathBuf,
    _home: TempDir,
}

/// Three seconds of it, captured at the server and at the port that marks and drops; none where there can be
/// no rehearsal.
fn rehearsed() -> Option<&'static Rehearsed> {
    static ONCE: OnceLock<Option<Rehearsed>> = OnceLock::new();
    ONCE.get_or_init(rehearse).as_ref()
}

const DURATION: u64 = 3_000_000_000;

fn rehearse() -> Option<Rehearsed> {
    let short = LOSSY
        .replace(r#"duration = "10 s""#, r#"duration = "3 s""#)
        .replace(r#"drain = "60 s""#, r#"drain = "1 s""#);
    let scenario = scenario(&short);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trace.pcapng");
    let names = ["server", "r2->r1"].map(str::to_owned);
    let places = places(&scenario, &names).unwrap();
    let tap = Some(Box::new(Trace::create(&file, &scenario, &places).unwrap()) as Box<_>);
    let observers = Observers { transfers: None, tap, look: &mut |_| true };
    match Rehearsal.run(&Task { scenario: &scenario, replica: 0 }, observers) {
        Ok(outcome) => {
            let Measured::Replica(replica) = outcome.measured else { unreachable!() };
            Some(Rehearsed { replica: *replica, file, _home: home })
        }
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn packets_are_whole_and_in_order_and_their_checksums_right_even_where_they_were_marked() {
    let Some(Rehearsed { file, .. }) = rehearsed() else { return };
    let (interfaces, packets) = read(file);
    assert_eq!(interfaces, ["server", "r2->r1"]);
    assert!(packets.is_sorted_by_key(|packet| packet.at));
    for packet in &packets {
        assert_eq!(packet.bytes.len(), packet.length);
        let layers = Layers::of_ethernet(&packet.bytes);
        assert_eq!((layers.stop, layers.missing), (None, 0));
        assert!(Ipv4Header::parse(&packet.bytes[14..]).unwrap().is_checksum_right());
        let Some(Ip::V4(ip)) = layers.ip else { panic!("{layers:?}") };
        let transport = &packet.bytes[layers.transport_at..];
        let (from, to) = (ip.source.into(), ip.destination.into());
        let sum = Sum::pseudo_header(from, to, ip.protocol, transport.len() as u32);
        assert_eq!(sum.with(transport).checksum(), 0);
    }
    let marked = |interface: u32| {
        let at = packets.iter().filter(move |packet| packet.interface == interface);
        at.filter(|packet| !packet.is_inbound && packet.bytes[15] & 3 == 3).count()
    };
    assert_eq!(marked(0), 0, "as the host sends them");
    assert!(marked(1) > 10, "behind the queue: {}", marked(1));
    let voice = |packet: &&Captured| packet.bytes[23] == 17;
    let voice: Vec<_> = packets.iter().filter(voice).collect();
    assert!(voice.len() > 100 && voice.iter().all(|packet| packet.bytes[15] >> 2 == 46), "EF");
}

#[test]
fn segments_are_those_of_a_kernel() {
    let Some(Rehearsed { file, .. }) = rehearsed() else { return };
    let (_, packets) = read(file);
    let mut first = BTreeSet::new();
    for packet in &packets {
        let Transport::Tcp(tcp) = Layers::of_ethernet(&packet.bytes).transport else { continue };
        let is_timestamp =
            |option: &Result<TcpOption, _>| matches!(option, Ok(TcpOption::Timestamps { .. }));
        assert!(tcp.options.iter().any(|option| is_timestamp(&option)), "{tcp:?}");
        if tcp.control.bits() & 0x3f == 0x12 {
            first.insert(tcp.sequence);
        }
    }
    assert!(first.len() > 5, "each SYN-ACK has a sequence number of its own: {first:?}");
}

#[test]
fn the_port_s_part_has_what_the_port_counted_with_the_reason_of_each_drop() {
    let Some(Rehearsed { replica, file, .. }) = rehearsed() else { return };
    let (_, mut packets) = read(file);
    packets.retain(|packet| packet.interface == 1 && packet.at <= DURATION);
    let port = replica.port("r2->r1").unwrap();
    let count = |comment: Option<&str>| {
        packets.iter().filter(|packet| packet.comment.as_deref() == comment).count() as u64
    };
    let passed: u64 = port.code_points.iter().map(|class| class.forwarded.packets).sum();
    assert_eq!(count(None), passed);
    for (number, reason) in DropReason::ALL.into_iter().enumerate() {
        let dropped: u64 = port.code_points.iter().map(|class| class.dropped[number].packets).sum();
        let comment = format!("dropped: {}", reason.name());
        assert_eq!(count(Some(&comment)), dropped, "{comment}");
    }
    assert!(count(Some("dropped: link loss")) > 0);
}

#[test]
fn tshark_has_nothing_to_complain_of_and_capinfos_finds_all_packets() {
    let Some(Rehearsed { file, .. }) = rehearsed() else { return };
    let (_, packets) = read(file);
    let path = file.to_str().unwrap();
    let verify = ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"];
    let options = verify.into_iter().flat_map(|preference| ["-o", preference]);
    let bad = "_ws.malformed || _ws.expert.severity == error || ip.checksum.status == 0 || \
               tcp.checksum.status == 0 || udp.checksum.status == 0";
    let arguments: Vec<&str> = ["-n", "-r", path, "-Y", bad].into_iter().chain(options).collect();
    if let Some(complaints) = tool("tshark", &arguments) {
        assert_eq!(complaints, "");
    }
    let Some(out) = tool("capinfos", &["-M", "-c", "-o", path]) else { return };
    assert!(
        out.lines().any(|line| {
            line.starts_with("Number of packets:") && line.ends_with(&format!(" {}", packets.len()))
        }),
        "{out}"
    );
    assert!(out.contains("Strict time order:   True"), "{out}");
}
