//! Ethernet II frames, and the tags of virtual LANs.

use crate::bytes::{WireError, head, write};

/// The type of the content of a frame or tag. Numbers below 1536 are lengths of 802.3 frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: EtherType = EtherType(0x0800);
    /// A VLAN tag (IEEE 802.1Q).
    pub const VLAN: EtherType = EtherType(0x8100);
    /// IPv6.
    pub const IPV6: EtherType = EtherType(0x86dd);
    /// A provider's outer tag (IEEE 802.1ad, "QinQ").
    pub const PROVIDER_VLAN: EtherType = EtherType(0x88a8);
    /// A provider's outer tag before 802.1ad.
    pub const OLD_PROVIDER_VLAN: EtherType = EtherType(0x9100);

    /// Whether a tag follows.
    pub const fn is_tag(self) -> bool {
        matches!(self, Self::VLAN | Self::PROVIDER_VLAN | Self::OLD_PROVIDER_VLAN)
    }
}

/// A hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddress(pub [u8; 6]);

/// An Ethernet II header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetHeader {
    /// The destination.
    pub destination: MacAddress,
    /// The source.
    pub source: MacAddress,
    /// The type of the content.
    pub ether_type: EtherType,
}

impl EthernetHeader {
    /// Bytes of the header.
    pub const LENGTH: usize = 14;

    /// Parses the header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] =
            *head::<{ Self::LENGTH }>(bytes)?;
        Ok(EthernetHeader {
            destination: MacAddress([d0, d1, d2, d3, d4, d5]),
            source: MacAddress([s0, s1, s2, s3, s4, s5]),
            ether_type: EtherType(u16::from_be_bytes([t0, t1])),
        })
    }

    /// Writes the header at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let ether_type = self.ether_type.0.to_be_bytes();
        write(out, &[&self.destination.0, &self.source.0, &ether_type])
    }
}

/// A VLAN tag: the part after its EtherType.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// Priority (3 bits), drop eligibility (1 bit), VLAN identifier (12 bits).
    pub control: u16,
    /// The type of the content.
    pub ether_type: EtherType,
}

impl VlanTag {
    /// Length of a tag in bytes, after its EtherType.
    pub const LENGTH: usize = 4;

    /// A tag without drop eligibility. Bits above 3 and 12 are ignored.
    pub const fn new(priority: u8, id: u16, ether_type: EtherType) -> Self {
        VlanTag { control: (priority as u16 & 0b111) << 13 | id & 0x0fff, ether_type }
    }

    /// The priority code point, from 0 to 7.
    pub const fn priority(self) -> u8 {
        (self.control >> 13) as u8
    }

    /// Whether the frame may be dropped first.
    pub const fn is_drop_eligible(self) -> bool {
        self.control & 0x1000 != 0
    }

    /// The VLAN identifier, from 0 to 4095.
    pub const fn id(self) -> u16 {
        self.control & 0x0fff
    }

    /// Parses the tag at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let [c0, c1, t0, t1] = *head::<{ Self::LENGTH }>(bytes)?;
        let ether_type = EtherType(u16::from_be_bytes([t0, t1]));
        Ok(VlanTag { control: u16::from_be_bytes([c0, c1]), ether_type })
    }

    /// Writes the tag at the start of `out`, and returns its length.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, WireError> {
        write(out, &[&self.control.to_be_bytes(), &self.ether_type.0.to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_holds_priority_and_number_where_802_1q_puts_them() {
        let tag = VlanTag::new(5, 100, EtherType::IPV4);
        assert_eq!((tag.control, tag.priority(), tag.id()), (0xa064, 5, 100));
        assert!(!tag.is_drop_eligible());
        assert!(VlanTag { control: 0x1000, ..tag }.is_drop_eligible());
    }
}
