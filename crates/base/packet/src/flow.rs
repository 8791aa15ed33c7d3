//! The name of a flow: the 5-tuple of its headers.

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
