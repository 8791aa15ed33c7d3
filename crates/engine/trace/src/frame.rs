//! Encodes the headers of a simulated packet as an Ethernet frame.

use std::net::IpAddr;

use shortflow_packet::{Protocol, TcpFlags};
use shortflow_run::Sight;
use shortflow_scenario::{IpVersion, NodeId};
use shortflow_wire::{
    ControlBits, DsField, EtherType, EthernetHeader, FlowLabel, Fragmentation, IpProtocol,
    Ipv4Header, Ipv6Header, MacAddress, SackBlock, SackList, TcpHeader, TcpOption, TcpOptions,
    UdpHeader, WireError,
};

use crate::identification::{flow_number, identification};

/// The headers of a packet, and the length of its frame.
#[derive(Debug)]
pub(crate) struct Headers {
    bytes: [u8; Headers::MAX_LENGTH],
    length: usize,
    /// Length of the whole frame in bytes, with the payload.
    pub(crate) frame_length: u32,
}

impl Headers {
    /// The longest headers: Ethernet, IPv6, and TCP with all options.
    const MAX_LENGTH: usize = EthernetHeader::LENGTH + Ipv6Header::LENGTH + 60;

    /// The headers of the packet in `sight`. A packet that is longer than an IP packet can be gets the
    /// maximum length.
    pub(crate) fn new(sight: &Sight<'_>) -> Headers {
        let mut bytes = [0; Self::MAX_LENGTH];
        let length = emit(&mut bytes, sight).expect("the array is as long as all headers");
        let frame_length = length as u32 + u32::from(sight.packet.payload);
        Headers { bytes, length, frame_length }
    }

    /// The bytes of the headers.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Writes the headers one after the other, and returns their length.
fn emit(out: &mut [u8], sight: &Sight<'_>) -> Result<usize, WireError> {
    let packet = sight.packet;
    let ends = [packet.key.src, packet.key.dst].map(IpAddr::from);
    let [source, destination] = ends;
    let ether_type = if source.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
    let ip_at = ethernet(sight, ether_type).emit(out)?;
    let at = ip_at + IpVersion::from_address(packet.key.src).header() as usize;
    let payload = u32::from(packet.payload);
    // The payload of simulated packets is zeros.
    let (protocol, length) = match packet.key.protocol {
        Protocol::TCP => {
            let tcp = tcp_header(sight);
            let tcp = tcp.with_checksum(source, destination, &[], payload);
            (IpProtocol::TCP, tcp.emit(&mut out[at..])?)
        }
        Protocol::UDP => {
            let udp = UdpHeader {
                source_port: packet.key.src_port,
                destination_port: packet.key.dst_port,
                length: within_16_bits(UdpHeader::LENGTH as u32 + payload),
                checksum: 0,
            };
            let udp = udp.with_checksum(source, destination, &[]);
            (IpProtocol::UDP, udp.emit(&mut out[at..])?)
        }
        other => unreachable!("a simulated host sends TCP and UDP, not protocol {}", other.0),
    };
    ip(&mut out[ip_at..], sight, ends, protocol, length as u32 + payload)?;
    Ok(at + length)
}

/// Writes the IP header for this number of bytes.
fn ip(
    out: &mut [u8],
    sight: &Sight<'_>,
    ends: [IpAddr; 2],
    protocol: IpProtocol,
    length: u32,
) -> Result<(), WireError> {
    let ds = DsField::new(sight.packet.dscp.value(), sight.packet.ecn as u8);
    match ends {
        [IpAddr::V4(source), IpAddr::V4(destination)] => Ipv4Header {
            ds,
            total_length: within_16_bits(Ipv4Header::MIN_LENGTH as u32 + length),
            identification: identification(sight),
            fragmentation: Fragmentation::DONT_FRAGMENT,
            protocol,
            ..Ipv4Header::between(source, destination)
        }
        .with_checksum()
        .emit(out),
        // A label for each flow (RFC 6437 §3).
        [IpAddr::V6(source), IpAddr::V6(destination)] => Ipv6Header {
            ds,
            flow_label: FlowLabel::new(flow_number(&sight.packet.key)),
            payload_length: within_16_bits(length),
            next: protocol,
            ..Ipv6Header::between(source, destination)
        }
        .emit(out),
        _ => unreachable!("the two ends of a packet speak the same version of IP"),
    }
    .map(|_| ())
}

fn within_16_bits(length: u32) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// The Ethernet header for the link on which a packet is seen.
pub(crate) fn ethernet(sight: &Sight<'_>, ether_type: EtherType) -> EthernetHeader {
    EthernetHeader {
        source: hardware_address(sight.from),
        destination: hardware_address(sight.to),
        ether_type,
    }
}

/// A locally administered address: 02:00 and the number of the node, from 1, as in its IP address.
fn hardware_address(node: NodeId) -> MacAddress {
    let [a, b, c, d] = (node.0 + 1).to_be_bytes();
    MacAddress([0x02, 0, a, b, c, d])
}

fn tcp_header(sight: &Sight<'_>) -> TcpHeader {
    let Sight { packet, header: tcp, tcp: config, .. } = *sight;
    // The scale follows from the settings. If the connection is closed, it follows from the window itself,
    // which never shrinks.
    let scale = window_scale(config.map_or(tcp.window.into(), |config| config.receive_window.0));
    let is_syn = tcp.flags.has(TcpFlags::SYN);
    let window = if is_syn { tcp.window } else { tcp.window >> scale };
    TcpHeader {
        source_port: packet.key.src_port,
        destination_port: packet.key.dst_port,
        sequence: tcp.seq,
        acknowledgement: tcp.ack,
        control: ControlBits::new(tcp.flags.0.into()),
        window: within_16_bits(window),
        checksum: 0,
        urgent: 0,
        options: options(sight, scale).expect("options have at most 40 bytes"),
    }
}

/// The options of a segment, padded to the header length that the simulation counts.
///
/// The simulation counts the same header length for every segment. Options that do not fit are written
/// anyway. If the simulation counts more, for example for timestamps, the list ends early (RFC 9293 §3.2).
fn options(sight: &Sight<'_>, scale: u8) -> Result<TcpOptions, WireError> {
    let Sight { packet, header: tcp, tcp: config, .. } = *sight;
    let mut options = TcpOptions::NONE;
    let min_headers = MIN_TCP + IpVersion::from_address(packet.key.src).header() as u16;
    if tcp.flags.has(TcpFlags::SYN)
        && let Some(config) = config
    {
        // RFC 6691: the size without options.
        let size = config.mss.saturating_add(config.header.saturating_sub(min_headers));
        options.push(TcpOption::MaximumSegmentSize(size))?;
        if config.recovery.has_sack() {
            options.push(TcpOption::SackPermitted)?;
        }
        if scale > 0 {
            options.push(TcpOption::WindowScale(scale))?;
        }
    }
    let mut blocks = [SackBlock::default(); SackList::MAX_COUNT];
    let held = tcp.sack.as_slice();
    for (block, (from, to)) in blocks.iter_mut().zip(held) {
        *block = SackBlock { from: *from, to: *to };
    }
    if let Some(list) = blocks.get(..held.len()).and_then(SackList::new) {
        // Two NOPs first, so that the blocks start at multiples of 4 bytes.
        options.push(TcpOption::NoOperation)?;
        options.push(TcpOption::NoOperation)?;
        options.push(TcpOption::Sack(list))?;
    }
    let counted = packet.size.saturating_sub(u32::from(packet.payload) + u32::from(min_headers));
    options.fill(counted as usize / 4 * 4);
    Ok(options)
}

/// The smallest shift with which `window` fits into 16 bits (RFC 7323 §2.3).
fn window_scale(window: u64) -> u8 {
    (0..MAX_SCALE).find(|shift| window >> shift <= u64::from(u16::MAX)).unwrap_or(MAX_SCALE)
}

/// Bytes of the TCP header without options.
const MIN_TCP: u16 = 20;

/// RFC 7323 §2.3.
const MAX_SCALE: u8 = 14;
