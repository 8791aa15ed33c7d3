//! Captures as machines on real lines make them: packets that an interface is still to cut, in tags, sessions and tunnels.

use proptest::prelude::*;
use shortflow_advise::{Flows, Inside, Why, read_capture};

const CONNECTIONS: u8 = 20;
/// What each connection fetches: in three pieces.
const REPLY: usize = 90_000;
const PIECE: usize = 30_000;

/// A packet of IP on its way, and when.
struct Sent {
    at_ms: u32,
    bytes: Vec<u8>,
}

fn tcp(ports: [u16; 2], sequence: u32, flags: u8, payload: usize) -> Vec<u8> {
    let mut bytes = ports.map(u16::to_be_bytes).concat();
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0x50, flags, 255, 255, 0, 0, 0, 0]);
    bytes.resize(20 + payload, 0xaa);
    bytes
}

fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    [&ports.map(u16::to_be_bytes).concat(), &length.to_be_bytes()[..], &[0, 0], payload].concat()
}

fn v4(protocol: u8, [src, dst]: [u8; 2], body: &[u8]) -> Vec<u8> {
    let length = (20 + body.len()) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, src, 10, 0, 0, dst]);
    [bytes, body.to_vec()].concat()
}

fn v6(next: u8, [src, dst]: [u8; 2], body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend(u16::try_from(body.len()).unwrap_or(0).to_be_bytes());
    bytes.extend([next, 64]);
    for last in [src, dst] {
        bytes.extend([&[0xfd; 15][..], &[last]].concat());
    }
    [bytes, body.to_vec()].concat()
}

/// Connections that fetch, by what makes a packet of IP of a segment between two hosts.
fn connections(ip: impl Fn([u8; 2], Vec<u8>) -> Vec<u8>) -> Vec<Sent> {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let (user, site) = (1, 2);
    let mut all = Vec::new();
    for number in 0..CONNECTIONS {
        let port = 40_000 + u16::from(number);
        let mut send = |at: u32, hosts, ports, sequence, flags, payload| {
            let at_ms = 1000 * u32::from(number) + at;
            all.push(Sent { at_ms, bytes: ip(hosts, tcp(ports, sequence, flags, payload)) });
        };
        let (out, back) = ([port, 443], [443, port]);
        send(0, [user, site], out, 100, SYN, 0);
        send(20, [site, user], back, 500, SYN | ACK, 0);
        send(21, [user, site], out, 101, ACK, 300);
        for piece in 0..REPLY / PIECE {
            let sequence = 501 + (piece * PIECE) as u32;
            send(40 + piece as u32, [site, user], back, sequence, ACK, PIECE);
        }
    }
    all
}

fn over_v4() -> Vec<Sent> {
    connections(|hosts, segment| v4(6, hosts, &segment))
}

/// A capture in pcap, of which each frame keeps so many bytes.
fn pcap(link: u8, snap: usize, frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    file.extend([link, 0, 0, 0]);
    for (at_ms, frame) in frames {
        let kept = frame.len().min(snap);
        for number in [at_ms / 1000, at_ms % 1000 * 1000, kept as u32, frame.len() as u32] {
            file.extend(number.to_le_bytes());
        }
        file.extend(&frame[..kept]);
    }
    file
}

fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    [&[2; 12], &kind.to_be_bytes()[..], body].concat()
}

fn read(link: u8, frames: &[(u32, Vec<u8>)]) -> Flows {
    read_capture("test.pcap", &pcap(link, 128, frames)[..])
        .unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// The flows of packets that are put into frames by `frame`; all of them come in, each in full.
#[track_caller]
fn fetched(link: u8, packets: Vec<Sent>, frame: impl Fn(&[u8]) -> Vec<u8>) -> Flows {
    let frames: Vec<(u32, Vec<u8>)> =
        packets.iter().map(|sent| (sent.at_ms, frame(&sent.bytes))).collect();
    let flows = read(link, &frames);
    assert_eq!(flows.down.sizes, [REPLY as u64; CONNECTIONS as usize], "{}", flows.about());
    assert!(flows.up.sizes.is_empty());
    let reading = flows.reading.as_ref().unwrap();
    assert_eq!((reading.packets, reading.skipped.len()), (frames.len() as u64, 0), "{reading:?}");
    flows
}

const ETHERNET: u8 = 1;

#[test]
fn a_length_of_0_is_that_of_the_frame() {
    fetched(ETHERNET, over_v4(), |packet| {
        let mut packet = packet.to_vec();
        packet[2..4].fill(0);
        ethernet(0x0800, &packet)
    });
    // As IPv6 has it from Linux 6.0 on, and before with the jumbo option in hop-by-hop options.
    let over_v6 = || connections(|hosts, segment| v6(6, hosts, &segment));
    fetched(ETHERNET, over_v6(), |packet| {
        let mut packet = packet.to_vec();
        packet[4..6].fill(0);
        ethernet(0x86dd, &packet)
    });
    fetched(ETHERNET, over_v6(), |packet| {
        let length = (packet.len() as u32 - 40 + 8).to_be_bytes();
        let options = [&[6, 0, 0xc2, 4][..], &length].concat();
        let mut packet = [&packet[..40], &options, &packet[40..]].concat();
        packet[4..6].fill(0);
        packet[6] = 0;
        // What follows the packet in its frame is not part of it.
        ethernet(0x86dd, &[&packet[..], &[0; 4]].concat())
    });
}

/// Takes packets out of one kind of encapsulation.
#[track_caller]
fn inside(what: Inside, frame: impl Fn(&[u8]) -> Vec<u8>) {
    let flows = fetched(ETHERNET, over_v4(), frame);
    let reading = flows.reading.unwrap();
    assert_eq!(reading.inside.get(&what), Some(&reading.packets));
    assert!(reading.describe().contains(what.name()), "{}", reading.describe());
}

#[test]
fn packets_are_taken_out_of_tags_sessions_labels_and_tunnels() {
    inside(Inside::Vlan, |packet| {
        ethernet(0x88a8, &[&[0, 7, 0x81, 0, 0, 9, 8, 0], packet].concat())
    });
    inside(Inside::Pppoe, |packet| {
        let length = (packet.len() as u16 + 2).to_be_bytes();
        ethernet(0x8864, &[&[0x11, 0, 0, 1], &length[..], &[0, 0x21], packet].concat())
    });
    inside(Inside::Mpls, |packet| {
        ethernet(0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64], packet].concat())
    });
    // A pseudowire: a control word, then a frame of its own.
    inside(Inside::Mpls, |packet| {
        let wire = ethernet(0x0800, packet);
        ethernet(0x8847, &[&[0, 2, 1, 64, 0, 0, 0, 0], &wire[..]].concat())
    });
    let tunnelled = |protocol, body: &[u8]| ethernet(0x0800, &v4(protocol, [8, 9], body));
    inside(Inside::IpInIp, |packet| tunnelled(4, packet));
    // With a checksum, a key and a sequence number.
    inside(Inside::Gre, |packet| {
        tunnelled(47, &[&[0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], packet].concat())
    });
    inside(Inside::Vxlan, |packet| {
        let body = [&[8, 0, 0, 0, 0, 0, 5, 0], &ethernet(0x0800, packet)[..]].concat();
        tunnelled(17, &udp([50_000, 4789], &body))
    });
    inside(Inside::Geneve, |packet| {
        let body =
            [&[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 4], &ethernet(0x0800, packet)[..]].concat();
        tunnelled(17, &udp([50_000, 6081], &body))
    });
}

#[test]
fn other_kinds_of_links_are_read() {
    // RAW, Linux's "any" device, NULL, PPP.
    fetched(101, over_v4(), <[u8]>::to_vec);
    fetched(113, over_v4(), |packet| [&[0; 14], &[8, 0][..], packet].concat());
    fetched(0, over_v4(), |packet| [&[2, 0, 0, 0], packet].concat());
    fetched(9, over_v4(), |packet| [&[0xff, 3, 0, 0x21], packet].concat());
}

#[test]
fn a_tunnel_of_wireguard_is_a_flow() {
    let mut frames = Vec::new();
    for tunnel in 0..CONNECTIONS {
        let mut send = |at, hosts, message: &[u8]| {
            let ports = if hosts == [1, 2] {
                [51_000 + u16::from(tunnel), 51_820]
            } else {
                [51_820, 51_000 + u16::from(tunnel)]
            };
            let packet = v4(17, hosts, &udp(ports, message));
            frames.push((1000 * u32::from(tunnel) + at, ethernet(0x0800, &packet)));
        };
        let message = |kind: u8, length: usize| {
            let mut bytes = vec![kind, 0, 0, 0];
            bytes.resize(length, 7);
            bytes
        };
        send(0, [1, 2], &message(1, 148));
        send(20, [2, 1], &message(2, 92));
        send(40, [1, 2], &message(4, 96));
        send(60, [2, 1], &message(4, 1424));
        // Not one of its lengths.
        send(80, [2, 1], &message(4, 1425));
    }
    let flows = read(ETHERNET, &frames);
    assert_eq!(flows.down.sizes, [92 + 1424; CONNECTIONS as usize]);
    let skipped = &flows.reading.as_ref().unwrap().skipped;
    assert_eq!(skipped.iter().collect::<Vec<_>>(), [(&Why::OtherUdp, &CONNECTIONS.into())]);
}

#[test]
fn every_packet_that_is_skipped_is_counted_by_its_cause() {
    let mut frames: Vec<(u32, Vec<u8>)> =
        over_v4().iter().map(|sent| (sent.at_ms, ethernet(0x0800, &sent.bytes))).collect();
    let all = frames.len() as u64;
    let begun = v4(6, [3, 4], &tcp([5, 6], 9, 16, 10));
    let mut later = v4(17, [3, 4], &[0; 30]);
    later[6..8].copy_from_slice(&[0, 9]);
    let odd = [
        ethernet(0x0806, &[0; 28]),
        ethernet(0x88cc, &[0; 40]),
        ethernet(0x8863, &[0x11, 9, 0, 0, 0, 0]),
        ethernet(0x8864, &[0x11, 0, 0, 1, 0, 4, 0xc0, 0x21, 1, 1]),
        ethernet(0x0800, &v4(1, [3, 4], &[8, 0, 0, 0, 0, 0, 0, 0])),
        ethernet(0x0800, &v4(50, [3, 4], &[0; 40])),
        ethernet(0x0800, &v4(17, [3, 4], &udp([53, 5353], &[1; 20]))),
        ethernet(0x0800, &begun),
        ethernet(0x0800, &later),
        ethernet(0x0800, &[0x45, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ethernet(0x8100, &[0, 1, 0x81, 0].repeat(20)),
    ];
    frames.extend(odd.into_iter().map(|frame| (9, frame)));
    let reading = read(ETHERNET, &frames).reading.unwrap();
    assert_eq!(reading.packets, all + 11);
    assert_eq!(
        reading.describe(),
        "131 packets, 120 belong to flows; skipped: 1 ARP, 1 EtherType 0x88cc (not IP), 2 PPP \
            control, 1 malformed headers, 1 too many encapsulations, 1 later fragment, 1 ICMP, 1 \
            ESP (encrypted), 1 UDP (not QUIC or WireGuard), 1 TCP (started before the capture); 20 flows had not \
         ended and count with the bytes seen"
    );
}

#[test]
fn packets_without_ends_do_not_turn_directions_round() {
    // Users fetch 90 KB, of which the pieces have a length of 0: without these, requests would be larger than replies.
    let flows = fetched(ETHERNET, over_v4(), |packet| {
        let mut packet = packet.to_vec();
        if packet.len() > 1500 {
            packet[2..4].fill(0);
        }
        ethernet(0x0800, &packet)
    });
    assert!(flows.up.sizes.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_damaged_capture_is_read_or_refused_and_nothing_else(
        kind in 0usize..8,
        snap in 0usize..200,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let frame = |packet: &[u8]| match kind {
            0 => ethernet(0x0800, packet),
            1 => ethernet(0x8864, &[&[0x11, 0, 0, 1, 0, 99, 0, 0x21], packet].concat()),
            2 => ethernet(0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64], packet].concat()),
            3 => ethernet(0x0800, &v4(47, [8, 9], &[&[0xb0, 0, 8, 0, 0, 0, 0, 0], packet].concat())),
            4 => ethernet(0x0800, &v4(17, [8, 9], &udp([1, 4789], &[&[8, 0, 0, 0, 0, 0, 5, 0], &ethernet(0x0800, packet)[..]].concat()))),
            5 => ethernet(0x86dd, &[&v6(0, [1, 2], &[])[..], &[6, 0, 0xc2, 4, 0, 1, 0, 0], &packet[20..]].concat()),
            6 => ethernet(0x0800, &v4(17, [8, 9], &udp([1, 6081], &[&[63, 0, 0x65, 0x58, 0, 0, 5, 0], packet].concat()))),
            _ => ethernet(0x88a8, &[&[0, 7, 0x81, 0, 0, 9, 8, 0], packet].concat()),
        };
        let frames: Vec<(u32, Vec<u8>)> =
            over_v4().iter().take(40).map(|sent| (sent.at_ms, frame(&sent.bytes))).collect();
        let mut file = pcap(ETHERNET, snap, &frames);
        // The header of the file stays: whoever damages that has no capture.
        for (at, by) in damage {
            let at = 24 + at.index(file.len() - 24);
            file[at] = by;
        }
        file.truncate(cut.map_or(file.len(), |cut| cut.index(file.len() + 1)));
        if let Ok(flows) = read_capture("damaged.pcap", &file[..]) {
            let reading = flows.reading.unwrap();
            prop_assert!(reading.skipped.values().sum::<u64>() <= reading.packets);
        }
    }
}
