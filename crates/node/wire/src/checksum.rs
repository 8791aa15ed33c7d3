//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

use core::net::IpAddr;

use crate::IpProtocol;

/// A partial ones' complement sum of 16-bit words.
///
/// ```
/// use shortflow_wire::checksum::Sum;
///
/// // The example of RFC 1071 §3.
/// let sum = Sum::default().with(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
/// assert_eq!(sum.checksum(), !0xddf2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// The sum of the pseudo-header of TCP, UDP and ICMPv6 for a segment of `length` bytes (RFC 9293 §3.1,
    /// RFC 768, RFC 8200 §8.1). Does not check that both addresses have the same version.
    pub fn pseudo_header(
        source: IpAddr,
        destination: IpAddr,
        protocol: IpProtocol,
        length: u32,
    ) -> Sum {
        let sum = Sum(u64::from(length)).with_word(u16::from(protocol.0));
        sum.with_address(source).with_address(destination)
    }

    /// Adds bytes. An odd last byte counts as the upper half of a word, so only the last piece may have an
    /// odd length.
    pub fn with(self, bytes: &[u8]) -> Sum {
        let (words, last) = bytes.as_chunks::<2>();
        let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
        let last: u64 = last.iter().map(|byte| u64::from(*byte) << 8).sum();
        Sum(self.0 + sum + last)
    }

    /// Adds a word.
    pub fn with_word(self, word: u16) -> Sum {
        Sum(self.0 + u64::from(word))
    }

    fn with_address(self, address: IpAddr) -> Sum {
        match address {
            IpAddr::V4(address) => self.with(&address.octets()),
            IpAddr::V6(address) => self.with(&address.octets()),
        }
    }

    /// The checksum: the complement of the sum. It is zero over bytes that contain their correct checksum.
    pub fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > u64::from(u16::MAX) {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// The checksum of UDP, where 0 means "no checksum" (RFC 768).
    pub fn checksum_never_zero(self) -> u16 {
        match self.checksum() {
            0 => u16::MAX,
            checksum => checksum,
        }
    }
}

/// The checksum after a change of one covered word: equation 3 of RFC 1624. A wrong checksum stays wrong.
pub fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    Sum(0).with_word(!checksum).with_word(!old).with_word(new).checksum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1624_gives_zero_and_not_its_negative() {
        // §4: HC = 0xDD2F, m = 0x5555, m' = 0x3285 gives 0x0000.
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn an_odd_last_byte_counts_as_the_upper_half_of_a_word() {
        assert_eq!(Sum::default().with(&[0x12, 0x34, 0x56]).checksum(), !(0x1234 + 0x5600));
    }

    #[test]
    fn udp_writes_a_checksum_of_zero_as_all_ones() {
        let sum = Sum::default().with_word(0xffff);
        assert_eq!((sum.checksum(), sum.checksum_never_zero()), (0, 0xffff));
    }

    #[test]
    fn carries_go_round_more_than_once() {
        assert_eq!(Sum(0xffff_0001).checksum(), !1);
    }
}
