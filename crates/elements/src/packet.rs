//! The packet descriptor: fields of a real header, and nothing else.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use shortflow_units::Bytes;

use crate::Address;

/// The protocol of a packet's payload: its IANA number, from the IPv4 header or the last IPv6 extension
/// header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP for IPv4 (RFC 792).
    pub const ICMP: Protocol = Protocol(1);
    /// TCP (RFC 9293).
    pub const TCP: Protocol = Protocol(6);
    /// UDP (RFC 768).
    pub const UDP: Protocol = Protocol(17);
    /// Encapsulating Security Payload (RFC 4303). Its content is encrypted, including ports.
    pub const ESP: Protocol = Protocol(50);
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: Protocol = Protocol(58);
    /// SCTP (RFC 9260).
    pub const SCTP: Protocol = Protocol(132);
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol::TCP
    }
}

/// The name of a flow: the 5-tuple of its headers. A packet without ports has both ports 0: ICMP, ESP, and
/// fragments other than the first. Such fragments of a host's packets are a separate flow from the first
/// fragments (RFC 8900 §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowKey {
    /// Source address.
    pub src: Address,
    /// Destination address.
    pub dst: Address,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Transport protocol.
    pub protocol: Protocol,
}

impl FlowKey {
    /// The key of packets without ports.
    pub fn without_ports(src: Address, dst: Address, protocol: Protocol) -> FlowKey {
        FlowKey { src, dst, src_port: 0, dst_port: 0, protocol }
    }

    /// The key of packets in the other direction.
    pub fn reversed(self) -> FlowKey {
        FlowKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }
}

/// A DiffServ code point (RFC 2474): 6 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// The default code point: best effort.
    pub const BEST_EFFORT: Dscp = Dscp(0);
    /// Assured Forwarding class 1, low drop precedence (RFC 2597 §6): green.
    pub const AF11: Dscp = Dscp(10);
    /// Assured Forwarding class 1, medium drop precedence: yellow.
    pub const AF12: Dscp = Dscp(12);
    /// Assured Forwarding class 1, high drop precedence: red.
    pub const AF13: Dscp = Dscp(14);
    /// Expedited Forwarding (RFC 3246).
    pub const EF: Dscp = Dscp(46);
    /// The number of code points.
    pub const COUNT: usize = 64;

    /// The code point of this value, or `None` above 63.
    pub const fn new(value: u8) -> Option<Dscp> {
        if value < 64 { Some(Dscp(value)) } else { None }
    }

    /// The 6-bit value, below [`Dscp::COUNT`].
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// Names as IANA registers them: `BE` (also `CS0`, `DF`), `CS1`–`CS7`, `AF11`–`AF43`, `EF`, `LE`;
/// or the number from 0 to 63.
impl FromStr for Dscp {
    type Err = ParseDscpError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |c: u8, low: u8, high: u8| {
            (low..=high).contains(&c.wrapping_sub(b'0')).then(|| c - b'0')
        };
        let value = match text.as_bytes() {
            b"BE" | b"DF" => Some(0),
            b"EF" => Some(46),
            b"LE" => Some(1),
            [b'C', b'S', n] => digit(*n, 0, 7).map(|n| 8 * n),
            [b'A', b'F', class, drop] => digit(*class, 1, 4)
                .zip(digit(*drop, 1, 3))
                .map(|(class, drop)| 8 * class + 2 * drop),
            _ => text.parse().ok(),
        };
        value.and_then(Dscp::new).ok_or_else(|| ParseDscpError { found: text.to_owned() })
    }
}

/// An invalid code point. The default form is `message; help`. The alternate form (`{:#}`) puts the help on
/// its own line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDscpError {
    found: String,
}

impl ParseDscpError {
    /// The error.
    pub fn message(&self) -> String {
        format!("unknown code point \"{}\"", self.found)
    }

    /// What to write instead.
    pub fn help(&self) -> &'static str {
        "allowed: BE, LE, EF, CS1 to CS7, AF11 to AF43, 0 to 63"
    }
}

impl fmt::Display for ParseDscpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if f.alternate() { "\n" } else { "; " };
        write!(f, "{}{joint}{}", self.message(), self.help())
    }
}

impl std::error::Error for ParseDscpError {}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("BE"),
            1 => f.write_str("LE"),
            46 => f.write_str("EF"),
            n if n % 8 == 0 => write!(f, "CS{}", n / 8),
            n if (8..40).contains(&n) && n % 2 == 0 => write!(f, "AF{}{}", n / 8, n % 8 / 2),
            n => write!(f, "{n}"),
        }
    }
}

/// The ECN field (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by a drop.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// All values, in the order of their bits.
    pub const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    /// Whether congestion may be signalled by a mark instead of a drop.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// The byte of the IP header with the code point in its upper six bits (RFC 2474 §3) and the ECN field in the
/// lower two (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// Bits of the byte.
    pub const BITS: u32 = u8::BITS;
    const ECN_BITS: u32 = Ecn::ALL.len().trailing_zeros();

    /// The byte of a packet with this code point and this ECN field.
    #[inline]
    pub const fn new(dscp: Dscp, ecn: Ecn) -> Self {
        TrafficClass(dscp.0 << Self::ECN_BITS | ecn as u8)
    }

    /// The code point.
    #[inline]
    pub const fn dscp(self) -> Dscp {
        Dscp(self.0 >> Self::ECN_BITS)
    }

    /// The ECN field.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        Ecn::ALL[self.0 as usize % Ecn::ALL.len()]
    }
}

/// The result of a meter (RFC 2697, RFC 2698), compared with the stream's profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Color {
    /// Within the committed profile.
    #[default]
    Green = 0,
    /// Above the committed, within the peak profile.
    Yellow = 1,
    /// Above every profile.
    Red = 2,
}

impl Color {
    /// All colours, best protected first.
    pub const ALL: [Color; 3] = [Color::Green, Color::Yellow, Color::Red];
}

/// TCP's control bits (RFC 9293 §3.1, RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgement field is significant.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// ECN echo.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// Whether all bits of `flags` are set.
    pub const fn has(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether they acknowledge, and do not open, close or reset a connection.
    #[inline]
    pub const fn only_acknowledge(self) -> bool {
        const CONTROL: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
        self.0 & (CONTROL | TcpFlags::ACK.0) == TcpFlags::ACK.0
    }

    /// These bits and those of `flags`.
    pub const fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }
}

/// The owner's name for the bytes of a packet: an index into the host's ring or pool. Elements keep it but
/// never use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(NonZeroU32);

impl FrameId {
    /// The name with this number, which is below 2³² − 1.
    pub const fn new(number: u32) -> Option<FrameId> {
        match number.checked_add(1) {
            Some(above_zero) => match NonZeroU32::new(above_zero) {
                Some(name) => Some(FrameId(name)),
                None => None,
            },
            None => None,
        }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// A packet's descriptor. Not `Clone`: a packet exists once, and ends as delivered or as dropped.
///
/// A router fills in `size`, `key`, `dscp` and `ecn`. If an element needs them
/// ([`is_bare_acknowledgement`](Self::is_bare_acknowledgement), marking by TCP's state, counting of payload),
/// it also fills in TCP's flags and the length of the payload. All other fields keep their defaults:
///
/// ```
/// use shortflow_elements::{Dscp, FlowKey, FrameId, Packet, Protocol};
///
/// let [src, dst] = ["2001:db8::1".parse()?, "2001:db8::2".parse()?];
/// let packet = Packet {
///     size: 1500,
///     key: FlowKey::without_ports(src, dst, Protocol::ESP),
///     dscp: Dscp::EF,
///     bytes: FrameId::new(17),
///     ..Packet::default()
/// };
/// # let _ = packet;
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Default, PartialEq)]
#[must_use]
#[repr(C)]
pub struct Packet {
    /// Size in bytes on links and in queues: payload and headers.
    pub size: u32,
    /// The packet's bytes, if the host has them.
    pub bytes: Option<FrameId>,
    /// Bytes of payload.
    pub payload: u16,
    /// The DS field's code point.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    /// The control bits of TCP; zero for other protocols.
    pub flags: TcpFlags,
    /// The 5-tuple.
    pub key: FlowKey,
}

impl Packet {
    /// Whether this is a TCP segment that only acknowledges: no data, no SYN, FIN or RST.
    #[inline]
    pub fn is_bare_acknowledgement(&self) -> bool {
        self.key.protocol == Protocol::TCP && self.payload == 0 && self.flags.only_acknowledge()
    }

    /// The size as a quantity.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }
}

/// A packet for unit tests, which set the fields that they need.
#[cfg(test)]
pub(crate) fn test_packet() -> Packet {
    Packet { size: 1000, payload: 960, ..Packet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Queued;

    #[test]
    fn every_code_point_reads_back_from_its_name() {
        for value in 0..64 {
            let dscp = Dscp::new(value).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
        }
    }

    #[test]
    fn the_assured_forwarding_names_are_those_of_rfc_2597() {
        assert_eq!("AF11".parse(), Ok(Dscp::AF11));
        assert_eq!("AF43".parse(), Ok(Dscp(38)));
        assert_eq!("EF".parse(), Ok(Dscp::EF));
        assert!("AF44".parse::<Dscp>().is_err());
        assert!("64".parse::<Dscp>().is_err());
    }

    #[test]
    fn a_bare_acknowledgement_has_neither_data_nor_control() {
        let is_bare =
            |payload, flags| Packet { payload, flags, ..test_packet() }.is_bare_acknowledgement();
        assert!(is_bare(0, TcpFlags::ACK) && is_bare(0, TcpFlags::ACK.with(TcpFlags::ECE)));
        assert!(!is_bare(1, TcpFlags::ACK) && !is_bare(0, TcpFlags(0)));
        for control in [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST] {
            assert!(!is_bare(0, TcpFlags::ACK.with(control)));
        }
    }

    #[test]
    fn a_descriptor_and_when_it_was_queued_fit_into_a_cache_line() {
        assert_eq!((size_of::<Packet>(), size_of::<Queued>()), (56, 64));
    }

    #[test]
    fn a_frame_has_the_number_that_it_was_given() {
        for number in [0, 1, u32::MAX - 1] {
            assert_eq!(FrameId::new(number).map(FrameId::number), Some(number));
        }
        assert_eq!(FrameId::new(u32::MAX), None);
        assert_eq!(size_of::<Option<FrameId>>(), 4);
    }
}
