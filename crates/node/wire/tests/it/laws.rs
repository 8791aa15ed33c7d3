//! What holds for any bytes. Also the body of the fuzz target, which includes this file.

use shortflow_wire::checksum::Sum;
use shortflow_wire::{
    DsField, Extensions, Ip, Ipv4Header, Ipv6Header, Layers, OptionBytes, Stop, TcpOption,
    TcpOptions, Transport,
};

/// Panics if a law does not hold for these bytes, taken as a frame and as an IP packet.
pub(crate) fn hold(bytes: &[u8]) {
    for layers in [Layers::of_ethernet(bytes), Layers::of_ip(bytes)] {
        of_layers(bytes, &layers);
        if let Some(inner) = layers.inner_of_error(bytes) {
            of_layers(bytes, &inner);
            assert!(inner.ip_at >= layers.payload.start, "the inner packet is inside");
            assert!(inner.payload.end <= layers.payload.end);
        }
    }
}

fn of_layers(bytes: &[u8], layers: &Layers) {
    places_lie_inside(bytes, layers);
    what_is_absent_is_explained(layers);
    headers_emit_the_bytes_that_they_were_read_from(bytes, layers);
    rewriting_the_ds_field_changes_it_and_its_checksum_only(bytes, layers);
}

fn places_lie_inside(bytes: &[u8], layers: &Layers) {
    assert!(layers.ip_at <= layers.transport_at && layers.transport_at <= layers.payload.start);
    assert!(layers.payload.start <= layers.payload.end && layers.payload.end <= bytes.len());
}

fn what_is_absent_is_explained(layers: &Layers) {
    let is_unread = layers.transport == Transport::Unread;
    assert!(!is_unread || layers.stop.is_some(), "something must have stopped the walk");
    let is_later = layers.fragment.is_some_and(|fragment| fragment.offset > 0);
    assert_eq!(is_later, layers.stop == Some(Stop::LaterFragment));
    assert!(!is_later || layers.ports.is_none() && is_unread, "a later fragment has no ports");
    assert!(layers.ip.is_some() || layers.protocol.is_none() && layers.ds_place().is_none());
    match (layers.transport, layers.ports) {
        (Transport::Tcp(tcp), Some(ports)) => {
            assert_eq!((tcp.source_port, tcp.destination_port), (ports.source, ports.destination));
        }
        (Transport::Udp(udp), Some(ports)) => {
            assert_eq!((udp.source_port, udp.destination_port), (ports.source, ports.destination));
        }
        (Transport::Tcp(_) | Transport::Udp(_), None) => panic!("a header without ports"),
        (Transport::Icmp(_), ports) => assert_eq!(ports, None),
        (Transport::Unread, _) => {}
    }
}

fn headers_emit_the_bytes_that_they_were_read_from(bytes: &[u8], layers: &Layers) {
    let mut out = [0; 2048];
    let same = |at: usize, length: Result<usize, _>, out: &[u8]| {
        let length: usize = length.expect("a header that was read can be written");
        assert_eq!(&out[..length], &bytes[at..at + length]);
        at + length
    };
    if let Some(ethernet) = layers.ethernet {
        let mut at = same(0, ethernet.emit(&mut out), &out);
        for tag in layers.tags.iter() {
            at = same(at, tag.emit(&mut out), &out);
        }
    }
    let Some(ip) = layers.ip else { return };
    let (mut at, first) = match ip {
        Ip::V4(header) => (same(layers.ip_at, header.emit(&mut out), &out), header.protocol),
        Ip::V6(header) => (same(layers.ip_at, header.emit(&mut out), &out), header.next),
    };
    for extension in Extensions::new(first, &bytes[at..layers.transport_at.max(at)]).flatten() {
        at = same(at, extension.emit(&mut out), &out);
    }
    match layers.transport {
        Transport::Tcp(header) => {
            same(layers.transport_at, header.emit(&mut out), &out);
            options_are_what_their_parts_make(&header.options);
        }
        Transport::Udp(header) => drop(same(layers.transport_at, header.emit(&mut out), &out)),
        Transport::Icmp(header) => drop(same(layers.transport_at, header.emit(&mut out), &out)),
        Transport::Unread => {}
    }
}

fn options_are_what_their_parts_make(options: &TcpOptions) {
    let mut again = TcpOptions::NONE;
    let mut length = 0;
    for option in options.iter() {
        let Ok(option) = option else { break };
        again.push(option).expect("what was in a header fits into one");
        length += match option {
            TcpOption::NoOperation => 1,
            TcpOption::MaximumSegmentSize(_) => 4,
            TcpOption::WindowScale(_) => 3,
            TcpOption::SackPermitted => 2,
            TcpOption::Sack(list) => 2 + 8 * list.as_slice().len(),
            TcpOption::Timestamps { .. } => 10,
            TcpOption::Unknown { content, .. } => 2 + content.len(),
        };
    }
    assert!(length <= OptionBytes::MAX_LENGTH);
    assert_eq!(again.filled().as_slice()[..length], options.filled().as_slice()[..length]);
}

fn rewriting_the_ds_field_changes_it_and_its_checksum_only(bytes: &[u8], layers: &Layers) {
    let Some(place) = layers.ds_place() else { return };
    let mut copy = bytes.to_vec();
    let other = DsField(!place.ds.0);
    let written = place.write(&mut copy, other).expect("the header is there");
    let header = &copy[layers.ip_at..];
    match layers.ip.expect("it has a DS field") {
        Ip::V4(before) => {
            let after = Ipv4Header::parse(header).expect("it is still a header");
            let expected = Ipv4Header { ds: other, checksum: after.checksum, ..before };
            assert_eq!(after, expected);
            assert_eq!(after.is_checksum_right(), before.is_checksum_right());
        }
        Ip::V6(before) => {
            let after = Ipv6Header::parse(header).expect("it is still a header");
            assert_eq!(after, Ipv6Header { ds: other, ..before });
        }
    }
    let header_end =
        layers.ip_at + layers.ip.map_or(0, |ip| if let Ip::V4(_) = ip { 12 } else { 2 });
    assert_eq!(copy[header_end..], bytes[header_end..]);
    assert_eq!(copy[..layers.ip_at], bytes[..layers.ip_at]);
    written.write(&mut copy, place.ds).expect("the header is there");
    // Back again, the sum is what it was; zero has two forms, and a wrong checksum may change them.
    let sum = |bytes: &[u8]| Sum::default().with(bytes).checksum() % 0xffff;
    assert_eq!(sum(&copy[layers.ip_at..]), sum(&bytes[layers.ip_at..]));
}
