//! Encodes a packet with real bytes as an Ethernet frame.

use shortflow_run::Sight;
use shortflow_wire::{DsField, EtherType, EthernetHeader, Layers};

use crate::frame::ethernet;

/// Writes the frame of the packet in `sight` into `frame`: its `bytes`, with the current code point and ECN
/// field.
pub(crate) fn write(frame: &mut Vec<u8>, sight: &Sight<'_>, bytes: &[u8]) {
    let is_v6 = bytes.first().is_some_and(|first| first >> 4 == 6);
    let ether_type = if is_v6 { EtherType::IPV6 } else { EtherType::IPV4 };
    frame.clear();
    frame.resize(EthernetHeader::LENGTH, 0);
    ethernet(sight, ether_type).emit(frame).expect("there is room for the header");
    frame.extend_from_slice(bytes);
    let ip = &mut frame[EthernetHeader::LENGTH..];
    if let Some(place) = Layers::of_ip(ip).ds_place() {
        place.write(ip, DsField::from(sight.packet)).expect("the field is where it was read");
    }
}

#[cfg(test)]
mod tests {
    use shortflow_packet::{Dscp, Ecn, Packet};
    use shortflow_run::Event;
    use shortflow_scenario::NodeId;
    use shortflow_tcp::TcpHeader;
    use shortflow_units::Instant;
    use shortflow_wire::Ipv4Header;

    use super::*;

    /// An empty datagram from 10.0.0.1 to 10.0.0.2, and over IPv6 from fd00::a00:1 to fd00::a00:2.
    const OVER_V4: [u8; 28] = [
        0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0x66, 0xcf, 10, 0, 0, 1, 10, 0, 0, 2, 0, 5, 0, 6, 0, 8,
        0, 0,
    ];
    const OVER_V6: [u8; 48] = [
        0x60, 0, 0, 0, 0, 8, 17, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 1, 0xfd, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 2, 0, 5, 0, 6, 0, 8, 0, 0,
    ];

    fn frame_of(bytes: &[u8]) -> Vec<u8> {
        let packet = Packet { dscp: Dscp::AF11, ecn: Ecn::Ce, ..Packet::default() };
        let sight = Sight {
            now: Instant::START,
            from: NodeId(0),
            to: NodeId(1),
            event: Event::Sent,
            packet: &packet,
            bytes: Some(bytes),
            sent_at: Instant::START,
            header: &TcpHeader::default(),
            tcp: None,
        };
        let mut frame = vec![9; 3];
        write(&mut frame, &sight, bytes);
        frame
    }

    #[test]
    fn a_frame_has_the_packet_s_bytes_with_the_code_point_that_it_has_by_now() {
        let frame = frame_of(&OVER_V4);
        assert_eq!(frame[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!((frame[15], &frame[26..]), (10 << 2 | 3, &OVER_V4[12..]));
        assert!(Ipv4Header::parse(&OVER_V4).unwrap().is_checksum_right());
        assert!(Ipv4Header::parse(&frame[14..]).unwrap().is_checksum_right());
    }

    #[test]
    fn a_packet_of_ipv6_says_so_on_the_ethernet_too() {
        let frame = frame_of(&OVER_V6);
        assert_eq!(frame[12..16], [0x86, 0xdd, 0x62, 0xb0]);
        assert_eq!(frame[18..], OVER_V6[4..]);
    }
}
