//! The numbers of protocols above IP.

/// The protocol number in an IP header: IPv4's protocol, IPv6's next header. Any number is allowed; those
/// that this crate parses have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpProtocol(pub u8);

impl IpProtocol {
    /// IPv6 hop-by-hop options (RFC 8200 §4.3).
    pub const HOP_BY_HOP: IpProtocol = IpProtocol(0);
    /// ICMP (RFC 792).
    pub const ICMP: IpProtocol = IpProtocol(1);
    /// TCP (RFC 9293).
    pub const TCP: IpProtocol = IpProtocol(6);
    /// UDP (RFC 768).
    pub const UDP: IpProtocol = IpProtocol(17);
    /// DCCP (RFC 4340), of which only the ports are read.
    pub const DCCP: IpProtocol = IpProtocol(33);
    /// IPv6 routing header (RFC 8200 §4.4).
    pub const ROUTING: IpProtocol = IpProtocol(43);
    /// IPv6 fragment header (RFC 8200 §4.5).
    pub const FRAGMENT: IpProtocol = IpProtocol(44);
    /// Encapsulating security payload (RFC 4303); its content is encrypted.
    pub const ESP: IpProtocol = IpProtocol(50);
    /// Authentication header (RFC 4302).
    pub const AUTHENTICATION: IpProtocol = IpProtocol(51);
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: IpProtocol = IpProtocol(58);
    /// No next header (RFC 8200 §4.7).
    pub const NO_NEXT: IpProtocol = IpProtocol(59);
    /// IPv6 destination options (RFC 8200 §4.6).
    pub const DESTINATION_OPTIONS: IpProtocol = IpProtocol(60);
    /// SCTP (RFC 9260), of which only the ports are read.
    pub const SCTP: IpProtocol = IpProtocol(132);
    /// Mobility header (RFC 6275).
    pub const MOBILITY: IpProtocol = IpProtocol(135);
    /// UDP-Lite (RFC 3828), of which only the ports are read.
    pub const UDP_LITE: IpProtocol = IpProtocol(136);
    /// Host identity protocol (RFC 7401).
    pub const HIP: IpProtocol = IpProtocol(139);
    /// Shim6 (RFC 5533).
    pub const SHIM6: IpProtocol = IpProtocol(140);

    /// Whether the first four bytes of this protocol's header are two ports.
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::DCCP | Self::SCTP | Self::UDP_LITE)
    }
}
