//! IPv6 headers (RFC 8200 §3).

use core::net::Ipv6Addr;

use crate::bytes::{WireError, head, write};
use crate::{DsField, IpProtocol};

/// An IPv6 header, without extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Code point and ECN: the traffic class.
    pub ds: DsField,
    /// The flow label.
    pub flow_label: FlowLabel,
    /// Length of the payload in bytes.
    pub payload_length: u16,
    /// The first extension header, or the protocol of the payload.
    pub next: IpProtocol,
    /// The hop limit.
    pub hop_limit: u8,
    /// The source.
    pub source: Ipv6Addr,
    /// The destination.
    pub destination: Ipv6Addr,
}

/// A flow label (RFC 6437): 20 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowLabel(u32);

impl FlowLabel {
    /// The label in the lower 20 bits.
    pub const fn new(value: u32) -> Self {
        FlowLabel(value & 0x000f_ffff)
    }

    /// The value, below 2²⁰.
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl Ipv6Header {
    /// Bytes of the header.
    pub const LENGTH: usize = 40;

    /// A header for a packet between two hosts without payload: 64 hops, code point 0.
    pub const fn between(source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Ipv6Header {
            ds: DsField(0),
            flow_label: FlowLabel(0),
            payload_length: 0,
            next: IpProtocol::NO_NEXT,
            hop_limit: 64,
            source,
            destination,
        }
    }

    /// Parses the header at the start of `bytes`. Does not check the payload length against `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let fixed = head::<{ Self::LENGTH }>(bytes)?;
        let [b0, b1, b2, b3, l0, l1, next, hop_limit, addresses @ ..] = fixed;
        let first = u32::from_be_bytes([*b0, *b1, *b2, *b3]);
        let version = (first >> 28) as u8;
        if version != 6 {
            return Err(WireError::Version { expected: 6, found: version });
        }
        let (source, destination) = addresses.split_at(16);
        Ok(Ipv6Header {
            ds: DsField((first >> 20) as u8),
            flow_label: FlowLabel::new(first),
            payload_length: u16::from_be_bytes([*l0, *l1]),
            next: IpProtocol(*next),
            hop_limit: *hop_limit,
            source: Ipv6Addr::from(*head::<16>(source)?),
            destination: Ipv6Addr::from(*head::<16>(destination)?),
        })
    }

    /// Writes the header at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let first = 6 << 28 | u32::from(self.ds.0) << 20 | self.flow_label.0;
        write(
            out,
            &[
                &first.to_be_bytes(),
                &self.payload_length.to_be_bytes(),
                &[self.next.0, self.hop_limit],
                &self.source.octets(),
                &self.destination.octets(),
            ],
        )
    }
}
