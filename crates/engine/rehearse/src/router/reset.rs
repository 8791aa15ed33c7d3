//! Resets of connections (RFC 9293 §3.10.7).

use std::net::IpAddr;

use shortflow_wire::{
    ControlBits, IpProtocol, Ipv4Header, Ipv6Header, Layers, TcpHeader, TcpOptions, Transport,
};

/// The packet by which the peer would reset the connection of this segment; `None` if it is not a segment.
pub(super) fn reset_of(segment: &[u8]) -> Option<Vec<u8>> {
    let layers = Layers::of_ip(segment);
    let (Some(ip), Transport::Tcp(sent)) = (layers.ip, &layers.transport) else { return None };
    let (source, destination) = (ip.destination(), ip.source());
    let header = TcpHeader {
        source_port: sent.destination_port,
        destination_port: sent.source_port,
        // Only the number that is expected next resets a connection (RFC 5961 §3.2).
        sequence: sent.acknowledgement,
        acknowledgement: sent.sequence,
        control: ControlBits::new(ControlBits::RST.bits() | ControlBits::ACK.bits()),
        window: 0,
        checksum: 0,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let header = header.with_checksum(source, destination, &[], 0);
    let length = header.length();
    let mut bytes = vec![0; Ipv6Header::LENGTH + length];
    let at = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let total_length = (Ipv4Header::MIN_LENGTH + length) as u16;
            let protocol = IpProtocol::TCP;
            let ip =
                Ipv4Header { total_length, protocol, ..Ipv4Header::between(source, destination) };
            ip.with_checksum().emit(&mut bytes).ok()?
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let (payload_length, next) = (length as u16, IpProtocol::TCP);
            let ip =
                Ipv6Header { payload_length, next, ..Ipv6Header::between(source, destination) };
            ip.emit(&mut bytes).ok()?
        }
        _ => return None,
    };
    header.emit(&mut bytes[at..]).ok()?;
    bytes.truncate(at + length);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use shortflow_wire::Ip;

    use super::*;

    /// A segment of 4 bytes from port 80 of 10.0.0.1, with sequence 1000 and acknowledgement 2000.
    fn segment() -> Vec<u8> {
        let ip = [0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let tcp = [0, 80, 0x0f, 0xa0, 0, 0, 3, 0xe8, 0, 0, 7, 0xd0, 0x50, 0x18, 1, 0, 0, 0, 0, 0];
        [&ip[..], &tcp, &[1, 2, 3, 4]].concat()
    }

    #[test]
    fn a_reset_comes_from_the_peer_with_the_number_that_the_sender_expects() {
        let reset = reset_of(&segment()).unwrap();
        let layers = Layers::of_ip(&reset);
        let Some(Ip::V4(ip)) = layers.ip else { panic!("{layers:?}") };
        let Transport::Tcp(tcp) = &layers.transport else { panic!("{layers:?}") };
        assert_eq!((ip.source.octets(), ip.destination.octets()), ([10, 0, 0, 2], [10, 0, 0, 1]));
        assert!(ip.is_checksum_right() && reset.len() == 40 && layers.missing == 0);
        assert_eq!((tcp.source_port, tcp.destination_port), (4000, 80));
        assert_eq!((tcp.sequence, tcp.control.bits()), (2000, 0x014));
        let checked = tcp.with_checksum(ip.source.into(), ip.destination.into(), &[], 0);
        assert_eq!(tcp.checksum, checked.checksum);
    }

    #[test]
    fn a_datagram_has_no_connection_to_reset() {
        let mut datagram = segment();
        datagram[9] = 17;
        assert_eq!(reset_of(&datagram), None);
    }
}
