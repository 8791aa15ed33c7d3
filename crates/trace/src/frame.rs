//! A packet as the bytes of its headers on an Ethernet.

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader,
};
use shortflow_elements::{Address, Packet, Protocol, TcpFlags};
use shortflow_run::Sight;
use shortflow_scenario::NodeId;
use shortflow_tcp::{Config, Recovery};

/// Puts the headers of the packet that is seen in place of `bytes`, and gives the length of the
/// whole frame. `identification` is that of the IP header. A packet that is longer than an IPv4
/// packet can be says that it is as long as can be.
pub(crate) fn headers(bytes: &mut Vec<u8>, sight: &Sight<'_>, identification: u16) -> u32 {
    let packet = sight.packet;
    let source = ipv4_bytes(packet.key.src);
    let destination = ipv4_bytes(packet.key.dst);
    let payload = &ZEROS[..usize::from(packet.payload)];
    let ethernet = Ethernet2Header {
        source: hardware_address(sight.from),
        destination: hardware_address(sight.to),
        ether_type: EtherType::IPV4,
    };
    bytes.clear();
    bytes.extend_from_slice(&ethernet.to_bytes());
    match packet.key.protocol {
        Protocol::TCP => {
            let mut tcp = tcp_header(packet, sight.tcp);
            let checksum = tcp.calc_checksum_ipv4_raw(source, destination, payload);
            tcp.checksum = checksum.unwrap_or_default();
            let ip = ip_header(
                packet,
                identification,
                IpNumber::TCP,
                tcp.header_len(),
                [source, destination],
            );
            bytes.extend_from_slice(&ip.to_bytes());
            bytes.extend_from_slice(&tcp.to_bytes());
        }
        Protocol::UDP => {
            let (from, to) = (packet.key.src_port, packet.key.dst_port);
            let length = (UdpHeader::LEN + payload.len()).min(usize::from(u16::MAX)) as u16;
            let mut udp =
                UdpHeader { source_port: from, destination_port: to, length, checksum: 0 };
            let checksum = udp.calc_checksum_ipv4_raw(source, destination, payload);
            udp.checksum = checksum.unwrap_or_default();
            let ip = ip_header(
                packet,
                identification,
                IpNumber::UDP,
                UdpHeader::LEN,
                [source, destination],
            );
            bytes.extend_from_slice(&ip.to_bytes());
            bytes.extend_from_slice(&udp.to_bytes());
        }
        other => unreachable!("a simulated host sends TCP and UDP, not protocol {}", other.0),
    }
    (bytes.len() + payload.len()) as u32
}

/// The address of a simulated host, which is one of IPv4.
fn ipv4_bytes(address: Address) -> [u8; 4] {
    address.as_v4().expect("a simulated host has an IPv4 address").to_be_bytes()
}

/// A locally administered address: 02:00 and the number of the node, from 1 as in its IP address.
fn hardware_address(node: NodeId) -> [u8; 6] {
    let [a, b, c, d] = (node.0 + 1).to_be_bytes();
    [0x02, 0, a, b, c, d]
}

fn ip_header(
    packet: &Packet,
    identification: u16,
    protocol: IpNumber,
    transport: usize,
    [source, destination]: [[u8; 4]; 2],
) -> Ipv4Header {
    let length = Ipv4Header::MIN_LEN + transport + usize::from(packet.payload);
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(packet.dscp.value()).expect("a code point has 6 bits"),
        ecn: IpEcn::try_new(packet.ecn as u8).expect("the ECN field has 2 bits"),
        total_len: length.min(usize::from(u16::MAX)) as u16,
        identification,
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol,
        source,
        destination,
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

fn tcp_header(packet: &Packet, config: Option<&Config>) -> TcpHeader {
    let tcp = &packet.tcp;
    let has = |flag| tcp.flags.has(flag);
    // The scale follows from the settings; once the connection is gone, from the window itself,
    // which never shrinks.
    let scale = window_scale(config.map_or(tcp.window.into(), |config| config.receive_window.0));
    let window = if has(TcpFlags::SYN) { tcp.window } else { tcp.window >> scale };
    let mut header = TcpHeader {
        source_port: packet.key.src_port,
        destination_port: packet.key.dst_port,
        sequence_number: tcp.seq,
        acknowledgment_number: tcp.ack,
        fin: has(TcpFlags::FIN),
        syn: has(TcpFlags::SYN),
        rst: has(TcpFlags::RST),
        psh: has(TcpFlags::PSH),
        ack: has(TcpFlags::ACK),
        ece: has(TcpFlags::ECE),
        cwr: has(TcpFlags::CWR),
        window_size: window.min(u32::from(u16::MAX)) as u16,
        ..TcpHeader::default()
    };
    let options = options(packet, config, scale);
    header.set_options_raw(options.as_slice()).expect("options have at most 40 bytes");
    header
}

/// The options of a segment, filled up to the header length that the simulation counts.
///
/// The simulation counts the same headers on every segment. Options that do not fit in are written
/// all the same; where it counts more, as for timestamps, the list ends early (RFC 9293 §3.2).
fn options(packet: &Packet, config: Option<&Config>, scale: u8) -> Options {
    let mut options = Options { bytes: [0; 40], length: 0 };
    if packet.tcp.flags.has(TcpFlags::SYN)
        && let Some(config) = config
    {
        // RFC 6691: the size without any options.
        let size = config.mss.saturating_add(config.header.saturating_sub(LEAST_HEADERS));
        options.put(&[2, 4]);
        options.put(&size.to_be_bytes());
        if config.recovery == Recovery::Sack {
            options.put(&[4, 2]);
        }
        if scale > 0 {
            options.put(&[3, 3, scale]);
        }
    }
    let blocks = packet.tcp.sack.as_slice();
    if !blocks.is_empty() {
        // Two that say nothing first, so that the blocks stand at multiples of 4 bytes.
        options.put(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (from, to) in blocks {
            options.put(&from.to_be_bytes());
            options.put(&to.to_be_bytes());
        }
    }
    let counted = packet.size.saturating_sub(u32::from(packet.payload) + u32::from(LEAST_HEADERS));
    options.fill(counted as usize);
    options
}

/// The least shift by which `window` fits into 16 bits (RFC 7323 §2.3).
fn window_scale(window: u64) -> u8 {
    (0..MOST_SCALE).find(|shift| window >> shift <= u64::from(u16::MAX)).unwrap_or(MOST_SCALE)
}

/// Bytes of TCP options. What is not set is zero: the end of the list.
#[derive(Debug)]
struct Options {
    bytes: [u8; 40],
    length: usize,
}

impl Options {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Makes the list at least `length` bytes long, as far as a header can be.
    fn fill(&mut self, length: usize) {
        let length = (length / 4 * 4).min(self.bytes.len());
        self.length = self.length.next_multiple_of(4).max(length);
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// IPv4 and TCP headers without options.
const LEAST_HEADERS: u16 = 40;

const TIME_TO_LIVE: u8 = 64;

/// RFC 7323 §2.3.
const MOST_SCALE: u8 = 14;

/// The payload of a simulated packet.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];
