//! ICMP and ICMPv6 headers (RFC 792, RFC 4443).

use crate::IpProtocol;
use crate::bytes::{WireError, head, write};

/// The first eight bytes of an ICMP or ICMPv6 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpHeader {
    /// The type of the message.
    pub kind: u8,
    /// The code.
    pub code: u8,
    /// The checksum in the header, correct or not.
    pub checksum: u16,
    /// Four bytes whose meaning depends on the type.
    pub rest: [u8; 4],
}

impl IcmpHeader {
    /// Bytes of the header.
    pub const LENGTH: usize = 8;

    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let [kind, code, c0, c1, rest @ ..] = *head::<{ Self::LENGTH }>(bytes)?;
        Ok(IcmpHeader { kind, code, checksum: u16::from_be_bytes([c0, c1]), rest })
    }

    /// Writes the header at the start of `out` with its checksum as it is, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        write(out, &[&[self.kind, self.code], &self.checksum.to_be_bytes(), &self.rest])
    }

    /// Whether the message contains the start of the packet that caused it. `protocol` is ICMP or ICMPv6.
    /// ICMP: unreachable, source quench, redirect, time exceeded, parameter problem (RFC 792). ICMPv6:
    /// unreachable, too big, time exceeded, parameter problem (RFC 4443 §3).
    pub fn is_error(&self, protocol: IpProtocol) -> bool {
        match protocol {
            IpProtocol::ICMP => matches!(self.kind, 3 | 4 | 5 | 11 | 12),
            IpProtocol::ICMPV6 => matches!(self.kind, 1..=4),
            _ => false,
        }
    }
}
