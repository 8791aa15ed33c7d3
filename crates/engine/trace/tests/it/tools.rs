//! Traces as tshark, tcptrace and capinfos read them, which nobody here wrote.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use shortflow_wire::{Ip, Layers, checksum::Sum};

use crate::support::{Captured, LOSSY, Traced, read, scenario, tool, traced};

/// The scenario without loss, and with a queue that holds everything.
fn clean() -> String {
    LOSSY
        .replace(", loss = { forward = 0.01, back = 0.02 }", r#", queue = "10000 pkt""#)
        .replace(r#"policy = "red.toml""#, "")
        .replace(r#"bind = [{ role = "core", at = "r2", to = "r1" }]"#, "")
}

/// A trace whose frames are whole, as classic pcap with nanoseconds: tshark verifies a checksum only
/// over all that it covers.
pub(crate) fn whole(packets: &[Captured], folder: &Path) -> PathBuf {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, u32::MAX >> 1, 1] {
        bytes.extend_from_slice(&u32::to_le_bytes(word));
    }
    for packet in packets {
        let (seconds, nanos) = (packet.at / 1_000_000_000, packet.at % 1_000_000_000);
        let length = packet.length as u32;
        for word in [seconds as u32, nanos as u32, length, length] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&packet.frame());
    }
    let file = folder.join("whole.pcap");
    fs::write(&file, bytes).unwrap();
    file
}

/// How many packets of a trace pass a display filter of tshark.
fn count(file: &Path, filter: &str) -> Option<u64> {
    let out = tool(
        "tshark",
        &["-n", "-r", file.to_str().unwrap(), "-Y", filter, "-T", "fields", "-e", "frame.number"],
    )?;
    Some(out.lines().count() as u64)
}

#[test]
fn tshark_finds_nothing_malformed_and_every_checksum_good() {
    let traced = traced(&scenario(LOSSY), &["server"]);
    let (_, packets) = read(&traced.file);
    let home = tempfile::tempdir().unwrap();
    let file = whole(&packets, home.path());
    let verify = ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"];
    let options = verify.into_iter().flat_map(|preference| ["-o", preference]);
    let fields = ["ip.checksum.status", "tcp.checksum.status", "udp.checksum.status"];
    let fields = fields.into_iter().flat_map(|field| ["-e", field]);
    let arguments = ["-n", "-r", file.to_str().unwrap(), "-T", "fields"];
    let arguments: Vec<&str> = arguments.into_iter().chain(options).chain(fields).collect();
    let Some(out) = tool("tshark", &arguments) else { return };
    assert_eq!(out.lines().count(), packets.len());
    // 1 is good; a packet has either a TCP or a UDP checksum.
    let bad = out.lines().find(|line| !["1\t1\t", "1\t\t1"].contains(line));
    assert_eq!(bad, None);
    for file in [&file, &traced.file] {
        assert_eq!(count(file, "_ws.malformed || _ws.expert.severity == error"), Some(0));
    }
}

#[test]
fn hosts_with_ipv6_addresses_send_ipv6_packets_of_the_same_length_with_good_checksums() {
    let [over_v4, over_v6] = ["", "address = \"2001:db8::7\""].map(|address| {
        let text = clean().replacen("server = {}", &format!("server = {{ {address} }}"), 1);
        assert!(address.is_empty() || text.contains(address), "{text}");
        traced(&scenario(&text), &["server"])
    });
    let (_, packets) = read(&over_v6.file);
    let mut from_server = 0;
    for packet in &packets {
        let frame = packet.frame();
        let layers = Layers::of_ethernet(&frame);
        let Some(Ip::V6(ip)) = layers.ip else { panic!("{layers:?}") };
        let [own, other]: [Ipv6Addr; 2] =
            ["2001:db8::7", "fd00::a00:1"].map(|it| it.parse().unwrap());
        assert!([(own, other), (other, own)].contains(&(ip.source, ip.destination)), "{ip:?}");
        assert_ne!(ip.flow_label.value(), 0);
        let transport = &frame[layers.transport_at..];
        let (from, to) = (ip.source.into(), ip.destination.into());
        let sum = Sum::pseudo_header(from, to, ip.next, transport.len() as u32);
        assert_eq!(sum.with(transport).checksum(), 0);
        assert_eq!((layers.stop, usize::from(ip.payload_length)), (None, transport.len()));
        from_server += u32::from(ip.source == own);
    }
    assert!(from_server > 100, "{from_server}");
    let longest = |traced: &Traced| read(&traced.file).1.iter().map(|it| it.length).max();
    assert_eq!(longest(&over_v6), longest(&over_v4));
    assert_eq!(
        count(&over_v6.file, "_ws.malformed || _ws.expert.severity == error").unwrap_or(0),
        0
    );
}

#[test]
fn tshark_has_no_remark_on_transfers_without_loss() {
    for place in ["client", "server", "r2->r1"] {
        let traced = traced(&scenario(&clean()), &[place]);
        assert_eq!(traced.outcome.totals.dropped, 0);
        let Some(remarks) = count(&traced.file, "tcp.analysis.flags") else { return };
        assert_eq!(remarks, 0, "at {place}");
    }
}

#[test]
fn tshark_sees_as_many_retransmissions_as_were_made_and_gaps_only_where_packets_were_lost() {
    let mut seen = 0;
    let mut made = 0;
    for (place, address) in [("client", "10.0.0.1"), ("server", "10.0.0.2")] {
        let traced = traced(&scenario(LOSSY), &[place]);
        let totals = traced.outcome.totals;
        made = totals.retransmitted + totals.syn_retransmitted;
        let repeated = "(tcp.analysis.retransmission || tcp.analysis.out_of_order)";
        let Some(sent) = count(&traced.file, &format!("{repeated} && ip.src == {address}")) else {
            return;
        };
        seen += sent;
        assert_eq!(count(&traced.file, "tcp.analysis.ack_lost_segment"), Some(0));
        let own = format!("tcp.analysis.lost_segment && ip.src == {address}");
        assert_eq!(count(&traced.file, &own), Some(0), "what {place} sent itself has no gaps");
    }
    assert!(made > 50, "{made}");
    assert_eq!(seen, made);
}

/// What `tcptrace -l` prints of the direction in which `host` sends, summed over all connections.
pub(crate) fn tcptrace(file: &Path, host: &str) -> Option<BTreeMap<String, u64>> {
    let out = tool("tcptrace", &["-l", "-n", file.to_str().unwrap()])?;
    let mut sums = BTreeMap::<String, u64>::new();
    for connection in out.split("\nTCP connection ").skip(1) {
        // `host a:        10.0.0.1:1026` comes first, then that of the other end.
        let opener = connection.lines().find_map(|line| line.trim().strip_prefix("host "));
        let Some(opener) = opener else { continue };
        let opened = opener.contains(&format!(" {host}:"));
        for line in connection.lines() {
            // `     total packets:            10           total packets:             9      `
            let Some((label, values)) = line.trim().split_once(':') else { continue };
            let Some((one, other)) = values.split_once(&format!("{label}:")) else { continue };
            let value = if opened { one } else { other }.split_whitespace().next();
            if let Some(Ok(value)) = value.map(str::parse::<u64>) {
                *sums.entry(label.to_owned()).or_default() += value;
            }
        }
    }
    Some(sums)
}

#[test]
fn tcptrace_counts_what_was_counted_here() {
    let scenario = scenario(LOSSY);
    let mut sums = BTreeMap::<String, u64>::new();
    let mut traces = Vec::new();
    for (place, address) in [("client", "10.0.0.1"), ("server", "10.0.0.2")] {
        let traced = traced(&scenario, &[place]);
        let Some(of_host) = tcptrace(&traced.file, address) else { return };
        of_host.into_iter().for_each(|(label, sum)| *sums.entry(label).or_default() += sum);
        traces.push(traced);
    }
    let outcome = &traces[0].outcome;
    let [pages, _, voice] = &outcome.replica.workloads[..] else { unreachable!() };
    let datagrams = voice.datagrams.as_ref().unwrap().sent;
    assert_eq!(sums["total packets"], outcome.totals.sent - datagrams);
    // SYNs and FINs have their place in the sequence, so tcptrace counts them as data.
    let retransmitted = outcome.totals.retransmitted + outcome.totals.syn_retransmitted;
    assert!(retransmitted > 50, "{retransmitted}");
    assert_eq!(sums["rexmt data pkts"], retransmitted);
    assert_eq!(sums["outoforder pkts"], 0);
    // Each of some four thousand bare acknowledgements is held against the few before it, by 16 bits that are as good as
    // random: 0.3 are expected to be taken for one captured twice, and more than two in one trace of three hundred.
    let twice = sums.get("hardware dups").copied().unwrap_or_default();
    assert!(twice <= 2, "{twice} packets are taken for others captured twice");
    let replies: u64 = pages
        .classes
        .iter()
        .zip([2_000, 20_000, 200_000])
        .map(|(class, size)| class.completion.n() * size)
        .sum();
    assert_eq!(pages.all.open, 0);
    let bytes = 400 * pages.all.completion.n() + replies + 2_000_000;
    assert_eq!(sums["unique bytes sent"], bytes);
    let with_sack = traces.iter().map(|traced| traced.sack_segments).sum::<u64>();
    assert!(with_sack > 100, "{with_sack}");
    assert_eq!(sums["sack pkts sent"], with_sack);
}

#[test]
fn capinfos_finds_all_packets_in_the_order_of_time() {
    let traced = traced(&scenario(LOSSY), &["client", "server", "r2->r1"]);
    let (_, packets) = read(&traced.file);
    let Some(out) = tool("capinfos", &["-M", traced.file.to_str().unwrap()]) else { return };
    let value = |key: &str| {
        let line = out.lines().find(|line| line.starts_with(key));
        line.unwrap_or_else(|| panic!("no {key} in {out}"))[key.len()..].trim().to_owned()
    };
    assert_eq!(value("Number of packets:"), packets.len().to_string());
    assert_eq!(value("Strict time order:"), "True");
    assert_eq!(value("Number of interfaces in file:"), "3");
    assert_eq!(value("File timestamp precision:"), "nanoseconds (9)");
}
