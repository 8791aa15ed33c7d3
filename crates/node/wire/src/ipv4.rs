//! IPv4 headers (RFC 791).

use core::net::Ipv4Addr;

use crate::bytes::{OptionBytes, WireError, first, head, write};
use crate::checksum::Sum;
use crate::{DsField, IpProtocol};

/// An IPv4 header with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Code point and ECN.
    pub ds: DsField,
    /// Bytes of header and payload.
    pub total_length: u16,
    /// The identification of the fragments of one packet.
    pub identification: u16,
    /// Flags and fragment offset.
    pub fragmentation: Fragmentation,
    /// Time to live.
    pub time_to_live: u8,
    /// The protocol of the payload.
    pub protocol: IpProtocol,
    /// The checksum in the header, correct or not.
    pub checksum: u16,
    /// The source.
    pub source: Ipv4Addr,
    /// The destination.
    pub destination: Ipv4Addr,
    /// The raw options.
    pub options: OptionBytes,
}

/// The fragmentation fields of an IPv4 header, 16 bits: a reserved bit, "don't fragment", "more fragments",
/// and 13 bits of offset in units of 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fragmentation(pub u16);

impl Fragmentation {
    /// A whole packet that routers must not fragment.
    pub const DONT_FRAGMENT: Fragmentation = Fragmentation(0x4000);

    /// The offset of this fragment in the payload of the whole packet, in bytes.
    pub const fn offset(self) -> u32 {
        (self.0 & 0x1fff) as u32 * 8
    }

    /// Whether more fragments follow.
    pub const fn has_more(self) -> bool {
        self.0 & 0x2000 != 0
    }

    /// Whether routers must not fragment the packet.
    pub const fn dont_fragment(self) -> bool {
        self.0 & 0x4000 != 0
    }

    /// Whether the packet is a fragment.
    pub const fn is_fragment(self) -> bool {
        self.0 & 0x3fff != 0
    }
}

impl Ipv4Header {
    /// Length of a header without options.
    pub const MIN_LENGTH: usize = 20;

    /// A header for a packet between two hosts without payload: don't fragment, 64 hops, protocol 59 (none),
    /// code point 0, no options, no checksum yet.
    pub const fn between(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Ipv4Header {
            ds: DsField(0),
            total_length: Self::MIN_LENGTH as u16,
            identification: 0,
            fragmentation: Fragmentation::DONT_FRAGMENT,
            time_to_live: 64,
            protocol: IpProtocol::NO_NEXT,
            checksum: 0,
            source,
            destination,
            options: OptionBytes::NONE,
        }
    }

    /// Parses the header at the start of `bytes`. Does not check the total length against `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let fixed = head::<{ Self::MIN_LENGTH }>(bytes)?;
        let version = fixed[0] >> 4;
        if version != 4 {
            return Err(WireError::Version { expected: 4, found: version });
        }
        let length = usize::from(fixed[0] & 0x0f) * 4;
        if length < Self::MIN_LENGTH {
            return Err(WireError::Length { min: Self::MIN_LENGTH, found: length });
        }
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let address =
            |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        Ok(Ipv4Header {
            ds: DsField(fixed[1]),
            total_length: word(2),
            identification: word(4),
            fragmentation: Fragmentation(word(6)),
            time_to_live: fixed[8],
            protocol: IpProtocol(fixed[9]),
            checksum: word(10),
            source: address(12),
            destination: address(16),
            options: OptionBytes::new(&first(bytes, length)?[Self::MIN_LENGTH..])?,
        })
    }

    /// Writes the header at the start of `out` with its checksum as it is, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        write(out, &[&self.fixed(), self.options.as_slice()])
    }

    /// Bytes of the header with its options.
    pub fn length(&self) -> usize {
        Self::MIN_LENGTH + self.options.len()
    }

    /// This header with a correct checksum.
    pub fn with_checksum(self) -> Self {
        let blank = Ipv4Header { checksum: 0, ..self };
        Ipv4Header { checksum: blank.sum().checksum(), ..self }
    }

    /// Whether the checksum is correct.
    pub fn is_checksum_right(&self) -> bool {
        self.sum().checksum() == 0
    }

    fn sum(&self) -> Sum {
        Sum::default().with(&self.fixed()).with(self.options.as_slice())
    }

    fn fixed(&self) -> [u8; Self::MIN_LENGTH] {
        let [l0, l1] = self.total_length.to_be_bytes();
        let [i0, i1] = self.identification.to_be_bytes();
        let [f0, f1] = self.fragmentation.0.to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        let [s0, s1, s2, s3] = self.source.octets();
        let [d0, d1, d2, d3] = self.destination.octets();
        let first = 4 << 4 | (self.length() / 4) as u8;
        let (ttl, protocol) = (self.time_to_live, self.protocol.0);
        [
            first, self.ds.0, l0, l1, i0, i1, f0, f1, ttl, protocol, c0, c1, s0, s1, s2, s3, d0,
            d1, d2, d3,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header that is worked through in many textbooks: its checksum is 0xB1E6.
    const EXAMPLE: [u8; 20] = [
        0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0xb1, 0xe6, 0xac, 0x10, 0x0a,
        0x63, 0xac, 0x10, 0x0a, 0x0c,
    ];

    #[test]
    fn the_checksum_of_a_known_header_is_found() {
        let header = Ipv4Header::parse(&EXAMPLE).unwrap();
        assert!(header.is_checksum_right());
        assert_eq!(Ipv4Header { checksum: 0, ..header }.with_checksum(), header);
        assert!(!Ipv4Header { time_to_live: 63, ..header }.is_checksum_right());
    }

    #[test]
    fn a_header_length_below_five_words_is_refused_and_one_beyond_the_bytes_is_truncated() {
        let with_words = |words: u8| {
            let mut bytes = EXAMPLE;
            bytes[0] = 0x40 | words;
            Ipv4Header::parse(&bytes)
        };
        assert_eq!(with_words(4), Err(WireError::Length { min: 20, found: 16 }));
        assert_eq!(with_words(15), Err(WireError::Truncated { needed: 60, found: 20 }));
    }
}
