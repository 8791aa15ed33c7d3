//! IPv4 and IPv6 addresses and prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An IPv4 or IPv6 address. An IPv4 address is stored as its IPv4-mapped IPv6 address, `::ffff:a.b.c.d` (RFC
/// 4291 §2.5.5.2). The two versions therefore never overlap, and comparisons, prefixes and hashes are the
/// same for both. The default is 0.0.0.0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The first 64 bits: in IPv6 usually the site and its subnet.
    high: u64,
    /// The last 64 bits.
    low: u64,
}

/// The bits before the 32 bits of an IPv4 address.
const MAPPED: u64 = 0xffff;

impl Address {
    /// The IPv4 address of these 32 bits.
    #[inline]
    pub const fn v4(bits: u32) -> Self {
        Address { high: 0, low: MAPPED << 32 | bits as u64 }
    }

    /// The IPv6 address of these 128 bits.
    #[inline]
    pub const fn v6(bits: u128) -> Self {
        Address { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// The 32 bits of an IPv4 address; `None` for an IPv6 address.
    #[inline]
    pub const fn as_v4(self) -> Option<u32> {
        if self.high == 0 && self.low >> 32 == MAPPED { Some(self.low as u32) } else { None }
    }

    /// The last 32 bits: the whole of an IPv4 address.
    #[inline]
    pub const fn last_32_bits(self) -> u32 {
        self.low as u32
    }

    /// The first and the last 64 bits, in the stored form.
    #[inline]
    pub const fn halves(self) -> [u64; 2] {
        [self.high, self.low]
    }

    /// An IPv6 address with all bits after the first `length` (up to 128) set to zero. An IPv4 address is
    /// returned unchanged.
    #[inline]
    #[must_use]
    pub fn ipv6_network(self, length: u8) -> Self {
        if self.as_v4().is_some() { self } else { Address::v6(self.bits() & mask(length)) }
    }

    const fn bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// The number of bits of an address in this version.
    const fn length(self) -> u8 {
        if self.as_v4().is_some() { 32 } else { 128 }
    }
}

/// The first `length` of 128 bits.
const fn mask(length: u8) -> u128 {
    match length {
        0 => 0,
        length => u128::MAX << (128 - length as u32),
    }
}

impl Default for Address {
    fn default() -> Self {
        Address::v4(0)
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Address::v4(address.to_bits()),
            IpAddr::V6(address) => Address::v6(address.to_bits()),
        }
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        match address.as_v4() {
            Some(bits) => IpAddr::V4(Ipv4Addr::from_bits(bits)),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.bits())),
        }
    }
}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed: Result<IpAddr, _> = text.parse();
        parsed.map(Address::from).map_err(|_| ParseAddressError { found: text.to_owned() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IpAddr::from(*self).fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The addresses of one version that share their first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    network: Address,
    mask: Address,
}

impl Prefix {
    /// The addresses that match `address` in the first `length` bits, at most 32 for IPv4 and 128 for IPv6.
    /// The other bits of `address` must be zero. Length 0 is every address of the version.
    pub fn new(address: Address, length: u8) -> Result<Self, PrefixError> {
        let max = address.length();
        if length > max {
            return Err(PrefixError::Length { address, max, found: length });
        }
        let mask = mask(128 - max + length);
        let network = Address::v6(address.bits() & mask);
        if network != address {
            return Err(PrefixError::BitsBeyond { address, network, length });
        }
        Ok(Prefix { network, mask: Address::v6(mask) })
    }

    /// The single address `address`.
    pub fn host(address: Address) -> Self {
        Prefix { network: address, mask: Address::v6(u128::MAX) }
    }

    /// The first address, whose bits after the prefix are zero.
    pub fn network(self) -> Address {
        self.network
    }

    /// The prefix length: up to 32 for IPv4, 128 for IPv6.
    pub fn length(self) -> u8 {
        // A mask includes the 96 bits before an IPv4 address.
        self.mask.bits().leading_ones() as u8 - (128 - self.network.length())
    }

    /// Whether it contains `address`.
    #[inline]
    pub fn contains(self, address: Address) -> bool {
        address.high & self.mask.high == self.network.high
            && address.low & self.mask.low == self.network.low
            && self.is_v4() == address.as_v4().is_some()
    }

    /// The first address of the network of this size that has `address`, an address of the same version.
    #[inline]
    #[must_use]
    pub fn network_of(self, address: Address) -> Address {
        Address { high: address.high & self.mask.high, low: address.low & self.mask.low }
    }

    /// Whether it is an IPv4 prefix.
    #[inline]
    pub const fn is_v4(self) -> bool {
        self.network.as_v4().is_some()
    }
}

/// The text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid address \"{found}\"; write one such as 10.0.0.1 or 2001:db8::1")]
pub struct ParseAddressError {
    found: String,
}

/// An invalid prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// An address of this version has fewer bits.
    #[error("the prefix length of {address} must be 0 to {max}; found {found}")]
    Length {
        /// The address.
        address: Address,
        /// The bits of an address of its version.
        max: u8,
        /// The length that was given.
        found: u8,
    },
    /// The address has bits after the prefix that are not zero.
    #[error("{address}/{length} has bits beyond its prefix; write {network}/{length}")]
    BitsBeyond {
        /// The address that was given.
        address: Address,
        /// The address without these bits.
        network: Address,
        /// The length of the prefix.
        length: u8,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    fn prefix(text: &str) -> Prefix {
        let (network, length) = text.split_once('/').unwrap();
        Prefix::new(address(network), length.parse().unwrap()).unwrap()
    }

    #[test]
    fn an_address_reads_back_as_it_was_written_whatever_its_family() {
        for text in ["0.0.0.0", "10.1.2.3", "255.255.255.255", "::", "::1", "2001:db8::a:b"] {
            assert_eq!(address(text).to_string(), text);
        }
        assert_eq!(address("10.0.0.1"), Address::v4(0x0a00_0001));
        assert_eq!(address("10.0.0.1").as_v4(), Some(0x0a00_0001));
        assert_eq!(address("::a00:1").as_v4(), None, "these 128 bits are not an IPv4 address");
        let refused = "10.0.0".parse::<Address>().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "invalid address \"10.0.0\"; write one such as 10.0.0.1 or 2001:db8::1"
        );
    }

    #[test]
    fn a_prefix_contains_the_addresses_of_its_family_that_share_its_bits() {
        let inside = |text, of| prefix(text).contains(address(of));
        assert!(inside("10.1.0.0/16", "10.1.255.255") && !inside("10.1.0.0/16", "10.2.0.0"));
        assert!(inside("0.0.0.0/0", "255.255.255.255") && !inside("0.0.0.0/0", "2001:db8::1"));
        assert!(inside("10.0.0.1/32", "10.0.0.1") && !inside("10.0.0.1/32", "10.0.0.0"));
        // The bits of an IPv4 address, as it is kept, begin with those of each of these.
        for text in ["::/0", "::/1", "::/80"] {
            assert!(inside(text, "::1") && !inside(text, "10.0.0.1") && !inside(text, "0.0.0.0"));
        }
        assert!(inside("2001:db8::/32", "2001:db8:ffff::1"));
        assert!(!inside("2001:db8::/32", "2001:db9::"));
        assert!(inside("2001:db8::/65", "2001:db8::1"));
        assert!(!inside("2001:db8::/65", "2001:db8:0:0:8000::"));
        let host = Prefix::host(address("2001:db8::1"));
        assert!(host.contains(address("2001:db8::1")) && !host.contains(address("2001:db8::2")));
    }

    #[test]
    fn a_prefix_is_read_as_it_was_written_whatever_its_family() {
        for text in ["0.0.0.0/0", "10.1.0.0/16", "10.0.0.1/32", "::/0", "2001:db8::/32"] {
            let prefix = prefix(text);
            assert_eq!(format!("{}/{}", prefix.network(), prefix.length()), text);
        }
        assert_eq!(Prefix::host(address("10.0.0.1")).length(), 32);
        assert_eq!(Prefix::host(address("::1")).length(), 128);
    }

    #[test]
    fn a_prefix_with_stray_bits_is_refused_with_the_one_that_was_meant() {
        let refused = |text, length| Prefix::new(address(text), length).unwrap_err().to_string();
        assert_eq!(
            refused("10.1.2.3", 16),
            "10.1.2.3/16 has bits beyond its prefix; write 10.1.0.0/16"
        );
        assert_eq!(
            refused("10.1.2.3", 33),
            "the prefix length of 10.1.2.3 must be 0 to 32; found 33"
        );
        assert_eq!(
            refused("2001:db8::1", 64),
            "2001:db8::1/64 has bits beyond its prefix; write 2001:db8::/64"
        );
        assert_eq!(refused("::", 129), "the prefix length of :: must be 0 to 128; found 129");
    }

    #[test]
    fn the_network_of_an_ipv6_address_is_its_first_bits_and_an_ipv4_address_is_its_own() {
        assert_eq!(address("2001:db8::1:2").ipv6_network(64), address("2001:db8::"));
        assert_eq!(address("2001:db8::1:2").ipv6_network(128), address("2001:db8::1:2"));
        assert_eq!(address("2001:db8::1:2").ipv6_network(0), address("::"));
        assert_eq!(address("10.0.0.1").ipv6_network(64), address("10.0.0.1"));
    }
}
