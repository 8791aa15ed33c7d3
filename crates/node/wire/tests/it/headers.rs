//! Each header, written and read again.

use proptest::prelude::*;
use shortflow_wire::checksum::Sum;
use shortflow_wire::{
    DsField, EthernetHeader, Extension, IcmpHeader, IpProtocol, Ipv4Header, Ipv6Header, Layers,
    TcpHeader, TcpOption, TcpOptions, UdpHeader, VlanTag, WireError,
};

use crate::packets::{ethernet, extension, icmp, ipv4, ipv6, tag, tcp, tcp_option, udp};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_header_reads_back_as_it_was_written(
        ethernet in ethernet(),
        tag in tag(),
        v4 in ipv4(),
        v6 in ipv6(),
        tcp in tcp(),
        udp in udp(),
        icmp in icmp(),
        (kind, extension) in extension(),
    ) {
        let mut out = [0xaa; 4096];
        prop_assert_eq!(ethernet.emit(&mut out), Ok(14));
        prop_assert_eq!(EthernetHeader::parse(&out), Ok(ethernet));
        prop_assert_eq!(tag.emit(&mut out), Ok(4));
        prop_assert_eq!(VlanTag::parse(&out), Ok(tag));
        prop_assert_eq!(v4.emit(&mut out), Ok(v4.length()));
        prop_assert_eq!(Ipv4Header::parse(&out), Ok(v4));
        prop_assert_eq!(v6.emit(&mut out), Ok(40));
        prop_assert_eq!(Ipv6Header::parse(&out), Ok(v6));
        prop_assert_eq!(tcp.emit(&mut out), Ok(tcp.length()));
        prop_assert_eq!(TcpHeader::parse(&out), Ok(tcp));
        prop_assert_eq!(udp.emit(&mut out), Ok(8));
        prop_assert_eq!(UdpHeader::parse(&out), Ok(udp));
        prop_assert_eq!(icmp.emit(&mut out), Ok(8));
        prop_assert_eq!(IcmpHeader::parse(&out), Ok(icmp));
        prop_assert_eq!(extension.emit(&mut out), Ok(extension.length()));
        prop_assert_eq!(Extension::parse(kind, &out), Some(Ok(extension)));
    }

    #[test]
    fn options_read_back_as_they_were_pushed(list in prop::collection::vec(tcp_option(), 0..6)) {
        let mut options = TcpOptions::NONE;
        let kept: Vec<TcpOption> =
            list.into_iter().filter(|option| options.push(*option).is_ok()).collect();
        let read: Vec<TcpOption> = options.iter().map(Result::unwrap).collect();
        prop_assert_eq!(read, kept);
    }

    #[test]
    fn a_header_is_written_whole_or_not_at_all(v4 in ipv4(), tcp in tcp(), room in 0_usize..60) {
        let mut out = [0xaa; 60];
        for needed in [v4.length(), tcp.length()] {
            let is_v4 = needed == v4.length();
            let out = &mut out[..room];
            let written = if is_v4 { v4.emit(out) } else { tcp.emit(out) };
            if room < needed {
                prop_assert_eq!(written, Err(WireError::NoRoom { needed, room }));
                prop_assert!(out.iter().all(|byte| *byte == 0xaa));
            } else {
                prop_assert_eq!(written, Ok(needed));
                out.fill(0xaa);
            }
        }
    }

    #[test]
    fn a_checksum_updated_in_place_is_the_one_computed_anew(v4 in ipv4(), ds in any::<u8>()) {
        let v4 = Ipv4Header { total_length: v4.length() as u16, ..v4 }.with_checksum();
        let mut bytes = [0; 60];
        let length = v4.emit(&mut bytes).unwrap();
        let layers = Layers::of_ip(&bytes[..length]);
        let place = layers.ds_place().unwrap().write(&mut bytes, DsField(ds)).unwrap();
        prop_assert_eq!(place.ds, DsField(ds));
        let expected = Ipv4Header { ds: DsField(ds), ..v4 }.with_checksum();
        prop_assert_eq!(Ipv4Header::parse(&bytes), Ok(expected));
    }

    #[test]
    fn the_checksum_of_a_segment_makes_the_sum_over_it_vanish(
        tcp in tcp(), udp in udp(), v4 in ipv4(), v6 in ipv6(),
        payload in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let length = payload.len();
        let udp = UdpHeader { length: (8 + length) as u16, ..udp };
        let addresses = [
            (v4.source.into(), v4.destination.into()),
            (v6.source.into(), v6.destination.into()),
        ];
        for (from, to) in addresses {
            let mut out = [0; 60];
            let tcp = tcp.with_checksum(from, to, &payload, length as u32);
            let header = tcp.emit(&mut out).unwrap();
            let sum = Sum::pseudo_header(from, to, IpProtocol::TCP, (header + length) as u32);
            prop_assert_eq!(sum.with(&out[..header]).with(&payload).checksum(), 0);
            let udp = udp.with_checksum(from, to, &payload);
            let header = udp.emit(&mut out).unwrap();
            let sum = Sum::pseudo_header(from, to, IpProtocol::UDP, (header + length) as u32);
            prop_assert_eq!(sum.with(&out[..header]).with(&payload).checksum(), 0);
            prop_assert!(udp.checksum != 0, "0 would mean that there is none");
        }
    }
}

#[test]
fn payloads_that_are_not_given_count_as_zeros() {
    let addresses = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let udp = UdpHeader { source_port: 1, destination_port: 2, length: 108, checksum: 0 };
    let (from, to) = addresses;
    assert_eq!(udp.with_checksum(from, to, &[]), udp.with_checksum(from, to, &[0; 100]));
}
