//! IPv6 extension headers (RFC 8200 §4), and the authentication header of both IP versions (RFC 4302).

use crate::bytes::{WireError, first, head, write};
use crate::{Fragmentation, IpProtocol};

/// An extension header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension<'a> {
    /// A header that is skipped: hop-by-hop options, routing, destination options, mobility, HIP, Shim6.
    Opaque(OpaqueExtension<'a>),
    /// A fragment header.
    Fragment(FragmentHeader),
    /// An authentication header.
    Authentication(AuthenticationHeader<'a>),
}

/// An extension header whose content is not parsed (RFC 8200 §4.3–4.6, RFC 6564 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpaqueExtension<'a> {
    /// The type of the next header.
    pub next: IpProtocol,
    /// Its content: 6, 14, 22, … up to 2046 bytes.
    pub content: &'a [u8],
}

/// A fragment header (RFC 8200 §4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentHeader {
    /// The type of the header at the start of the first fragment's payload.
    pub next: IpProtocol,
    /// Eight reserved bits.
    pub reserved: u8,
    /// 13 bits of offset in units of 8 bytes, two reserved bits, "more fragments".
    pub place: u16,
    /// The identification of the fragmented packet.
    pub identification: u32,
}

/// An authentication header (RFC 4302 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticationHeader<'a> {
    /// The type of the next header.
    pub next: IpProtocol,
    /// Sixteen reserved bits.
    pub reserved: u16,
    /// The security parameters index.
    pub security_parameters: u32,
    /// The sequence number.
    pub sequence: u32,
    /// The integrity check value: words of 4 bytes, up to 1016 bytes.
    pub check: &'a [u8],
}

impl<'a> Extension<'a> {
    /// Whether this kind is an extension header that can be parsed.
    pub const fn is_kind(kind: IpProtocol) -> bool {
        Self::is_opaque(kind) || matches!(kind, IpProtocol::FRAGMENT | IpProtocol::AUTHENTICATION)
    }

    const fn is_opaque(kind: IpProtocol) -> bool {
        matches!(
            kind,
            IpProtocol::HOP_BY_HOP
                | IpProtocol::ROUTING
                | IpProtocol::DESTINATION_OPTIONS
                | IpProtocol::MOBILITY
                | IpProtocol::HIP
                | IpProtocol::SHIM6
        )
    }

    /// Parses the extension header of this kind at the start of `bytes`. `None` if `kind` is not an extension
    /// header.
    pub fn parse(kind: IpProtocol, bytes: &'a [u8]) -> Option<Result<Self, WireError>> {
        match kind {
            IpProtocol::FRAGMENT => Some(FragmentHeader::parse(bytes).map(Extension::Fragment)),
            IpProtocol::AUTHENTICATION => {
                Some(AuthenticationHeader::parse(bytes).map(Extension::Authentication))
            }
            kind if Self::is_opaque(kind) => {
                Some(OpaqueExtension::parse(bytes).map(Extension::Opaque))
            }
            _ => None,
        }
    }

    /// Writes the header at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        match self {
            Extension::Opaque(header) => header.emit(out),
            Extension::Fragment(header) => header.emit(out),
            Extension::Authentication(header) => header.emit(out),
        }
    }

    /// The type of the next header.
    pub fn next(&self) -> IpProtocol {
        match self {
            Extension::Opaque(header) => header.next,
            Extension::Fragment(header) => header.next,
            Extension::Authentication(header) => header.next,
        }
    }

    /// Bytes of the header.
    pub fn length(&self) -> usize {
        match self {
            Extension::Opaque(header) => 2 + header.content.len(),
            Extension::Fragment(_) => FragmentHeader::LENGTH,
            Extension::Authentication(header) => {
                AuthenticationHeader::MIN_LENGTH + header.check.len()
            }
        }
    }
}

impl<'a> OpaqueExtension<'a> {
    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let [next, units] = *head::<2>(bytes)?;
        let length = (usize::from(units) + 1) * 8;
        Ok(OpaqueExtension { next: IpProtocol(next), content: &first(bytes, length)?[2..] })
    }

    /// Writes the header at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let length = 2 + self.content.len();
        let units = u8::try_from(length / 8).ok().filter(|_| length.is_multiple_of(8));
        let units = units.and_then(|units| units.checked_sub(1));
        // 256 units are encoded as 255.
        let units = if length == 2048 { Some(u8::MAX) } else { units };
        let units = units.ok_or(WireError::InvalidLength(self.content.len()))?;
        write(out, &[&[self.next.0, units], self.content])
    }
}

impl FragmentHeader {
    /// Bytes of the header.
    pub const LENGTH: usize = 8;

    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let [next, reserved, p0, p1, i0, i1, i2, i3] = *head::<{ Self::LENGTH }>(bytes)?;
        Ok(FragmentHeader {
            next: IpProtocol(next),
            reserved,
            place: u16::from_be_bytes([p0, p1]),
            identification: u32::from_be_bytes([i0, i1, i2, i3]),
        })
    }

    /// Writes the header at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let (place, identification) = (self.place.to_be_bytes(), self.identification.to_be_bytes());
        write(out, &[&[self.next.0, self.reserved], &place, &identification])
    }

    /// The offset of this fragment in the original payload, in bytes.
    pub const fn offset(&self) -> u32 {
        (self.place & 0xfff8) as u32
    }

    /// Whether more fragments follow.
    pub const fn has_more(&self) -> bool {
        self.place & 1 != 0
    }
}

impl<'a> AuthenticationHeader<'a> {
    /// Length of a header without integrity check value.
    pub const MIN_LENGTH: usize = 12;

    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let [next, words, r0, r1, a0, a1, a2, a3, s0, s1, s2, s3] = *head::<12>(bytes)?;
        // The field is the number of 4-byte words minus two, for IPv4 too.
        let length = (usize::from(words) + 2) * 4;
        if length < Self::MIN_LENGTH {
            return Err(WireError::Length { min: Self::MIN_LENGTH, found: length });
        }
        Ok(AuthenticationHeader {
            next: IpProtocol(next),
            reserved: u16::from_be_bytes([r0, r1]),
            security_parameters: u32::from_be_bytes([a0, a1, a2, a3]),
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            check: &first(bytes, length)?[Self::MIN_LENGTH..],
        })
    }

    /// Writes the header at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let words = u8::try_from(self.check.len() / 4 + 1).ok();
        let words = words.filter(|_| self.check.len().is_multiple_of(4));
        let words = words.ok_or(WireError::InvalidLength(self.check.len()))?;
        write(
            out,
            &[
                &[self.next.0, words],
                &self.reserved.to_be_bytes(),
                &self.security_parameters.to_be_bytes(),
                &self.sequence.to_be_bytes(),
                self.check,
            ],
        )
    }
}

/// Iterates over the extension headers at the start of some bytes. It ends at another header, at an invalid
/// one, or after a fragment that is not the first.
///
/// Each header occurs at most once, only destination options occur up to twice (RFC 8200 §4.1). The iteration
/// therefore ends after [`Extensions::MAX_COUNT`] headers.
#[derive(Debug, Clone)]
pub struct Extensions<'a> {
    bytes: &'a [u8],
    kind: IpProtocol,
    at: usize,
    walked: usize,
    has_ended: bool,
}

impl<'a> Extensions<'a> {
    /// The limit on headers.
    pub const MAX_COUNT: usize = 8;

    /// The headers in `bytes`; the first has this kind.
    pub fn new(kind: IpProtocol, bytes: &'a [u8]) -> Self {
        Extensions { bytes, kind, at: 0, walked: 0, has_ended: false }
    }

    /// The type of the header after the last one so far.
    pub fn next_kind(&self) -> IpProtocol {
        self.kind
    }

    /// Total length so far, in bytes.
    pub fn length(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Result<Extension<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Hop-by-hop options are valid only as the first header (RFC 8200 §4.1).
        let is_late_hop_by_hop = self.kind == IpProtocol::HOP_BY_HOP && self.walked > 0;
        if self.has_ended || self.walked == Self::MAX_COUNT || is_late_hop_by_hop {
            return None;
        }
        let found = Extension::parse(self.kind, self.bytes.get(self.at..)?)?;
        match &found {
            Ok(extension) => {
                self.kind = extension.next();
                self.at += extension.length();
                self.walked += 1;
                self.has_ended = matches!(extension, Extension::Fragment(it) if it.offset() > 0);
            }
            Err(_) => self.has_ended = true,
        }
        Some(found)
    }
}

impl From<&FragmentHeader> for Fragmentation {
    /// The fragmentation field of IPv4.
    fn from(header: &FragmentHeader) -> Self {
        Fragmentation(header.place >> 3 | (header.place & 1) << 13)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_walked_to_its_end_and_never_longer_than_the_most() {
        // Destination options that name destination options as what follows, for ever.
        let chain: [u8; 80] = core::array::from_fn(|at| if at % 8 == 0 { 60 } else { 0 });
        let mut walk = Extensions::new(IpProtocol::DESTINATION_OPTIONS, &chain);
        assert_eq!(walk.by_ref().count(), Extensions::MAX_COUNT);
        assert_eq!(walk.length(), 64);
        assert_eq!(walk.next_kind(), IpProtocol::DESTINATION_OPTIONS);
    }

    #[test]
    fn nothing_is_walked_behind_a_later_fragment() {
        let bytes = [60, 0, 0, 8, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0, 0];
        let mut walk = Extensions::new(IpProtocol::FRAGMENT, &bytes);
        assert_eq!(walk.by_ref().count(), 1);
        assert_eq!((walk.length(), walk.next_kind()), (8, IpProtocol::DESTINATION_OPTIONS));
    }

    #[test]
    fn hop_by_hop_options_are_walked_only_where_they_come_first() {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Extensions::new(IpProtocol::HOP_BY_HOP, &bytes).count(), 1);
    }

    #[test]
    fn contents_of_lengths_that_cannot_be_said_are_refused() {
        let mut out = [0; 4096];
        let opaque = |content| OpaqueExtension { next: IpProtocol::TCP, content };
        assert_eq!(opaque(&[0; 7]).emit(&mut out), Err(WireError::InvalidLength(7)));
        assert_eq!(opaque(&[]).emit(&mut out), Err(WireError::InvalidLength(0)));
        assert_eq!(opaque(&[0; 2046]).emit(&mut out), Ok(2048));
        assert_eq!(opaque(&[0; 2054]).emit(&mut out), Err(WireError::InvalidLength(2054)));
    }
}
