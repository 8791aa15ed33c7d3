//! Beside `etherparse`, which nobody here wrote: on packets and on packets with mistakes, both must
//! read the same.
//!
//! Where they differ, and why:
//!
//! - Reserved bits: `etherparse` forgets the one beside IPv4's "don't fragment" and three of TCP's.
//! - A first fragment: `etherparse` reads no header above IP in any fragment; here that of the first
//!   is read, since it has ports by which it belongs to a flow.
//! - A version of IP that is not that of the EtherType: `etherparse` goes by the version.
//! - IP lengths below the header (and IPv6's 0, a jumbogram): `etherparse` takes all bytes that are
//!   there for the packet, here the walk stops.
//! - UDP lengths: `etherparse` takes 0 for a jumbogram, and reads the header of a datagram that
//!   claims less than its header, as is done here; the payload is not compared.
//! - Extension headers: `etherparse` keeps one of each kind and stops at the second, or where they
//!   come in another order than RFC 8200 recommends; receivers must take any order (§4.1), so here
//!   up to eight of any kind are read.
//! - ICMP: kinds whose header is longer than 8 bytes are truncated there when only 8 are present.
//! - MACsec is a link extension there, and a frame of another kind here.

use etherparse::{
    LaxPacketHeaders, LaxPayloadSlice, LinkExtHeader, LinkHeader, NetHeaders, TransportHeader,
};
use proptest::prelude::*;
use shortflow_wire::{
    ControlBits, Extension, Ip, IpProtocol, Layers, Stop, TcpHeader, Transport, UdpHeader, VlanTag,
    WireError,
};

use crate::packets::{frame, mutated_frame};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn etherparse_reads_the_same_in_packets(frame in frame()) {
        agree(&frame);
    }

    #[test]
    fn etherparse_reads_the_same_in_packets_with_mistakes(frame in mutated_frame()) {
        agree(&frame);
    }
}

fn agree(frame: &[u8]) {
    let ours = Layers::of_ethernet(frame);
    let Ok(theirs) = LaxPacketHeaders::from_ethernet(frame) else {
        assert_eq!(ours.ethernet, None);
        return;
    };
    let Some(LinkHeader::Ethernet2(link)) = &theirs.link else { panic!("no Ethernet header") };
    let mut out = [0; 14];
    ours.ethernet.unwrap().emit(&mut out).unwrap();
    assert_eq!(out, link.to_bytes());
    agree_on_tags(&ours, &theirs);
    let is_jumbogram = matches!(&ours.ip, Some(Ip::V6(header)) if header.payload_length == 0);
    let has_stopped_early = is_jumbogram
        || matches!(ours.stop, Some(Stop::Malformed(WireError::Length { .. }) | Stop::Tags));
    match (&ours.ip, &theirs.net) {
        (Some(Ip::V4(ours)), Some(NetHeaders::Ipv4(header, _))) => {
            let mut out = [0; 60];
            let length = ours.emit(&mut out).unwrap();
            out[6] &= 0x7f;
            assert_eq!(out[..length], header.to_bytes()[..]);
            if ours.fragmentation.0 & 0x8000 == 0 {
                assert_eq!(
                    ours.is_checksum_right(),
                    header.calc_header_checksum() == ours.checksum
                );
            }
        }
        (Some(Ip::V6(ours)), Some(NetHeaders::Ipv6(header, _))) => {
            let mut out = [0; 40];
            ours.emit(&mut out).unwrap();
            assert_eq!(out, header.to_bytes());
        }
        (None, None | Some(NetHeaders::Arp(_))) => {}
        (None, Some(_)) => {
            let is_other_version =
                matches!(ours.stop, Some(Stop::Malformed(WireError::Version { .. })));
            assert!(is_other_version, "only etherparse sees IP: {ours:?}");
            return;
        }
        (Some(_), _) => panic!("only we see IP: {theirs:?}"),
    }
    if !has_stopped_early {
        agree_on_transport(&ours, &theirs);
    }
}

fn agree_on_tags(ours: &Layers, theirs: &LaxPacketHeaders<'_>) {
    if ours.stop == Some(Stop::Tags) {
        return;
    }
    let tag = |it: &LinkExtHeader| match it {
        LinkExtHeader::Vlan(it) => Some(VlanTag::parse(&it.to_bytes()).unwrap()),
        LinkExtHeader::Macsec(_) => None,
    };
    let theirs: Vec<VlanTag> = theirs.link_exts.iter().map_while(tag).collect();
    assert_eq!(ours.tags.iter().copied().collect::<Vec<_>>(), theirs);
}

fn agree_on_transport(ours: &Layers, theirs: &LaxPacketHeaders<'_>) {
    match (&ours.transport, &theirs.transport) {
        (Transport::Tcp(ours), Some(TransportHeader::Tcp(theirs))) => {
            let control = ControlBits::new(ours.control.bits() & 0x1ff);
            let ours = TcpHeader { control, ..*ours };
            assert_eq!(Ok(ours), TcpHeader::parse(&theirs.to_bytes()));
        }
        (Transport::Udp(ours), Some(TransportHeader::Udp(theirs))) => {
            assert_eq!(Ok(*ours), UdpHeader::parse(&theirs.to_bytes()));
        }
        (Transport::Icmp(ours), Some(TransportHeader::Icmpv4(theirs))) => {
            let bytes = theirs.to_bytes();
            assert_eq!([ours.kind, ours.code], bytes[..2]);
        }
        (Transport::Icmp(ours), Some(TransportHeader::Icmpv6(theirs))) => {
            let bytes = theirs.to_bytes();
            assert_eq!([ours.kind, ours.code], bytes[..2]);
        }
        (Transport::Unread, None) => {}
        (Transport::Unread, Some(TransportHeader::Igmp(_))) => {
            assert_eq!(ours.stop, Some(Stop::OtherProtocol));
        }
        (Transport::Unread, Some(header)) => panic!("only etherparse sees {header:?}: {ours:?}"),
        (header, None) => {
            let is_first_fragment = ours.fragment.is_some();
            let is_icmp = matches!(header, Transport::Icmp(_));
            // It stands before an extension header.
            let is_left = matches!(&theirs.payload, LaxPayloadSlice::Ip(payload)
                if Extension::is_kind(IpProtocol(payload.ip_number.0)));
            let has_ended = is_icmp && theirs.stop_err.is_some() || is_left;
            assert!(is_first_fragment || has_ended, "{ours:?} {theirs:?}");
        }
        (ours, theirs) => panic!("{ours:?} is not {theirs:?}"),
    }
}
