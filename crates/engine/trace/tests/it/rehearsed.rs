//! A trace of a rehearsal: the packets are those of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use shortflow_elements::DropReason;
use shortflow_measure::results::Folder;
use shortflow_measure::{Replica, RowNames, TcpSink};
use shortflow_rehearse::Rehearsal;
use shortflow_run::{Engine, Error, Measured, Observers, Task, TcpInfoLog};
use shortflow_scenario::Scenario;
use shortflow_trace::{Trace, places};
use shortflow_units::Duration;
use shortflow_wire::{Ip, Ipv4Header, Layers, TcpOption, Transport, checksum::Sum};
use tempfile::TempDir;

use crate::support::{Captured, LOSSY, read, scenario, scenario_with, tool};
use crate::tools::{tcptrace, whole};

/// A rehearsal of which a trace was kept, once for all tests.
struct Rehearsed {
    replica: Replica,
    file: PathBuf,
    /// How senders stood, row by row.
    senders: Vec<BTreeMap<String, String>>,
    _home: TempDir,
}

/// Three seconds of it, captured at the server and at the port that marks and drops; none where there can be
/// no rehearsal.
fn rehearsed() -> Option<&'static Rehearsed> {
    static ONCE: OnceLock<Option<Rehearsed>> = OnceLock::new();
    ONCE.get_or_init(|| rehearse(Rehearsal::OVER_IPV4, &scenario(&short()))).as_ref()
}

/// A shorter form of the scenario.
fn short() -> String {
    let short = LOSSY.replace(r#"duration = "10 s""#, r#"duration = "3 s""#);
    short.replace(r#"drain = "60 s""#, r#"drain = "1 s""#)
}

/// Real time cannot be shared: one rehearsal at a time.
static MACHINE: Mutex<()> = Mutex::new(());

const DURATION: u64 = 3_000_000_000;

fn rehearse(engine: Rehearsal, scenario: &Scenario) -> Option<Rehearsed> {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trace.pcapng");
    let names = ["server", "r2->r1"].map(str::to_owned);
    let places = places(scenario, &names).unwrap();
    let tap = Some(Box::new(Trace::create(&file, scenario, &places).unwrap()) as Box<_>);
    let folder = Folder::create(home.path()).unwrap();
    let names = RowNames {
        workloads: scenario.result_rows().into_iter().map(|row| row.name).collect(),
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
        ..RowNames::default()
    };
    let sink = TcpSink::create(&folder, 0, 0, names).unwrap();
    let tcp_info = Some(TcpInfoLog { sink, every: Some(Duration::from_millis(10)) });
    let observers = Observers { transfers: None, tap, tcp_info, look: &mut |_| true };
    match engine.run(&Task { scenario, replica: 0 }, observers) {
        Ok(outcome) => {
            let Measured::Replica(replica) = outcome.measured else { unreachable!() };
            let senders = rows(&home.path().join("tcp-info-000-000.csv"));
            Some(Rehearsed { replica: *replica, file, senders, _home: home })
        }
        Err(Error::Machine(lacking)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts: {lacking}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The rows of a CSV file without quotes, each by its columns.
fn rows(file: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines.map(|fields| columns.iter().cloned().zip(fields).collect()).collect()
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
    assert!(marked(1) > 0, "behind the queue");
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
    // One packet in 65,536 has the sum 0, which Linux sends as 0xffff: as good, and bad and an error to tshark.
    let bad = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || \
               ((_ws.expert.severity == error || tcp.checksum.status == 0) && !(tcp.checksum == 0xffff))";
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

#[test]
fn tcptrace_finds_the_segments_that_the_kernel_sent_again() {
    let Some(Rehearsed { file, .. }) = rehearsed() else { return };
    let mut packets = read(file).1;
    // Twice captured, at two places, it would count as sent twice.
    packets.retain(|packet| packet.interface == 0);
    let ports = |packet: &Captured| match Layers::of_ethernet(&packet.bytes).transport {
        Transport::Tcp(tcp) if !packet.is_inbound => Some((tcp.source_port, tcp.destination_port)),
        _ => None,
    };
    let connections: BTreeSet<(u16, u16)> = packets.iter().filter_map(ports).collect();
    let again = |&ports: &(u16, u16)| sent_again(file, |found| found == ports, f64::MAX);
    let again: usize = connections.iter().map(again).sum();
    let home = tempfile::tempdir().unwrap();
    let Some(sums) = tcptrace(&whole(&packets, home.path()), "10.0.0.2") else { return };
    assert!(again > 5, "{again}");
    assert_eq!(sums["rexmt data pkts"], again as u64);
    assert!(sums["sack pkts sent"] + sums["ack pkts sent"] > 0, "{sums:?}");
}

#[test]
fn a_sender_s_window_falls_when_segments_are_lost_and_it_sends_as_many_again_as_are_captured() {
    let Some(Rehearsed { file, senders, .. }) = rehearsed() else { return };
    let of_file: Vec<_> = senders.iter().filter(|row| row["workload"] == "file").collect();
    let number = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<f64>().unwrap();
    assert!(of_file.len() > 100, "every 10 ms: {}", of_file.len());
    assert!(of_file.iter().all(|row| row["sender"] == "server"));
    let falls =
        of_file.windows(2).filter(|two| number(two[1], "cwnd") < 0.8 * number(two[0], "cwnd"));
    assert!(falls.count() > 0, "the window never falls");
    assert!(of_file.iter().any(|row| row["state"] == "recovery"));
    assert!(of_file.iter().all(|row| number(row, "srtt_s") < 1.0 && number(row, "rto_s") >= 0.2));

    let last = of_file.last().unwrap();
    assert!(["completed", "open"].contains(&last["occasion"].as_str()), "{last:?}");
    let (port, until) = (last["client_port"].parse::<u16>().unwrap(), number(last, "time_s"));
    let again = sent_again(file, |(source, _)| source == port, until);
    assert!(again > 5, "{again}");
    // A segment may be on its way from the kernel to the capture while one looks.
    assert!((number(last, "retransmissions") - again as f64).abs() <= 2.0, "{again}: {last:?}");
}

/// How many segments the server has sent again in the connection of these ports, its own first, up to an instant,
/// as its capture has it.
fn sent_again(file: &Path, is_its: impl Fn((u16, u16)) -> bool, until: f64) -> usize {
    let (mut again, mut next) = (0, None);
    for packet in read(file).1.iter().filter(|it| it.interface == 0 && !it.is_inbound) {
        let layers = Layers::of_ethernet(&packet.bytes);
        let Transport::Tcp(tcp) = layers.transport else { continue };
        let is_its = is_its((tcp.source_port, tcp.destination_port));
        if !is_its || packet.at as f64 > until * 1e9 {
            continue;
        }
        let marks = (tcp.control.bits() & 3).count_ones();
        let end = tcp.sequence.wrapping_add(layers.payload.len() as u32 + marks);
        let is_new = next.is_none_or(|next: u32| end.wrapping_sub(next) as i32 > 0);
        let is_empty = end == tcp.sequence;
        again += usize::from(!is_new && !is_empty);
        next = if is_new { Some(end) } else { next };
    }
    again
}

#[test]
fn every_transfer_ends_with_a_look_at_its_sender() {
    let Some(Rehearsed { replica, senders, .. }) = rehearsed() else { return };
    let pages = || senders.iter().filter(|row| row["workload"] == "pages");
    // A machine that is busy with other things may leave one open when the run ends.
    let ids: Vec<u64> = pages()
        .filter(|row| row["occasion"] != "interval")
        .map(|row| row["id"].parse().unwrap())
        .collect();
    assert!(ids.len() as u64 >= replica.workloads[0].all.n(), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each once");
    let completed = || pages().filter(|row| row["occasion"] == "completed");
    assert!(completed().count() as u64 >= replica.workloads[0].all.completion.n());
    assert!(completed().all(|row| row["sender"] == "server" && !row["delivered"].is_empty()));
}

#[test]
fn over_ipv6_every_packet_says_so_and_is_as_large_and_prefixes_classify_it() {
    let policy = r#"
        [[roles.core.classes]]
        name = "server"
        match = { src = "fd00::a00:2", protocol = "tcp" }
        marker.token-bucket = { rate = "1 Mbit/s", depth = "10 KB" }
    "#;
    let scenario = scenario_with(&short(), policy);
    let Some(rehearsed) = rehearse(Rehearsal::OVER_IPV6, &scenario) else { return };
    let (_, packets) = read(&rehearsed.file);
    let code_point = |packet: &Captured| (packet.bytes[14] & 0x0f) << 2 | packet.bytes[15] >> 6;
    let mut code_points = BTreeSet::new();
    for packet in &packets {
        let layers = Layers::of_ethernet(&packet.bytes);
        let Some(Ip::V6(ip)) = layers.ip else { panic!("{layers:?}") };
        assert_eq!((layers.stop, packet.bytes.len()), (None, packet.length));
        let transport = &packet.bytes[layers.transport_at..];
        let (from, to) = (ip.source.into(), ip.destination.into());
        let sum = Sum::pseudo_header(from, to, ip.next, transport.len() as u32);
        assert_eq!(sum.with(transport).checksum(), 0);
        match layers.transport {
            Transport::Udp(_) => assert_eq!((packet.length, code_point(packet)), (14 + 200, 46)),
            _ if packet.interface == 1 => drop(code_points.insert(code_point(packet))),
            _ => assert_eq!(code_point(packet), 0, "as the host sends it"),
        }
    }
    assert_eq!(packets.iter().map(|packet| packet.length).max(), Some(14 + 1500));
    assert_eq!(code_points, BTreeSet::from([10, 12]), "AF11 and AF12");
}
