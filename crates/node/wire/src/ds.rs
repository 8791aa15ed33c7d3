//! The DS field and ECN in IP headers.

/// The DS field with ECN (RFC 2474 §3, RFC 3168 §5): IPv4's type of service, IPv6's traffic class.
/// The upper six bits are the code point, the lower two ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DsField(pub u8);

impl DsField {
    /// A field with this code point and ECN. Higher bits are ignored.
    pub const fn new(dscp: u8, ecn: u8) -> Self {
        DsField(dscp << 2 | ecn & 0b11)
    }

    /// The code point, from 0 to 63.
    pub const fn dscp(self) -> u8 {
        self.0 >> 2
    }

    /// The ECN field, from 0 to 3; 3 is "congestion experienced".
    pub const fn ecn(self) -> u8 {
        self.0 & 0b11
    }
}
