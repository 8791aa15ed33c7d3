//! Random headers and packets.

use proptest::array::{uniform4, uniform6, uniform16};
use proptest::collection::vec;
use proptest::prelude::*;
use shortflow_wire::{
    AuthenticationHeader, ControlBits, DsField, EtherType, EthernetHeader, Extension, FlowLabel,
    FragmentHeader, Fragmentation, IcmpHeader, IpProtocol, Ipv4Header, Ipv6Header, MacAddress,
    OpaqueExtension, OptionBytes, SackBlock, SackList, TcpHeader, TcpOption, TcpOptions, UdpHeader,
    VlanTag,
};

prop_compose! {
    pub(crate) fn ethernet()(d in uniform6(any::<u8>()), s in uniform6(any::<u8>()), kind in any::<u16>())
        -> EthernetHeader {
        EthernetHeader {
            destination: MacAddress(d),
            source: MacAddress(s),
            ether_type: EtherType(kind),
        }
    }
}

prop_compose! {
    pub(crate) fn tag()(control in any::<u16>(), kind in any::<u16>()) -> VlanTag {
        VlanTag { control, ether_type: EtherType(kind) }
    }
}

prop_compose! {
    pub(crate) fn ipv4()(
        numbers in uniform4(any::<u16>()),
        bytes in uniform4(any::<u8>()),
        source in uniform4(any::<u8>()),
        destination in uniform4(any::<u8>()),
        options in vec(any::<u8>(), 0..=40),
    ) -> Ipv4Header {
        Ipv4Header {
            ds: DsField(bytes[0]),
            total_length: numbers[0],
            identification: numbers[1],
            fragmentation: Fragmentation(numbers[2]),
            time_to_live: bytes[1],
            protocol: IpProtocol(bytes[2]),
            checksum: numbers[3],
            source: source.into(),
            destination: destination.into(),
            options: OptionBytes::new(&options).unwrap(),
        }
    }
}

prop_compose! {
    pub(crate) fn ipv6()(
        bytes in uniform4(any::<u8>()),
        label in any::<u32>(),
        payload_length in any::<u16>(),
        source in uniform16(any::<u8>()),
        destination in uniform16(any::<u8>()),
    ) -> Ipv6Header {
        Ipv6Header {
            ds: DsField(bytes[0]),
            flow_label: FlowLabel::new(label),
            payload_length,
            next: IpProtocol(bytes[1]),
            hop_limit: bytes[2],
            source: source.into(),
            destination: destination.into(),
        }
    }
}

fn sack() -> impl Strategy<Value = TcpOption<'static>> {
    vec((any::<u32>(), any::<u32>()), 1..=4).prop_map(|blocks| {
        let blocks: Vec<_> = blocks.into_iter().map(|(from, to)| SackBlock { from, to }).collect();
        TcpOption::Sack(SackList::new(&blocks).unwrap())
    })
}

/// Options, of which those that no longer fit into a header are left out.
pub(crate) fn tcp_option() -> impl Strategy<Value = TcpOption<'static>> {
    prop_oneof![
        Just(TcpOption::NoOperation),
        any::<u16>().prop_map(TcpOption::MaximumSegmentSize),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        sack(),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOption::Timestamps { value, echo }),
        (9_u8.., 0_usize..12).prop_map(|(kind, length)| {
            TcpOption::Unknown { kind, content: &b"some content"[..length] }
        }),
    ]
}

prop_compose! {
    pub(crate) fn tcp()(
        numbers in uniform6(any::<u16>()),
        sequence in any::<u32>(),
        acknowledgement in any::<u32>(),
        list in vec(tcp_option(), 0..6),
    ) -> TcpHeader {
        let mut options = TcpOptions::NONE;
        for option in list {
            let _ = options.push(option);
        }
        options.fill(0);
        TcpHeader {
            source_port: numbers[0],
            destination_port: numbers[1],
            sequence,
            acknowledgement,
            control: ControlBits::new(numbers[2]),
            window: numbers[3],
            checksum: numbers[4],
            urgent: numbers[5],
            options,
        }
    }
}

prop_compose! {
    pub(crate) fn udp()(numbers in uniform4(any::<u16>())) -> UdpHeader {
        let [source_port, destination_port, length, checksum] = numbers;
        UdpHeader { source_port, destination_port, length, checksum }
    }
}

prop_compose! {
    pub(crate) fn icmp()(kind in any::<u8>(), code in any::<u8>(), checksum in any::<u16>(),
        rest in uniform4(any::<u8>())) -> IcmpHeader {
        IcmpHeader { kind, code, checksum, rest }
    }
}

/// An extension header, with its kind, on content that lives on.
pub(crate) fn extension() -> impl Strategy<Value = (IpProtocol, Extension<'static>)> {
    static CONTENT: [u8; 2046] = [7; 2046];
    let next = any::<u8>().prop_map(IpProtocol);
    let opaque = (0_usize..256, 0_usize..6, next.clone()).prop_map(|(units, kind, next)| {
        let kinds = [0, 43, 60, 135, 139, 140].map(IpProtocol);
        let content = &CONTENT[..6 + 8 * units];
        (kinds[kind], Extension::Opaque(OpaqueExtension { next, content }))
    });
    let fragment = (next.clone(), any::<u8>(), any::<u16>(), any::<u32>()).prop_map(
        |(next, reserved, place, identification)| {
            let header = FragmentHeader { next, reserved, place, identification };
            (IpProtocol::FRAGMENT, Extension::Fragment(header))
        },
    );
    let authentication = (next, any::<u16>(), any::<(u32, u32)>(), 0_usize..=254).prop_map(
        |(next, reserved, (security_parameters, sequence), words)| {
            let check = &CONTENT[..4 * words];
            let header =
                AuthenticationHeader { next, reserved, security_parameters, sequence, check };
            (IpProtocol::AUTHENTICATION, Extension::Authentication(header))
        },
    );
    prop_oneof![opaque, fragment, authentication]
}

/// A whole valid frame: up to two tags, IP of either version with extension headers, fragments among
/// them, then TCP, UDP, ICMP or something else, with a payload.
pub(crate) fn frame() -> impl Strategy<Value = Vec<u8>> {
    let shape = (0_usize..=2, any::<bool>(), vec(extension(), 0..3), 0_usize..5, any::<bool>());
    (shape, ethernet(), ipv4(), ipv6(), tcp(), udp(), icmp(), vec(any::<u8>(), 0..64)).prop_map(
        |((tags, is_v6, extensions, carried, is_whole), ethernet, v4, v6, tcp, udp, icmp, data)| {
            let (protocol, transport) = transport(carried, is_v6, tcp, udp, icmp, &data);
            let ip = if is_v6 {
                over_ipv6(v6, &extensions, protocol, &transport)
            } else {
                over_ipv4(v4, is_whole, protocol, &transport)
            };
            let kind = if is_v6 { EtherType::IPV6 } else { EtherType::IPV4 };
            framed(ethernet, tags, kind, &ip)
        },
    )
}

fn emitted<E: std::fmt::Debug>(emit: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Vec<u8> {
    let mut out = vec![0; 4096];
    let length = emit(&mut out).unwrap();
    out.truncate(length);
    out
}

fn transport(
    carried: usize,
    is_v6: bool,
    tcp: TcpHeader,
    udp: UdpHeader,
    icmp: IcmpHeader,
    data: &[u8],
) -> (IpProtocol, Vec<u8>) {
    let (protocol, header) = match carried {
        0 => (IpProtocol::TCP, emitted(|out| tcp.emit(out))),
        1 => {
            let length = (UdpHeader::LENGTH + data.len()) as u16;
            (IpProtocol::UDP, emitted(|out| UdpHeader { length, ..udp }.emit(out)))
        }
        2 => {
            let protocol = if is_v6 { IpProtocol::ICMPV6 } else { IpProtocol::ICMP };
            (protocol, emitted(|out| icmp.emit(out)))
        }
        3 => (IpProtocol::SCTP, Vec::new()),
        _ => (IpProtocol::ESP, Vec::new()),
    };
    (protocol, [&header, data].concat())
}

fn over_ipv4(header: Ipv4Header, is_whole: bool, protocol: IpProtocol, data: &[u8]) -> Vec<u8> {
    let fragmentation = if is_whole { Fragmentation(0) } else { header.fragmentation };
    let total_length = (header.length() + data.len()) as u16;
    let header = Ipv4Header { fragmentation, total_length, protocol, ..header }.with_checksum();
    [emitted(|out| header.emit(out)), data.to_vec()].concat()
}

fn over_ipv6(
    header: Ipv6Header,
    extensions: &[(IpProtocol, Extension<'static>)],
    protocol: IpProtocol,
    data: &[u8],
) -> Vec<u8> {
    let kinds: Vec<IpProtocol> =
        extensions.iter().map(|(kind, _)| *kind).chain([protocol]).collect();
    let mut payload = Vec::new();
    for ((_, extension), next) in extensions.iter().zip(&kinds[1..]) {
        let next = *next;
        let extension = match *extension {
            Extension::Opaque(it) => Extension::Opaque(OpaqueExtension { next, ..it }),
            Extension::Fragment(it) => Extension::Fragment(FragmentHeader { next, ..it }),
            Extension::Authentication(it) => {
                Extension::Authentication(AuthenticationHeader { next, ..it })
            }
        };
        payload.extend(emitted(|out| extension.emit(out)));
    }
    payload.extend(data);
    let payload_length = payload.len() as u16;
    let header = Ipv6Header { next: kinds[0], payload_length, ..header };
    [emitted(|out| header.emit(out)), payload].concat()
}

fn framed(ethernet: EthernetHeader, tags: usize, kind: EtherType, ip: &[u8]) -> Vec<u8> {
    let outer = [kind, EtherType::VLAN, EtherType::PROVIDER_VLAN];
    let ethernet = EthernetHeader { ether_type: outer[tags], ..ethernet };
    let mut frame = emitted(|out| ethernet.emit(out));
    for left in (0..tags).rev() {
        let tag = VlanTag::new(left as u8, 100, outer[left]);
        frame.extend(emitted(|out| tag.emit(out)));
    }
    frame.extend(ip);
    frame
}

/// A frame of which a few bytes were changed, or the end was cut off.
pub(crate) fn mutated_frame() -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (frame(), changes, prop::option::of(any::<prop::sample::Index>())).prop_map(
        |(mut frame, changes, cut)| {
            for (at, byte) in changes {
                // Most changes go where the headers are.
                let at = at.index(frame.len().min(80));
                frame[at] = byte;
            }
            if let Some(cut) = cut {
                frame.truncate(cut.index(frame.len()));
            }
            frame
        },
    )
}
