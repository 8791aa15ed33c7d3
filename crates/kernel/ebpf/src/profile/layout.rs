//! The structures of programs/shares.h and programs/selection.h as bytes.

use std::net::IpAddr;

use shortflow_units::{Bytes, Duration, Rate};

use super::{TcpFilter, TcpGrowth, TcpOrder, TcpSettings, sharing};
use crate::packed::Packed;

/// Tokens per byte.
const PER_BYTE: u64 = 1_000_000;

/// What the program counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpState {
    /// Connections that have a share of their own.
    pub connections: u32,
    /// Bytes that the bucket holds; negative when segments left that the program was not asked for.
    pub held: i64,
    /// Bytes on the network layer that the connections have sent.
    pub sent: Bytes,
    /// Those of them that TCP sent without asking: retransmissions after timeouts, probes, and segments without data.
    pub unasked: Bytes,
    /// How many bursts were withheld, or shortened.
    pub withheld: u64,
    /// How many segments of TCP's timers the profile had no tokens for, so that they stayed.
    pub stopped: u64,
    /// Bytes that left without tokens: TCP closes connections whose timers send nothing for long.
    pub forced: Bytes,
    /// How many bursts left with tokens.
    pub bursts: u64,
    /// For how long the first segments of these waited for tokens, in all.
    pub waited: Duration,
}

/// Offsets in `struct shares`.
const CONNECTIONS: usize = 4;
const LEVEL: usize = 32;
const OTHERS: usize = 124;
const COUNTS: usize = 128;

#[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody loads it"))]
impl TcpState {
    /// Reads `struct shares`.
    pub(super) fn read(bytes: &[u8]) -> TcpState {
        let four = |at: usize| {
            u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("the slice has 4 bytes"))
        };
        let long = |at: usize| {
            u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("the slice has 8 bytes"))
        };
        TcpState {
            connections: four(CONNECTIONS) - u32::from(four(OTHERS) != 0),
            held: long(LEVEL).cast_signed() / PER_BYTE.cast_signed(),
            sent: Bytes(long(COUNTS)),
            unasked: Bytes(long(COUNTS + 8)),
            withheld: long(COUNTS + 16),
            stopped: long(COUNTS + 24),
            forced: Bytes(long(COUNTS + 32)),
            bursts: long(COUNTS + 40),
            waited: Duration::from_micros(long(COUNTS + 48)),
        }
    }
}

/// Whole bytes per second, rounded down, so that no more is sent than the rate allows.
fn bytes_per_sec(rate: Option<Rate>) -> u64 {
    rate.map_or(0, |rate| rate.bits_per_sec() / 8)
}

/// As the kernel keeps round-trip times.
fn eighths(time: Duration) -> u64 {
    time.nanos() * 8 / 1000
}

#[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody loads it"))]
impl TcpSettings {
    /// `struct settings`.
    pub(super) fn packed(&self) -> Vec<u8> {
        let TcpSettings { profile, order, growth, window_rate, .. } = self;
        let [kind, by_rtt] = sharing(self.sharing);
        let order = match order {
            TcpOrder::FirstCome => 0,
            TcpOrder::LeastRecentlyServed => 1,
        };
        let (growth, reference, increase) = match *growth {
            TcpGrowth::Reno => (0, 0, 0),
            TcpGrowth::AggregateFair => (1, 0, 0),
            TcpGrowth::ConstantRate { reference } => (2, eighths(reference), 0),
            TcpGrowth::IncreaseByK { segments, above } => (3, eighths(above), segments),
        };
        let max_packet = profile.max_packet().0;
        Packed::default()
            .long(bytes_per_sec(Some(profile.rate())))
            .long(bytes_per_sec(profile.peak()))
            .long(bytes_per_sec(*window_rate))
            .long(profile.depth().0 * PER_BYTE)
            .long(max_packet * PER_BYTE)
            .long(reference)
            .long(self.idle_timeout.nanos() / 1000)
            .four(self.connections as u32)
            .four(u32::try_from(max_packet).unwrap_or(u32::MAX))
            .four(increase)
            .bytes(&[kind, by_rtt, order, growth])
            .0
    }
}

/// An address of 128 bits and the mask of those that count.
fn address(given: Option<(IpAddr, u8)>) -> ([u8; 16], [u8; 16]) {
    let Some((address, length)) = given else { return ([0; 16], [0; 16]) };
    let (address, length) = match address {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), 96 + u32::from(length)),
        IpAddr::V6(address) => (address, length.into()),
    };
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    (address.octets(), mask.to_be_bytes())
}

#[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nobody loads it"))]
impl TcpFilter {
    /// `struct filter`, with the network namespace, the name of the control, and the control for those that have nothing to
    /// go back to.
    pub(super) fn packed(&self, namespace: u32, name: &str, usual: &str) -> Vec<u8> {
        let (here, here_mask) = address(self.local);
        let (there, there_mask) = address(self.peer);
        Packed::default()
            .bytes(&here)
            .bytes(&here_mask)
            .bytes(&there)
            .bytes(&there_mask)
            .bytes(&self.local_port.unwrap_or(0).to_ne_bytes())
            .bytes(&self.peer_port.unwrap_or(0).to_ne_bytes())
            .four(namespace)
            .bytes(&name_bytes(name))
            .bytes(&name_bytes(usual))
            .0
    }
}

/// The name of a congestion control, which ends in a zero.
pub(super) fn name_bytes(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv4_matches_as_the_mapped_one_of_ipv6() {
        let (found, mask) = address(Some(("192.0.2.0".parse().unwrap(), 24)));
        assert_eq!(found[10..], [0xff, 0xff, 192, 0, 2, 0]);
        assert_eq!(mask[..15], [0xff; 15], "the prefix of mapped addresses counts");
        assert_eq!(mask[15], 0);
        assert_eq!(address(Some(("::".parse().unwrap(), 0))).1, [0; 16]);
        assert_eq!(address(Some(("fd00::".parse().unwrap(), 8))).1[..2], [0xff, 0]);
    }
}
