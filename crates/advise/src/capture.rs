//! Packets out of a capture, pcap or pcapng.

use std::io::Read;
use std::net::SocketAddr;

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use shortflow_wire::{ControlBits, Layers, TcpHeader, Transport};

use crate::connections::Connections;
use crate::flows::Flows;

/// A packet of a transport protocol, as far as flows are told by it.
pub(crate) struct Packet {
    /// Seconds since any instant.
    pub(crate) at: f64,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// Where it was captured.
    pub(crate) interface: u32,
    /// Bytes that it carries, whether or not they were captured.
    pub(crate) payload: u64,
    /// Its place in a connection of TCP; none of UDP.
    pub(crate) tcp: Option<Segment>,
}

/// The place of a segment in its connection.
pub(crate) struct Segment {
    /// Whether it opens the connection: SYN without ACK.
    pub(crate) opens: bool,
    /// The place of its first byte of data.
    pub(crate) sequence: u32,
}

/// The most that a block of a capture may have.
const MOST_BLOCK: usize = 16 << 20;

const HOW: &str =
    "give a file of tcpdump, Wireshark or `shortflow simulate --trace`, pcap or pcapng";

/// Reads flows out of a capture: whoever opens a connection is a user, and the direction that carries more is what the
/// connection is for. Flows are connections of TCP that are opened in the capture, and those of QUIC (UDP, port 443).
///
/// # Errors
/// What is wrong with the capture, and what is allowed; also that it shows too few flows.
pub fn read_capture(name: &str, source: impl Read + Send) -> Result<Flows, String> {
    let wrong = |what: String| format!("{name}: {what}\n{HOW}");
    let mut reader = create_reader(1 << 16, source).map_err(|error| match error {
        PcapError::Eof => wrong("it is empty".to_owned()),
        PcapError::ReadError => wrong("it cannot be read".to_owned()),
        _ => wrong("it is no packet capture".to_owned()),
    })?;
    let (mut connections, mut links, mut is_cut) =
        (Connections::default(), Links::default(), false);
    loop {
        let is_all_read = reader.reader_exhausted();
        match reader.next() {
            Ok((length, block)) => {
                if let Some(packet) = links.packet(&block) {
                    connections.take(&packet).map_err(wrong)?;
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_) | PcapError::UnexpectedEof) if is_all_read => {
                is_cut = true;
                break;
            }
            Err(PcapError::Incomplete(_)) => {
                reader.refill().map_err(|_| wrong("it cannot be read".to_owned()))?;
            }
            Err(PcapError::BufferTooSmall) => {
                let is_grown = reader.grow(MOST_BLOCK);
                if !is_grown {
                    return Err(wrong(format!("a block has more than {MOST_BLOCK} bytes")));
                }
            }
            Err(_) => return Err(wrong("a block of it is malformed".to_owned())),
        }
    }
    let mut notes = connections.notes();
    notes.extend(links.unread.map(|link| format!("packets of link type {} are left out", link.0)));
    notes.extend(is_cut.then(|| "the file ends within a packet".to_owned()));
    let from = match notes.is_empty() {
        true => name.to_owned(),
        false => format!("{name} ({})", notes.join("; ")),
    };
    Flows::of(&from, connections.flows())
}

/// What is in front of IP at each interface, and how time is told there.
#[derive(Default)]
struct Links {
    interfaces: Vec<Interface>,
    /// A kind of link of which nothing is read.
    unread: Option<Linktype>,
}

struct Interface {
    link: Linktype,
    /// Units of time in a second; none where that is not known.
    per_second: Option<u64>,
    offset: i64,
}

impl Links {
    /// The packet of a block, if it holds one that belongs to a flow.
    fn packet(&mut self, block: &PcapBlockOwned<'_>) -> Option<Packet> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let nano = header.is_nanosecond_precision();
                let per_second = Some(if nano { 1_000_000_000 } else { 1_000_000 });
                self.interfaces = vec![Interface { link: header.network, per_second, offset: 0 }];
                None
            }
            PcapBlockOwned::Legacy(block) => {
                let per_second = self.interfaces.first()?.per_second? as f64;
                let at = f64::from(block.ts_sec) + f64::from(block.ts_usec) / per_second;
                self.read(0, at, block.data)
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                self.interfaces.clear();
                None
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
                let per_second = block.ts_resolution().filter(|units| *units > 0);
                let (link, offset) = (block.linktype, block.if_tsoffset);
                self.interfaces.push(Interface { link, per_second, offset });
                None
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(block)) => {
                let interface = self.interfaces.get(block.if_id as usize)?;
                let units = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
                let at = units as f64 / interface.per_second? as f64 + interface.offset as f64;
                self.read(block.if_id, at, block.packet_data())
            }
            PcapBlockOwned::NG(_) => None,
        }
    }

    fn read(&mut self, interface: u32, at: f64, bytes: &[u8]) -> Option<Packet> {
        let link = self.interfaces.get(interface as usize)?.link;
        let Some(layers) = layers(link, bytes) else {
            self.unread.get_or_insert(link);
            return None;
        };
        let (ip, ports) = (layers.ip?, layers.ports?);
        let tcp = match layers.transport {
            Transport::Tcp(TcpHeader { control, sequence, .. }) => {
                let syn = control.has(ControlBits::SYN);
                let opens = syn && !control.has(ControlBits::ACK);
                // A SYN has a place of its own before the first byte.
                Some(Segment { opens, sequence: sequence.wrapping_add(syn.into()) })
            }
            Transport::Udp(_) => None,
            _ => return None,
        };
        Some(Packet {
            at,
            from: (ip.source(), ports.source).into(),
            to: (ip.destination(), ports.destination).into(),
            interface,
            payload: (layers.payload.len() + layers.missing) as u64,
            tcp,
        })
    }
}

/// A packet by what is in front of IP; nothing of a link that is not known.
fn layers(link: Linktype, bytes: &[u8]) -> Option<Layers> {
    // Linux's "any" device has its own headers (LINKTYPE_LINUX_SLL and _SLL2 of tcpdump.org's list).
    let behind = |header: usize| Layers::of_ip(bytes.get(header..).unwrap_or_default());
    match link {
        Linktype::ETHERNET => Some(Layers::of_ethernet(bytes)),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => Some(behind(0)),
        Linktype::LINUX_SLL => Some(behind(16)),
        Linktype::LINUX_SLL2 => Some(behind(20)),
        _ => None,
    }
}
