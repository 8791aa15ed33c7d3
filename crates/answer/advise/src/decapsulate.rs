//! The innermost IP packet of a frame: behind tags of virtual LANs, PPPoE, MPLS and tunnels.
//!
//! PPPoE: RFC 2516 §4. MPLS: RFC 3032 §2.1, pseudowires RFC 4385 §3. GRE: RFC 2784 §2 and RFC 2890 §2, PPTP RFC 2637 §4.1.
//! VXLAN: RFC 7348 §5. Geneve: RFC 8926 §3.4. IP in IP: RFC 2003, RFC 4213 §3. Jumbograms: RFC 2675 §2.

use std::borrow::Cow;
use std::net::IpAddr;

use pcap_parser::Linktype;
use shortflow_wire::{EtherType, IpProtocol, Layers, Stop, Transport};

use crate::skipped::{Inside, Why};

/// An IP packet whose payload may belong to a flow.
#[derive(Debug)]
pub(crate) struct Inner<'b> {
    /// The packet; its header tells a length that was mended where it was 0.
    pub(crate) bytes: Cow<'b, [u8]>,
    pub(crate) layers: Layers,
    /// Bytes that the transport protocol carries, whether or not they were captured.
    pub(crate) payload: u64,
}

/// More tags, labels, tunnels and headers of links than this are not followed.
const MAX_LAYERS: usize = 16;

/// The longest packet that a header without the jumbo option tells.
const MAX_PACKET: usize = 65_535;

/// Links of PPP, and of PPPoE without Ethernet (tcpdump.org's list of link types).
const PPP: Linktype = Linktype(9);
const PPP_ETHER: Linktype = Linktype(51);

const PPPOE_SESSION: u16 = 0x8864;
const PPPOE_DISCOVERY: u16 = 0x8863;
const MPLS: [u16; 2] = [0x8847, 0x8848];
const BRIDGED: u16 = 0x6558;
const PPP_IN_GRE: u16 = 0x880b;
const GRE: IpProtocol = IpProtocol(47);
const IP_IN_IP: [IpProtocol; 2] = [IpProtocol(4), IpProtocol(41)];
/// The port of VXLAN, and the one that Linux had before it was assigned.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;

/// Finds the innermost packet of a frame of `length` bytes, of which `bytes` were captured. `inside` gets what it was found in.
///
/// # Errors
/// Why a packet is skipped.
pub(crate) fn innermost<'b>(
    link: Linktype,
    bytes: &'b [u8],
    length: usize,
    inside: &mut Vec<Inside>,
) -> Result<Inner<'b>, Why> {
    // What an interface hands over before it is cut counts as it is captured.
    let mut rest = Rest { bytes, length: length.max(bytes.len()) };
    let mut next = first(link, &mut rest)?;
    for _ in 0..MAX_LAYERS {
        next = match next {
            Next::Ethernet => {
                let kind = rest.number(12)?;
                rest.skip(14)?;
                Next::Type(kind)
            }
            Next::Type(kind) => behind_type(kind, &mut rest, inside)?,
            Next::Ppp => behind_ppp(&mut rest)?,
            Next::Ip => match behind_ip(&mut rest, inside)? {
                Found::Packet(inner) => return Ok(*inner),
                Found::Tunnel(next) => next,
            },
        };
    }
    Err(Why::TooDeep)
}

/// What comes next.
#[derive(Debug, Clone, Copy)]
enum Next {
    Ethernet,
    /// By its EtherType.
    Type(u16),
    Ppp,
    Ip,
}

enum Found<'b> {
    Packet(Box<Inner<'b>>),
    Tunnel(Next),
}

/// What of a frame is yet to be read.
#[derive(Debug, Clone, Copy)]
struct Rest<'b> {
    bytes: &'b [u8],
    /// Bytes on the wire, of which the last may not have been captured.
    length: usize,
}

impl Rest<'_> {
    fn skip(&mut self, count: usize) -> Result<(), Why> {
        self.bytes = self.bytes.get(count..).ok_or(Why::Cut)?;
        self.length -= count;
        Ok(())
    }

    fn byte(&self, at: usize) -> Result<u8, Why> {
        self.bytes.get(at).copied().ok_or(Why::Cut)
    }

    /// Two bytes, the higher first.
    fn number(&self, at: usize) -> Result<u16, Why> {
        Ok(u16::from_be_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    /// Cuts off the link's trailer after `length` bytes.
    fn keep(&mut self, length: usize) {
        self.bytes = &self.bytes[..self.bytes.len().min(length)];
        self.length = self.length.min(length);
    }
}

/// What a capture's kind of link begins with (tcpdump.org's list of link types).
fn first(link: Linktype, rest: &mut Rest<'_>) -> Result<Next, Why> {
    // Linux's "any" device has headers of its own, with the EtherType at their end or their beginning.
    let (header, next) = match link {
        Linktype::ETHERNET => (0, Next::Ethernet),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => (0, Next::Ip),
        Linktype::LINUX_SLL => (16, Next::Type(rest.number(14)?)),
        Linktype::LINUX_SLL2 => (20, Next::Type(rest.number(0)?)),
        Linktype::NULL | Linktype::LOOP => (4, Next::Ip),
        PPP => (0, Next::Ppp),
        PPP_ETHER => (0, Next::Type(PPPOE_SESSION)),
        Linktype(other) => return Err(Why::Link(other)),
    };
    rest.skip(header)?;
    Ok(next)
}

fn behind_type(kind: u16, rest: &mut Rest<'_>, inside: &mut Vec<Inside>) -> Result<Next, Why> {
    match EtherType(kind) {
        EtherType::IPV4 | EtherType::IPV6 => return Ok(Next::Ip),
        tag if tag.is_tag() => {
            let kind = rest.number(2)?;
            rest.skip(4)?;
            inside.push(Inside::Vlan);
            return Ok(Next::Type(kind));
        }
        _ => {}
    }
    match kind {
        PPPOE_SESSION => {
            let carried = usize::from(rest.number(4)?);
            rest.skip(6)?;
            // 0 where an interface is still to cut the packet.
            if carried > 0 {
                rest.keep(carried);
            }
            inside.push(Inside::Pppoe);
            Ok(Next::Ppp)
        }
        PPPOE_DISCOVERY => Err(Why::Ppp),
        BRIDGED => Ok(Next::Ethernet),
        PPP_IN_GRE => Ok(Next::Ppp),
        kind if MPLS.contains(&kind) => {
            inside.push(Inside::Mpls);
            behind_labels(rest)
        }
        other => Err(Why::Type(other)),
    }
}

/// MPLS labels do not name the next protocol: the version identifies IP, the control word an Ethernet pseudowire (RFC
/// 4448).
fn behind_labels(rest: &mut Rest<'_>) -> Result<Next, Why> {
    loop {
        let is_last = rest.byte(2)? & 1 == 1;
        rest.skip(4)?;
        if is_last {
            break;
        }
    }
    match rest.byte(0)? >> 4 {
        4 | 6 => Ok(Next::Ip),
        0 => {
            rest.skip(4)?;
            Ok(Next::Ethernet)
        }
        _ => Err(Why::Malformed),
    }
}

/// PPP, with or without its address and control, its protocol in one byte or two (RFC 1661 §6.5 and §6.6).
fn behind_ppp(rest: &mut Rest<'_>) -> Result<Next, Why> {
    if rest.number(0)? == 0xff03 {
        rest.skip(2)?;
    }
    let first = rest.byte(0)?;
    let protocol = if first & 1 == 1 { u16::from(first) } else { rest.number(0)? };
    rest.skip(if first & 1 == 1 { 1 } else { 2 })?;
    match protocol {
        0x0021 | 0x0057 => Ok(Next::Ip),
        0x0281 | 0x0283 => behind_labels(rest),
        _ => Err(Why::Ppp),
    }
}

/// Reads an IP packet, also inside tunnels.
fn behind_ip<'b>(rest: &mut Rest<'b>, inside: &mut Vec<Inside>) -> Result<Found<'b>, Why> {
    let length = length_of(rest)?;
    let bytes = with_length(rest.bytes, length);
    let layers = Layers::of_ip(&bytes);
    match layers.stop {
        Some(Stop::LaterFragment) => return Err(Why::LaterFragment),
        Some(Stop::Malformed(_)) if rest.bytes.len() < rest.length => return Err(Why::Cut),
        Some(Stop::Malformed(_) | Stop::Extensions) => return Err(Why::Malformed),
        _ => {}
    }
    let protocol = layers.protocol.ok_or(Why::Malformed)?;
    let carried = layers.transport_at;
    let tunnel = match layers.transport {
        _ if IP_IN_IP.contains(&protocol) => Some((0, Next::Ip, Inside::IpInIp)),
        _ if protocol == GRE => Some(behind_gre(&rest.behind(carried, length)?)?),
        Transport::Udp(_) => {
            let to = layers.ports.map_or(0, |ports| ports.destination);
            tunnel_over_udp(to, &rest.behind(carried, length)?)?
        }
        _ => None,
    };
    if let Some((header, next, what)) = tunnel {
        *rest = rest.behind(carried, length)?;
        rest.skip(header)?;
        inside.push(what);
        return Ok(Found::Tunnel(next));
    }
    let payload = match layers.transport {
        Transport::Udp(header) if header.length >= 8 => u64::from(header.length) - 8,
        Transport::Tcp(_) | Transport::Udp(_) => (length - layers.payload.start.min(length)) as u64,
        _ => return Err(Why::Protocol(protocol.0)),
    };
    Ok(Found::Packet(Box::new(Inner { bytes, layers, payload })))
}

impl<'b> Rest<'b> {
    /// What a packet of `length` bytes carries from a place on.
    fn behind(&self, at: usize, length: usize) -> Result<Rest<'b>, Why> {
        let mut rest = *self;
        rest.keep(length);
        rest.skip(at)?;
        Ok(rest)
    }
}

/// How long an IP packet is: as its header tells, as its jumbo option tells, or as its frame does where an interface is yet to
/// cut it, so that the header tells 0.
fn length_of(rest: &Rest<'_>) -> Result<usize, Why> {
    match rest.byte(0)? >> 4 {
        4 => match rest.number(2)? {
            0 => Ok(rest.length),
            claimed => Ok(usize::from(claimed)),
        },
        6 => match (rest.number(4)?, rest.byte(6)?) {
            (0, 59) => Ok(40),
            (0, 0) => Ok(jumbo(rest).unwrap_or(rest.length)),
            (0, _) => Ok(rest.length),
            (claimed, _) => Ok(40 + usize::from(claimed)),
        },
        _ => Err(Why::Malformed),
    }
}

/// The length by the jumbo option, if a packet has one.
fn jumbo(rest: &Rest<'_>) -> Option<usize> {
    let options = rest.bytes.get(42..48 + 8 * usize::from(*rest.bytes.get(41)?))?;
    let mut at = 0;
    while let Some(kind) = options.get(at) {
        // A padding of one byte has no length.
        if *kind == 0 {
            at += 1;
            continue;
        }
        if *kind == 0xc2 {
            let value = options.get(at + 2..)?.first_chunk()?;
            return usize::try_from(u32::from_be_bytes(*value)).ok()?.checked_add(40);
        }
        at += 2 + usize::from(*options.get(at + 1)?);
    }
    None
}

/// The packet with a length in its header that readers of headers understand: that which it has, or the longest there is.
fn with_length(bytes: &[u8], length: usize) -> Cow<'_, [u8]> {
    let is_v4 = bytes[0] >> 4 == 4;
    let (at, claimed) = if is_v4 {
        (2, length.min(MAX_PACKET))
    } else {
        (4, length.min(MAX_PACKET).saturating_sub(40))
    };
    let claimed = (claimed as u16).to_be_bytes();
    match bytes.get(at..at + 2) {
        Some(found) if found != claimed => {
            let mut mended = bytes[..bytes.len().min(MAX_PACKET)].to_vec();
            mended[at..at + 2].copy_from_slice(&claimed);
            Cow::Owned(mended)
        }
        _ => Cow::Borrowed(bytes),
    }
}

/// How long the header of GRE is, and what is behind it.
fn behind_gre(rest: &Rest<'_>) -> Result<(usize, Next, Inside), Why> {
    let (flags, kind) = (rest.number(0)?, rest.number(2)?);
    let has = |flag: u16| usize::from(flags & flag != 0);
    let header = match flags & 7 {
        // Checksum, key and sequence number.
        0 => 4 + 4 * (has(0x8000) + has(0x2000) + has(0x1000)),
        // Of PPTP the key is always there; sequence and acknowledgement numbers may be.
        1 => 8 + 4 * (has(0x1000) + has(0x0080)),
        _ => return Err(Why::Malformed),
    };
    Ok((header, Next::Type(kind), Inside::Gre))
}

/// A tunnel over UDP by its port.
fn tunnel_over_udp(to: u16, rest: &Rest<'_>) -> Result<Option<(usize, Next, Inside)>, Why> {
    const UDP: usize = 8;
    Ok(match to {
        // The flag says that there is a network's number.
        port if VXLAN.contains(&port) && rest.byte(UDP)? & 0x08 != 0 => {
            Some((UDP + 8, Next::Ethernet, Inside::Vxlan))
        }
        GENEVE => {
            let options = 4 * usize::from(rest.byte(UDP)? & 0x3f);
            let kind = rest.number(UDP + 2)?;
            Some((UDP + 8 + options, Next::Type(kind), Inside::Geneve))
        }
        _ => None,
    })
}

impl Inner<'_> {
    /// From whom, and to whom.
    pub(crate) fn ends(&self) -> Option<[(IpAddr, u16); 2]> {
        let (ip, ports) = (self.layers.ip?, self.layers.ports?);
        Some([(ip.source(), ports.source), (ip.destination(), ports.destination)])
    }

    /// Whether it is one of WireGuard's messages: its type, three zeros, and a length that this type has (the protocol's
    /// paper, Donenfeld 2017, §5.4).
    pub(crate) fn is_wireguard(&self) -> bool {
        let Transport::Udp(_) = self.layers.transport else { return false };
        let found = self.bytes.get(self.layers.payload.clone());
        let Some([kind @ 1..=4, 0, 0, 0, ..]) = found else { return false };
        match kind {
            1 => self.payload == 148,
            2 => self.payload == 92,
            3 => self.payload == 64,
            _ => self.payload >= 32 && self.payload.is_multiple_of(16),
        }
    }
}
