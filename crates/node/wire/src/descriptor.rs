//! Conversions between a parsed packet and the descriptor of elements, and back for DSCP and ECN.

use core::net::IpAddr;

use shortflow_packet::{Address, Dscp, Ecn, FlowKey, FrameId, Packet, Protocol, TcpFlags};

use crate::{DsField, Ip, IpProtocol, Layers, Ports, Transport};

impl Layers {
    /// The descriptor of a packet. Its bytes are stored as `frame`, if given.
    /// `None` if there is no IP header.
    ///
    /// The size is that of the whole IP packet, from its header. Ports are 0 if the packet has none or they
    /// are unknown.
    pub fn descriptor(&self, frame: Option<FrameId>) -> Option<Packet> {
        let ip = self.ip.as_ref()?;
        let key = self.flow_key(ip)?;
        let payload = self.payload.len() + self.missing;
        Some(Packet {
            size: ip.packet_length() as u32,
            payload: u16::try_from(payload).unwrap_or(u16::MAX),
            dscp: Dscp::new(ip.ds().dscp()).expect("six bits are a code point"),
            ecn: ecn(ip.ds()),
            bytes: frame,
            flags: self.tcp_flags(),
            key,
        })
    }

    fn flow_key(&self, ip: &Ip) -> Option<FlowKey> {
        let (src, dst) = (address(ip.source()), address(ip.destination()));
        let IpProtocol(protocol) = self.protocol?;
        let none = Ports { source: 0, destination: 0 };
        let Ports { source: src_port, destination: dst_port } = self.ports.unwrap_or(none);
        Some(FlowKey { src, dst, src_port, dst_port, protocol: Protocol(protocol) })
    }

    fn tcp_flags(&self) -> TcpFlags {
        match &self.transport {
            // The eight control bits of RFC 9293 and RFC 3168.
            Transport::Tcp(header) => TcpFlags(header.control.bits() as u8),
            _ => TcpFlags::default(),
        }
    }
}

impl From<&Packet> for DsField {
    /// The decision of the elements, for [`DsPlace::write`](crate::DsPlace::write).
    fn from(packet: &Packet) -> Self {
        DsField::new(packet.dscp.value(), packet.ecn as u8)
    }
}

fn address(address: IpAddr) -> Address {
    match address {
        IpAddr::V4(address) => Address::v4(address.to_bits()),
        IpAddr::V6(address) => Address::v6(address.to_bits()),
    }
}

fn ecn(ds: DsField) -> Ecn {
    match ds.ecn() {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ControlBits, Fragmentation, Ipv4Header, Ipv6Header, TcpHeader, TcpOptions, UdpHeader,
    };

    fn segment() -> TcpHeader {
        TcpHeader {
            source_port: 49152,
            destination_port: 80,
            sequence: 7,
            acknowledgement: 9,
            control: ControlBits::ACK | ControlBits::ECE,
            window: 512,
            checksum: 0,
            urgent: 0,
            options: TcpOptions::NONE,
        }
    }

    /// An IPv4 packet of 45 bytes with a segment, with this DS field and this place of a fragment.
    fn ipv4(ds: DsField, fragmentation: Fragmentation) -> [u8; 45] {
        let header = Ipv4Header {
            ds,
            fragmentation,
            total_length: 45,
            protocol: IpProtocol::TCP,
            ..Ipv4Header::between([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
        };
        let mut bytes = [0; 45];
        let at = header.with_checksum().emit(&mut bytes).unwrap();
        segment().emit(&mut bytes[at..]).unwrap();
        bytes
    }

    #[test]
    fn a_segment_s_descriptor_has_its_addresses_ports_code_point_and_control_bits() {
        let bytes = ipv4(DsField::new(46, 2), Fragmentation(0));
        let packet = Layers::of_ip(&bytes).descriptor(None).unwrap();
        let expected = FlowKey {
            src: "10.0.0.1".parse().unwrap(),
            dst: "10.0.0.2".parse().unwrap(),
            src_port: 49152,
            dst_port: 80,
            protocol: Protocol::TCP,
        };
        assert_eq!(packet.key, expected);
        assert_eq!((packet.size, packet.payload), (45, 5));
        assert_eq!((packet.dscp, packet.ecn), (Dscp::EF, Ecn::Ect0));
        assert_eq!(packet.flags, TcpFlags::ACK.with(TcpFlags::ECE));
    }

    #[test]
    fn an_ipv6_datagram_keeps_its_addresses_and_a_later_fragment_has_no_ports() {
        let (source, destination) = ("fd00::1", "fd00::2");
        let header = Ipv6Header {
            payload_length: 8,
            next: IpProtocol::UDP,
            ..Ipv6Header::between(source.parse().unwrap(), destination.parse().unwrap())
        };
        let mut bytes = [0; 48];
        let at = header.emit(&mut bytes).unwrap();
        let udp = UdpHeader { source_port: 5, destination_port: 6, length: 8, checksum: 0 };
        udp.emit(&mut bytes[at..]).unwrap();
        let key = Layers::of_ip(&bytes).descriptor(None).unwrap().key;
        assert_eq!((key.src, key.dst), (source.parse().unwrap(), destination.parse().unwrap()));
        assert_eq!((key.src_port, key.dst_port, key.protocol), (5, 6, Protocol::UDP));
        let bytes = ipv4(DsField(0), Fragmentation(10));
        let key = Layers::of_ip(&bytes).descriptor(None).unwrap().key;
        assert_eq!(key, FlowKey::without_ports(key.src, key.dst, Protocol::TCP));
    }

    #[test]
    fn what_the_elements_decide_is_written_back() {
        let mut bytes = ipv4(DsField::new(0, 2), Fragmentation(0));
        let layers = Layers::of_ip(&bytes);
        let mut packet = layers.descriptor(None).unwrap();
        packet.dscp = Dscp::AF11;
        packet.ecn = Ecn::Ce;
        layers.ds_place().unwrap().write(&mut bytes, DsField::from(&packet)).unwrap();
        let after = Layers::of_ip(&bytes).descriptor(None).unwrap();
        assert_eq!((after.dscp, after.ecn), (Dscp::AF11, Ecn::Ce));
        assert!(Ipv4Header::parse(&bytes).unwrap().is_checksum_right());
    }

    #[test]
    fn bytes_without_an_ip_header_have_no_descriptor() {
        assert_eq!(Layers::of_ip(&[0x45, 0, 0]).descriptor(None), None);
        let short = ipv4(DsField(0), Fragmentation(0));
        let mut lying = short;
        lying[3] = 19;
        assert_eq!(Layers::of_ip(&lying).descriptor(None), None, "shorter than its header");
    }
}
