//! The committed corpus of the fuzz target, on stable Rust.

use std::fs;
use std::path::Path;

use shortflow_wire::{Ip, Layers, Transport};

use crate::laws;

/// What is read of a frame, in a line.
fn summary(bytes: &[u8]) -> String {
    let layers = Layers::of_ethernet(bytes);
    let ip = match layers.ip {
        None => "no IP",
        Some(Ip::V4(_)) => "IPv4",
        Some(Ip::V6(_)) => "IPv6",
    };
    let transport = match layers.transport {
        Transport::Tcp(_) => "TCP",
        Transport::Udp(_) => "UDP",
        Transport::Icmp(_) => "ICMP",
        Transport::Unread => "unread",
    };
    let tags = layers.tags.iter().count();
    let ports = layers.ports.map(|it| format!(" {}->{}", it.source, it.destination));
    let inner = layers.inner_of_error(bytes).and_then(|inner| inner.ports);
    let inner = inner.map(|it| format!(" about {}->{}", it.source, it.destination));
    let stop = layers.stop.map(|stop| format!("; {stop:?}"));
    let [ports, inner, stop] = [ports, inner, stop].map(Option::unwrap_or_default);
    format!("{tags} tags, {ip}, {transport}{ports}{inner}{stop}")
}

const EXPECTED: &str = "\
arp: 0 tags, no IP, unread; NotIp(EtherType(2054))
empty: 0 tags, no IP, unread; Malformed(Truncated { needed: 14, found: 0 })
ipv4-authenticated-udp: 0 tags, IPv4, UDP 5004->5006
ipv4-esp: 0 tags, IPv4, unread; OtherProtocol
ipv4-first-fragment: 0 tags, IPv4, UDP 5004->5006
ipv4-icmp-echo: 0 tags, IPv4, ICMP
ipv4-icmp-unreachable: 0 tags, IPv4, ICMP about 5004->5006
ipv4-later-fragment: 0 tags, IPv4, unread; LaterFragment
ipv4-lying-header-length: 0 tags, no IP, unread; Malformed(Truncated { needed: 60, found: 33 })
ipv4-lying-length: 0 tags, IPv4, unread; Malformed(Length { min: 20, found: 9 })
ipv4-options: 0 tags, IPv4, UDP 5004->5006
ipv4-padded: 0 tags, IPv4, UDP 5004->5006
ipv4-sctp: 0 tags, IPv4, unread 36412->36412; OtherProtocol
ipv4-tcp-lying-offset: 0 tags, IPv4, unread 49152->80; Malformed(Truncated { needed: 60, found: 20 })
ipv4-tcp-lying-option: 0 tags, IPv4, TCP 49152->80
ipv4-tcp-sack: 0 tags, IPv4, TCP 49152->80
ipv4-tcp-short-offset: 0 tags, IPv4, unread 49152->80; Malformed(Length { min: 20, found: 16 })
ipv4-tcp-syn: 0 tags, IPv4, TCP 49152->80
ipv4-truncated: 0 tags, IPv4, unread 49152->80; Malformed(Truncated { needed: 20, found: 6 })
ipv4-udp: 0 tags, IPv4, UDP 5004->5006
ipv6-chain: 0 tags, IPv6, UDP 5004->5006
ipv6-endless-chain: 0 tags, IPv6, unread; Extensions
ipv6-first-fragment: 0 tags, IPv6, UDP 5004->5006
ipv6-icmp-too-big: 0 tags, IPv6, ICMP about 49152->80
ipv6-late-hop-by-hop: 0 tags, IPv6, unread; Extensions
ipv6-later-fragment: 0 tags, IPv6, unread; LaterFragment
ipv6-lying-extension: 0 tags, IPv6, unread; Malformed(Truncated { needed: 2048, found: 21 })
ipv6-tcp: 0 tags, IPv6, TCP 49152->80
qinq-udp: 2 tags, IPv6, UDP 5004->5006
three-tags: 2 tags, no IP, unread; Tags
vlan-udp: 1 tags, IPv4, UDP 5004->5006
";

#[test]
fn the_corpus_holds_the_laws_and_is_read_as_its_names_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/parse");
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let mut found = String::new();
    for path in &names {
        let bytes = fs::read(path).unwrap();
        laws::hold(&bytes);
        let name = path.file_name().unwrap().to_string_lossy();
        found += &format!("{name}: {}\n", summary(&bytes));
    }
    assert_eq!(found, EXPECTED);
}
