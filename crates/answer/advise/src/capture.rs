//! Reads packets from a capture (pcap or pcapng).

use std::io::Read;
use std::net::SocketAddr;

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use shortflow_wire::{ControlBits, TcpHeader, Transport};

use crate::connections::Connections;
use crate::decapsulate::innermost;
use crate::error::FlowsError;
use crate::flows::Flows;
use crate::skipped::{Reading, Why};

/// A packet of a transport protocol, with the fields that identify flows.
pub(crate) struct Packet {
    /// Seconds since any instant.
    pub(crate) at: f64,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// Where it was captured.
    pub(crate) interface: u32,
    /// Bytes that it carries, whether or not they were captured.
    pub(crate) payload: u64,
    pub(crate) service: Service,
}

/// By what a packet belongs to a flow.
pub(crate) enum Service {
    /// By its place in a connection of TCP.
    Tcp(Segment),
    /// By its ends alone: QUIC, or a tunnel of WireGuard.
    Datagrams,
}

/// The port of QUIC.
const QUIC: u16 = 443;

/// The place of a segment in its connection.
pub(crate) struct Segment {
    /// Whether it opens the connection: SYN without ACK.
    pub(crate) opens: bool,
    /// Whether its sender sends no more: FIN or RST.
    pub(crate) closes: bool,
    /// The place of its first byte of data.
    pub(crate) sequence: u32,
}

/// The most that a block of a capture may have.
const MAX_BLOCK: usize = 16 << 20;

const HOW: &str = "use a pcap or pcapng file of tcpdump, Wireshark or `shortflow simulate --trace`";

/// Reads flows from a capture: the host that opens a connection is a user, and the direction with more bytes is the
/// direction of the flow. Flows are TCP connections opened in the capture, QUIC connections (UDP, port 443), and
/// WireGuard tunnels. Packets inside VLANs, PPPoE, MPLS, GRE, IP in IP, VXLAN and Geneve are decapsulated.
///
/// # Errors
/// When the capture cannot be read, or shows too few flows.
pub fn read_capture(name: &str, source: impl Read + Send) -> Result<Flows, FlowsError> {
    let wrong = |what: String| FlowsError { place: name.to_owned(), what, help: HOW.to_owned() };
    let mut reader = create_reader(1 << 16, source).map_err(|error| match error {
        PcapError::Eof => wrong("the file is empty".to_owned()),
        PcapError::ReadError => wrong("the file cannot be read".to_owned()),
        _ => wrong("the file is not a packet capture".to_owned()),
    })?;
    let (mut connections, mut links) = (Connections::default(), Links::default());
    let mut reading = Reading::default();
    loop {
        let is_all_read = reader.reader_exhausted();
        match reader.next() {
            Ok((length, block)) => {
                if let Some(frame) = links.frame(&block) {
                    let why = match read(&frame, &mut reading) {
                        Ok(packet) => connections.take(&packet).map_err(wrong)?,
                        Err(why) => Some(why),
                    };
                    reading.packets += 1;
                    if let Some(why) = why {
                        *reading.skipped.entry(why).or_default() += 1;
                    }
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_) | PcapError::UnexpectedEof) if is_all_read => {
                reading.is_cut = true;
                break;
            }
            Err(PcapError::Incomplete(_)) => {
                reader.refill().map_err(|_| wrong("the file cannot be read".to_owned()))?;
            }
            Err(PcapError::BufferTooSmall) => {
                let is_grown = reader.grow(MAX_BLOCK);
                if !is_grown {
                    return Err(wrong(format!("a block is larger than {MAX_BLOCK} bytes")));
                }
            }
            Err(_) => return Err(wrong("a block is malformed".to_owned())),
        }
    }
    let found = connections.flows(&mut reading);
    let from = format!("{name} ({})", reading.describe());
    Ok(Flows { reading: Some(reading), ..Flows::from_found(&from, found)? })
}

/// A frame of a capture.
struct Frame<'b> {
    link: Linktype,
    interface: u32,
    /// Seconds since any instant; `None` if unknown.
    at: Option<f64>,
    /// What was captured of it.
    bytes: &'b [u8],
    /// Its bytes on the wire.
    length: usize,
}

/// The link header at each interface, and its unit of time.
#[derive(Default)]
struct Links {
    interfaces: Vec<Interface>,
}

struct Interface {
    link: Linktype,
    /// Units of time in a second; `None` if unknown.
    per_second: Option<u64>,
    offset: i64,
}

impl Links {
    /// The frame of a block, if it holds one.
    fn frame<'b>(&mut self, block: &'b PcapBlockOwned<'_>) -> Option<Frame<'b>> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let nano = header.is_nanosecond_precision();
                let per_second = Some(if nano { 1_000_000_000 } else { 1_000_000 });
                self.interfaces = vec![Interface { link: header.network, per_second, offset: 0 }];
                None
            }
            PcapBlockOwned::Legacy(block) => {
                let Interface { link, per_second, .. } = self.interfaces.first()?;
                let fraction = per_second.map(|units| f64::from(block.ts_usec) / units as f64);
                let at = fraction.map(|fraction| f64::from(block.ts_sec) + fraction);
                let length = block.origlen as usize;
                Some(Frame { link: *link, interface: 0, at, bytes: block.data, length })
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
                let Interface { link, per_second, offset } =
                    self.interfaces.get(block.if_id as usize)?;
                let units = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
                let seconds = |per_second: u64| units as f64 / per_second as f64 + *offset as f64;
                let (at, length) = (per_second.map(seconds), block.origlen as usize);
                let bytes = block.packet_data();
                Some(Frame { link: *link, interface: block.if_id, at, bytes, length })
            }
            PcapBlockOwned::NG(Block::SimplePacket(block)) => {
                let Interface { link, .. } = self.interfaces.first()?;
                let (bytes, length) = (block.packet_data(), block.origlen as usize);
                Some(Frame { link: *link, interface: 0, at: None, bytes, length })
            }
            PcapBlockOwned::NG(_) => None,
        }
    }
}

/// The packet of a transport protocol in a frame.
///
/// # Errors
/// Why the packet is skipped.
fn read(frame: &Frame<'_>, reading: &mut Reading) -> Result<Packet, Why> {
    let mut inside = Vec::new();
    let inner = innermost(frame.link, frame.bytes, frame.length, &mut inside)?;
    let at = frame.at.ok_or(Why::NoTime)?;
    let [from, to] = inner.ends().ok_or(Why::Cut)?;
    let service = match inner.layers.transport {
        Transport::Tcp(TcpHeader { control, sequence, .. }) => {
            let syn = control.has(ControlBits::SYN);
            let opens = syn && !control.has(ControlBits::ACK);
            // A SYN has a place of its own before the first byte.
            let closes = control.has(ControlBits::FIN) || control.has(ControlBits::RST);
            Service::Tcp(Segment { opens, closes, sequence: sequence.wrapping_add(syn.into()) })
        }
        _ if [from.1, to.1].contains(&QUIC) => Service::Datagrams,
        _ if inner.is_wireguard() => Service::Datagrams,
        _ => return Err(Why::OtherUdp),
    };
    inside.dedup();
    for what in inside {
        *reading.inside.entry(what).or_default() += 1;
    }
    let (interface, payload) = (frame.interface, inner.payload);
    Ok(Packet { at, from: from.into(), to: to.into(), interface, payload, service })
}
