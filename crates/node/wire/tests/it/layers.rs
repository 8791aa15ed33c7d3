//! Whole packets, hand-made: what is known, and why no more.

use proptest::prelude::*;
use shortflow_wire::{
    EtherType, EthernetHeader, Fragmentation, IpProtocol, Ipv4Header, Ipv6Header, Layers, Ports,
    Stop, TcpHeader, Transport, UdpHeader, WireError,
};

use crate::laws;
use crate::packets::{frame, mutated_frame};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50_000))]

    #[test]
    fn the_laws_hold_for_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        laws::hold(&bytes);
    }

    #[test]
    fn the_laws_hold_for_any_bytes_that_begin_like_ip(
        mut bytes in prop::collection::vec(any::<u8>(), 14..160),
        is_v6 in any::<bool>(),
    ) {
        let (kind, first) = if is_v6 { ([0x86, 0xdd], 0x60) } else { ([8, 0], 0x45) };
        bytes[12..14].copy_from_slice(&kind);
        if let Some(byte) = bytes.get_mut(14) {
            *byte = first;
        }
        laws::hold(&bytes);
        laws::hold(&bytes[14..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn the_laws_hold_for_packets_and_for_packets_with_mistakes(
        frame in frame(), mutated in mutated_frame(),
    ) {
        laws::hold(&frame);
        laws::hold(&mutated);
    }
}

/// An IPv4 packet of these parts; its length is right.
fn ipv4(header: Ipv4Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    let total_length = (20 + payload.len()) as u16;
    Ipv4Header { total_length, ..header }.emit(&mut bytes).unwrap();
    bytes.extend(payload);
    bytes
}

fn header(protocol: IpProtocol) -> Ipv4Header {
    Ipv4Header { protocol, ..Ipv4Header::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into()) }
}

fn datagram(length: u16) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    let udp = UdpHeader { source_port: 7, destination_port: 9, length, checksum: 0 };
    udp.emit(&mut bytes).unwrap();
    bytes
}

const PORTS: Option<Ports> = Some(Ports { source: 7, destination: 9 });

#[test]
fn a_first_fragment_has_ports_and_a_later_one_has_none() {
    let place = |bits| Ipv4Header {
        fragmentation: Fragmentation(bits),
        identification: 77,
        ..header(IpProtocol::UDP)
    };
    let bytes = ipv4(place(0x2000), &datagram(2000));
    let first = Layers::of_ip(&bytes);
    assert_eq!(first.ports, PORTS);
    assert!(first.fragment.unwrap().has_more);
    let bytes = ipv4(place(1), &datagram(20));
    let later = Layers::of_ip(&bytes);
    assert_eq!((later.ports, later.stop), (None, Some(Stop::LaterFragment)));
    assert_eq!(later.protocol, Some(IpProtocol::UDP));
    let fragment = later.fragment.unwrap();
    assert_eq!((fragment.offset, fragment.identification), (8, 77));
    assert_eq!(later.payload, 20..40);
}

#[test]
fn the_ports_of_a_segment_are_known_even_if_its_header_is_cut_off() {
    let bytes = ipv4(header(IpProtocol::TCP), &datagram(20)[..8]);
    let layers = Layers::of_ip(&bytes);
    assert_eq!((layers.ports, layers.transport), (PORTS, Transport::Unread));
    let cut = WireError::Truncated { needed: TcpHeader::MIN_LENGTH, found: 8 };
    assert_eq!(layers.stop, Some(Stop::Malformed(cut)));
    let bytes = ipv4(header(IpProtocol::TCP), &[0, 7, 0]);
    assert_eq!(Layers::of_ip(&bytes).ports, None);
}

#[test]
fn a_packet_that_should_have_ports_and_ends_before_them_is_malformed() {
    let stop = |protocol, payload: &[u8]| Layers::of_ip(&ipv4(header(protocol), payload)).stop;
    let cut = Some(Stop::Malformed(WireError::Truncated { needed: 4, found: 3 }));
    for protocol in [IpProtocol::SCTP, IpProtocol::DCCP, IpProtocol::UDP_LITE] {
        assert_eq!(stop(protocol, &[0, 7, 0]), cut, "{protocol:?}");
        assert_eq!(stop(protocol, &[0, 7, 0, 9]), Some(Stop::OtherProtocol), "{protocol:?}");
    }
}

#[test]
fn lengths_that_claim_more_than_there_is_are_told_and_those_below_the_header_stop_the_walk() {
    let mut bytes = ipv4(header(IpProtocol::UDP), &datagram(20));
    bytes[3] = 60;
    let layers = Layers::of_ip(&bytes);
    assert_eq!((layers.missing, layers.ports, layers.stop), (20, PORTS, None));
    bytes[3] = 19;
    let layers = Layers::of_ip(&bytes);
    let short = WireError::Length { min: 20, found: 19 };
    assert_eq!((layers.ports, layers.stop), (None, Some(Stop::Malformed(short))));
    assert_eq!(layers.payload, 20..20);
}

#[test]
fn what_a_link_adds_behind_a_packet_is_left_out() {
    let mut frame = vec![0; 14];
    let zero = Default::default();
    let ethernet = EthernetHeader { destination: zero, source: zero, ether_type: EtherType::IPV4 };
    ethernet.emit(&mut frame).unwrap();
    frame.extend(ipv4(header(IpProtocol::UDP), &datagram(20)));
    frame.extend([0xee; 6]);
    let layers = Layers::of_ethernet(&frame);
    assert_eq!((layers.transport_at, layers.payload.clone()), (34, 42..54));
    assert_eq!(layers.missing, 0);
}

#[test]
fn a_datagram_s_own_length_bounds_its_payload_and_one_below_its_header_stops_the_walk() {
    let bytes = ipv4(header(IpProtocol::UDP), &datagram(11));
    assert_eq!(Layers::of_ip(&bytes).payload, 28..31);
    let bytes = ipv4(header(IpProtocol::UDP), &datagram(7));
    let layers = Layers::of_ip(&bytes);
    let short = WireError::Length { min: 8, found: 7 };
    assert_eq!((layers.ports, layers.stop), (PORTS, Some(Stop::Malformed(short))));
}

#[test]
fn an_error_shows_the_packet_that_it_is_about_and_other_messages_show_none() {
    let about = ipv4(header(IpProtocol::UDP), &datagram(500)[..8]);
    for (kind, is_error) in [(3, true), (11, true), (8, false)] {
        let message = [&[kind, 0, 0, 0, 0, 0, 0, 0], &about[..]].concat();
        let bytes = ipv4(header(IpProtocol::ICMP), &message);
        let layers = Layers::of_ip(&bytes);
        let inner = layers.inner_of_error(&bytes);
        assert_eq!(inner.is_some(), is_error, "kind {kind}");
        if let Some(inner) = inner {
            assert_eq!((inner.ip_at, inner.ports), (28, PORTS));
            assert_eq!(inner.inner_of_error(&bytes), None);
        }
    }
}

#[test]
fn protocols_without_a_known_header_keep_their_number_and_their_ports_if_they_have_some() {
    let bytes = ipv4(header(IpProtocol::SCTP), &datagram(20));
    let layers = Layers::of_ip(&bytes);
    assert_eq!((layers.ports, layers.stop), (PORTS, Some(Stop::OtherProtocol)));
    let bytes = ipv4(header(IpProtocol(99)), &datagram(20));
    let layers = Layers::of_ip(&bytes);
    assert_eq!((layers.protocol, layers.ports), (Some(IpProtocol(99)), None));
}

#[test]
fn behind_extension_headers_the_last_protocol_counts() {
    let addresses = ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
    let payload = [
        &[60, 0, 0, 0, 0, 0, 0, 0][..], // hop-by-hop options
        &[44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // destination options of 16 bytes
        &[17, 0, 0, 1, 0, 0, 0, 5],     // the first of several fragments
        &datagram(20),
    ]
    .concat();
    let mut bytes = vec![0; 40];
    let (next, payload_length) = (IpProtocol::HOP_BY_HOP, payload.len() as u16);
    let ip = Ipv6Header { next, payload_length, ..Ipv6Header::between(addresses.0, addresses.1) };
    ip.emit(&mut bytes).unwrap();
    bytes.extend(payload);
    let layers = Layers::of_ip(&bytes);
    assert_eq!((layers.protocol, layers.ports), (Some(IpProtocol::UDP), PORTS));
    assert_eq!(layers.transport_at, 40 + 8 + 16 + 8);
    assert_eq!(layers.fragment.map(|fragment| fragment.identification), Some(5));
    // The same fragment further on, and the same as the only one.
    for (place, ports, is_fragment) in [(8, None, true), (0, PORTS, false)] {
        bytes[40 + 8 + 16 + 3] = place;
        let layers = Layers::of_ip(&bytes);
        assert_eq!((layers.ports, layers.fragment.is_some()), (ports, is_fragment));
    }
}

#[test]
fn frames_of_other_kinds_and_with_more_tags_are_named() {
    let frame = |kinds: &[u16]| {
        let mut frame = vec![0; 12];
        kinds.iter().for_each(|kind| frame.extend([&kind.to_be_bytes()[..], &[0, 1]].concat()));
        Layers::of_ethernet(&frame).stop
    };
    assert_eq!(frame(&[0x0806]), Some(Stop::NotIp(EtherType(0x0806))));
    assert_eq!(frame(&[0x8100, 0x8864]), Some(Stop::NotIp(EtherType(0x8864))));
    assert_eq!(frame(&[0x88a8, 0x8100, 0x8100, 0x0800]), Some(Stop::Tags));
}
