//! Addresses and prefixes of either version of IP.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A prefix. One of IPv4 is kept as the prefix of IPv6 that maps it (RFC 4291 §2.5.5.2), so that one table has both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    bits: u128,
    length: u8,
}

/// Bits before an address of IPv4 in the one that maps it.
const MAPPED: u8 = 96;

/// Why a text is no prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixError {
    /// It is no address.
    NotAddress,
    /// Its length is not a number up to this one.
    Length {
        /// 32 or 128.
        max: u8,
    },
    /// Bits behind the prefix are set; this is the prefix alone.
    HostBits(Prefix),
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrefixError::NotAddress => {
                f.write_str("write an address or a prefix, as in `192.0.2.7` or `2001:db8:7::/48`")
            }
            PrefixError::Length { max } => write!(f, "write a length from 0 to {max} behind `/`"),
            PrefixError::HostBits(prefix) => {
                write!(f, "bits behind the prefix are set: write `{prefix}`")
            }
        }
    }
}

impl Prefix {
    /// The address, in the order of the network, as one of IPv6.
    pub fn octets(self) -> [u8; 16] {
        self.bits.to_be_bytes()
    }

    /// A single address.
    pub fn host(address: IpAddr) -> Prefix {
        let bits = match address {
            IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
            IpAddr::V6(address) => u128::from(address),
        };
        Prefix { bits, length: 128 }
    }

    /// Its first address that a host can have: not that of the network, and in IPv6 not that of the routers, unless it has one
    /// or two addresses.
    pub(crate) fn first_host(self) -> Option<IpAddr> {
        let skipped = u128::from(self.length < 127);
        Some(address(self.bits.checked_add(skipped)?))
    }

    /// The address behind its last one.
    pub(crate) fn after(self) -> Option<IpAddr> {
        (self.bits | !mask(self.length)).checked_add(1).map(address)
    }

    /// How many of its first bits count, of the 128 of an address of IPv6.
    pub fn length(self) -> u8 {
        self.length
    }

    /// All addresses of IPv4.
    pub const ALL_IPV4: Prefix = Prefix { bits: 0xffff << 32, length: MAPPED };

    /// Whether all addresses of another prefix belong to this one. No address of IPv4 belongs to a prefix of IPv6.
    pub fn contains(self, other: Prefix) -> bool {
        let is_ipv4 = |prefix: Prefix| Prefix::ALL_IPV4.has(prefix);
        self.has(other) && is_ipv4(self) == is_ipv4(other)
    }

    /// Whether it has all addresses of another one that the program's table takes for one of IPv6.
    pub fn has(self, other: Prefix) -> bool {
        self.length <= other.length && other.bits & mask(self.length) == self.bits
    }
}

fn address(bits: u128) -> IpAddr {
    Ipv6Addr::from(bits).to_canonical()
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Prefix, PrefixError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| PrefixError::NotAddress)?;
        let (bits, before, max) = match address {
            IpAddr::V4(address) => (u128::from(address.to_ipv6_mapped()), MAPPED, 32),
            IpAddr::V6(address) => (u128::from(address), 0, 128),
        };
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let length = match length {
            None => max,
            Some(text) => Some(text)
                .filter(is_number)
                .and_then(|text| text.parse().ok())
                .filter(|length| *length <= max)
                .ok_or(PrefixError::Length { max })?,
        };
        let length = before + length;
        let prefix = Prefix { bits: bits & mask(length), length };
        if prefix.bits == bits { Ok(prefix) } else { Err(PrefixError::HostBits(prefix)) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.bits);
        let mapped: Option<Ipv4Addr> = address.to_ipv4_mapped().filter(|_| self.length >= MAPPED);
        match mapped {
            Some(address) if self.length == 128 => write!(f, "{address}"),
            Some(address) => write!(f, "{address}/{}", self.length - MAPPED),
            None if self.length == 128 => write!(f, "{address}"),
            None => write!(f, "{address}/{}", self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_both_versions_are_read_and_printed_alike() {
        for text in
            ["192.0.2.7", "192.0.2.0/24", "0.0.0.0/0", "2001:db8::1", "2001:db8::/32", "::/0"]
        {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn texts_that_are_no_prefixes_are_refused_with_what_is_allowed() {
        let message = |text: &str| text.parse::<Prefix>().unwrap_err().to_string();
        assert!(message("192.0.2").contains("192.0.2.7"));
        assert!(message("").contains("write an address"));
        assert!(message("192.0.2.0/33").contains("0 to 32"));
        assert!(message("2001:db8::/129").contains("0 to 128"));
        assert!(message("192.0.2.0/+8").contains("0 to 32"));
        assert_eq!(message("192.0.2.7/24"), "bits behind the prefix are set: write `192.0.2.0/24`");
    }

    #[test]
    fn a_prefix_contains_longer_ones_of_the_same_bits() {
        let prefix = |text: &str| text.parse::<Prefix>().unwrap();
        assert!(prefix("192.0.2.0/24").contains(prefix("192.0.2.7")));
        assert!(!prefix("192.0.2.0/24").contains(prefix("192.0.3.7")));
        assert!(!prefix("192.0.2.7").contains(prefix("192.0.2.0/24")));
        assert!(!prefix("0.0.0.0/0").contains(prefix("2001:db8::/32")));
        assert!(prefix("::/0").contains(prefix("2001:db8::/32")));
        assert!(!prefix("::/0").contains(prefix("192.0.2.7")));
        assert_eq!(prefix("0.0.0.0/0"), Prefix::ALL_IPV4);
    }
}
