//! The layers of a whole packet, as far as they can be parsed.

use core::net::IpAddr;
use core::ops::Range;

use crate::{
    DsField, EtherType, EthernetHeader, Extension, Extensions, Fragmentation, IcmpHeader,
    IpProtocol, Ipv4Header, Ipv6Header, TcpHeader, UdpHeader, VlanTag, WireError,
};

/// The headers of a packet, from the outside in. Headers that could not be parsed are absent, and
/// [`stop`](Layers::stop) is the reason.
///
/// All positions are offsets into the parsed bytes, and lie inside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// The Ethernet header, if the bytes are a frame.
    pub ethernet: Option<EthernetHeader>,
    /// VLAN tags, the outer one first.
    pub tags: Tags,
    /// The IP header.
    pub ip: Option<Ip>,
    /// Offset of the IP header.
    pub ip_at: usize,
    /// The protocol after all extension headers.
    pub protocol: Option<IpProtocol>,
    /// The fragment's position; `None` for a whole packet.
    pub fragment: Option<Fragment>,
    /// Ports, if the protocol has them and the bytes contain them. They are known even if the rest of the
    /// header is cut off, as in ICMP errors. Later fragments have no ports.
    pub ports: Option<Ports>,
    /// The transport header.
    pub transport: Transport,
    /// Offset of the transport header, or of the content if its header is unknown.
    pub transport_at: usize,
    /// The payload after all parsed headers, without padding of the link.
    pub payload: Range<usize>,
    /// The number of bytes of the packet, by its IP length, that are missing.
    pub missing: usize,
    /// Why parsing ended before a known transport header.
    pub stop: Option<Stop>,
}

/// An IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ip {
    /// IPv4.
    V4(Ipv4Header),
    /// IPv6.
    V6(Ipv6Header),
}

impl Ip {
    /// The source.
    pub fn source(&self) -> IpAddr {
        match self {
            Ip::V4(header) => header.source.into(),
            Ip::V6(header) => header.source.into(),
        }
    }

    /// The destination.
    pub fn destination(&self) -> IpAddr {
        match self {
            Ip::V4(header) => header.destination.into(),
            Ip::V6(header) => header.destination.into(),
        }
    }

    /// Code point and ECN.
    pub fn ds(&self) -> DsField {
        match self {
            Ip::V4(header) => header.ds,
            Ip::V6(header) => header.ds,
        }
    }

    /// Length of the whole packet in bytes, from the header.
    pub fn packet_length(&self) -> usize {
        match self {
            Ip::V4(header) => usize::from(header.total_length),
            Ip::V6(header) => Ipv6Header::LENGTH + usize::from(header.payload_length),
        }
    }

    /// Bytes of the header without extension headers.
    fn length(&self) -> usize {
        match self {
            Ip::V4(header) => header.length(),
            Ip::V6(_) => Ipv6Header::LENGTH,
        }
    }
}

/// Up to two VLAN tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags {
    tags: [Option<VlanTag>; Tags::MAX_COUNT],
}

impl Tags {
    /// The limit on tags: a provider's and a customer's.
    pub const MAX_COUNT: usize = 2;

    /// The tags, the outer one first.
    pub fn iter(&self) -> impl Iterator<Item = &VlanTag> {
        self.tags.iter().flatten()
    }
}

/// The position of a fragment in its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Its offset in the original payload, in bytes.
    pub offset: u32,
    /// Whether more follow.
    pub has_more: bool,
    /// The identification of the fragments of one packet.
    pub identification: u32,
}

/// The ports of a segment or datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The sender's.
    pub source: u16,
    /// The receiver's.
    pub destination: u16,
}

/// The transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP.
    Udp(UdpHeader),
    /// ICMP or ICMPv6, depending on the protocol.
    Icmp(IcmpHeader),
    /// Not parsed: another protocol, a later fragment, or an invalid header.
    Unread,
}

/// Why parsing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The following bytes are not a valid header.
    Malformed(WireError),
    /// The frame does not contain IP.
    NotIp(EtherType),
    /// There are more tags than [`Tags::MAX_COUNT`].
    Tags,
    /// There are more extension headers than [`Extensions::MAX_COUNT`], or hop-by-hop options after another
    /// header.
    Extensions,
    /// A fragment other than the first has no transport header.
    LaterFragment,
    /// A protocol other than TCP, UDP and ICMP. Of SCTP, DCCP and UDP-Lite the ports were read.
    OtherProtocol,
}

/// The two ports of TCP, UDP, SCTP, DCCP and UDP-Lite, in bytes.
const PORTS_LENGTH: usize = 4;

impl Layers {
    /// Parses an Ethernet frame without its check sequence.
    pub fn of_ethernet(bytes: &[u8]) -> Layers {
        let mut layers = Layers::nothing(bytes.len());
        layers.stop = layers.read_ethernet(bytes).err();
        layers
    }

    /// Parses an IP packet of either version, as in TUN devices and raw captures.
    pub fn of_ip(bytes: &[u8]) -> Layers {
        let mut layers = Layers::nothing(bytes.len());
        layers.stop = layers.read_ip(bytes, 0).err();
        layers
    }

    /// Parses the packet inside an ICMP or ICMPv6 error, as far as the error contains it. `bytes` are those
    /// from which these layers were parsed; positions are offsets into them.
    pub fn inner_of_error(&self, bytes: &[u8]) -> Option<Layers> {
        let (Transport::Icmp(header), Some(protocol)) = (self.transport, self.protocol) else {
            return None;
        };
        let bytes = bytes.get(..self.payload.end)?;
        if !header.is_error(protocol) {
            return None;
        }
        let mut layers = Layers::nothing(bytes.len());
        layers.stop = layers.read_ip(bytes, self.payload.start).err();
        Some(layers)
    }

    fn nothing(length: usize) -> Layers {
        Layers {
            ethernet: None,
            tags: Tags::default(),
            ip: None,
            ip_at: 0,
            protocol: None,
            fragment: None,
            ports: None,
            transport: Transport::Unread,
            transport_at: length,
            payload: length..length,
            missing: 0,
            stop: None,
        }
    }

    fn read_ethernet(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.continue_at(0, bytes.len());
        let ethernet = EthernetHeader::parse(bytes).map_err(Stop::Malformed)?;
        self.ethernet = Some(ethernet);
        let (mut kind, mut at) = (ethernet.ether_type, EthernetHeader::LENGTH);
        for place in &mut self.tags.tags {
            if !kind.is_tag() {
                break;
            }
            self.payload.start = at;
            let tag = VlanTag::parse(&bytes[at..]).map_err(Stop::Malformed)?;
            *place = Some(tag);
            (kind, at) = (tag.ether_type, at + VlanTag::LENGTH);
        }
        self.continue_at(at, bytes.len());
        match kind {
            EtherType::IPV4 | EtherType::IPV6 => {
                let version = if kind == EtherType::IPV4 { 4 } else { 6 };
                let found = bytes.get(at).map_or(version, |byte| byte >> 4);
                if found != version {
                    let mistake = WireError::Version { expected: version, found };
                    return Err(Stop::Malformed(mistake));
                }
                self.read_ip(bytes, at)
            }
            tag if tag.is_tag() => Err(Stop::Tags),
            other => Err(Stop::NotIp(other)),
        }
    }

    /// Parses the IP packet at `at`, and its content.
    fn read_ip(&mut self, bytes: &[u8], at: usize) -> Result<(), Stop> {
        self.ip_at = at;
        self.continue_at(at, bytes.len());
        let rest = bytes.get(at..).unwrap_or_default();
        let version = rest.first().map_or(4, |byte| byte >> 4);
        let ip = match version {
            6 => Ipv6Header::parse(rest).map(Ip::V6),
            _ => Ipv4Header::parse(rest).map(Ip::V4),
        };
        let ip = ip.map_err(Stop::Malformed)?;
        self.ip = Some(ip);
        let (min, claimed) = (ip.length(), ip.packet_length());
        // A packet that is shorter than its own header has no further layers.
        let end = at + claimed.min(rest.len()).max(min);
        self.missing = claimed.saturating_sub(rest.len());
        self.continue_at(at + min, end);
        if claimed < min {
            return Err(Stop::Malformed(WireError::Length { min, found: claimed }));
        }
        let first = match ip {
            Ip::V4(header) => {
                let identification = u32::from(header.identification);
                self.fragment = Fragment::new(header.fragmentation, identification);
                header.protocol
            }
            Ip::V6(header) => header.next,
        };
        self.protocol = Some(first);
        if self.is_later_fragment() {
            return Err(Stop::LaterFragment);
        }
        let protocol = self.read_extensions(bytes, version, first)?;
        self.read_transport(bytes, protocol)
    }

    /// Parses the extension headers, and returns the protocol after them.
    fn read_extensions(
        &mut self,
        bytes: &[u8],
        version: u8,
        first: IpProtocol,
    ) -> Result<IpProtocol, Stop> {
        let (start, end) = (self.payload.start, self.payload.end);
        let mut walk = Extensions::new(first, &bytes[start..end]);
        // IPv4 has only one extension header, the authentication header.
        let is_one = |kind| version == 6 || kind == IpProtocol::AUTHENTICATION;
        while is_one(walk.next_kind())
            && let Some(extension) = walk.next()
        {
            let extension = extension.map_err(Stop::Malformed)?;
            if let Extension::Fragment(header) = extension {
                self.fragment = Fragment::new((&header).into(), header.identification);
            }
            self.protocol = Some(walk.next_kind());
            self.continue_at(start + walk.length(), end);
        }
        let protocol = walk.next_kind();
        if self.is_later_fragment() {
            return Err(Stop::LaterFragment);
        }
        let is_unread = is_one(protocol) && Extension::is_kind(protocol);
        if is_unread { Err(Stop::Extensions) } else { Ok(protocol) }
    }

    fn read_transport(&mut self, bytes: &[u8], protocol: IpProtocol) -> Result<(), Stop> {
        let (at, end) = (self.payload.start, self.payload.end);
        let rest = &bytes[at..end];
        if let Some([s0, s1, d0, d1]) = rest.first_chunk().filter(|_| protocol.has_ports()) {
            let source = u16::from_be_bytes([*s0, *s1]);
            self.ports = Some(Ports { source, destination: u16::from_be_bytes([*d0, *d1]) });
        }
        let length = match protocol {
            IpProtocol::TCP => {
                let header = TcpHeader::parse(rest).map_err(Stop::Malformed)?;
                self.transport = Transport::Tcp(header);
                header.length()
            }
            IpProtocol::UDP => {
                let header = UdpHeader::parse(rest).map_err(Stop::Malformed)?;
                self.transport = Transport::Udp(header);
                let (min, claimed) = (UdpHeader::LENGTH, usize::from(header.length));
                self.payload = at + min..at + claimed.min(rest.len()).max(min);
                if claimed < min {
                    let mistake = WireError::Length { min, found: claimed };
                    return Err(Stop::Malformed(mistake));
                }
                min
            }
            IpProtocol::ICMP | IpProtocol::ICMPV6 => {
                let header = IcmpHeader::parse(rest).map_err(Stop::Malformed)?;
                self.transport = Transport::Icmp(header);
                IcmpHeader::LENGTH
            }
            _ if protocol.has_ports() && self.ports.is_none() => {
                let cut = WireError::Truncated { needed: PORTS_LENGTH, found: rest.len() };
                return Err(Stop::Malformed(cut));
            }
            _ => return Err(Stop::OtherProtocol),
        };
        self.payload.start = at + length;
        Ok(())
    }

    /// The part from `at` to `end` is not yet parsed.
    fn continue_at(&mut self, at: usize, end: usize) {
        self.transport_at = at;
        self.payload = at..end;
    }

    fn is_later_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset > 0)
    }
}

impl Fragment {
    /// `None` for a whole packet.
    fn new(place: Fragmentation, identification: u32) -> Option<Fragment> {
        let (offset, has_more) = (place.offset(), place.has_more());
        place.is_fragment().then_some(Fragment { offset, has_more, identification })
    }
}
