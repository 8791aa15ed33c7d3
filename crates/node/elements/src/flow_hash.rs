//! Hashes of flows and hosts, different in every element and every run.

use shortflow_units::Rng;

use shortflow_packet::{Address, FlowKey};

/// A hash with its own seed (RFC 8290 §4.1). Attackers can choose addresses and ports, but do not know the
/// seed. They can therefore neither predict which flows share a queue, nor overload a table by collisions.
#[derive(Debug, Clone)]
pub(crate) struct FlowHash {
    seed: u64,
}

/// A key that can be hashed: fields of headers.
pub(crate) trait Hashed: Eq {
    /// The hash under `seed`.
    fn hashed(&self, seed: u64) -> u64;
}

impl FlowHash {
    /// A hash whose seed is the next number of `rng`.
    pub(crate) fn seeded(rng: &mut Rng) -> Self {
        FlowHash { seed: rng.below(u64::MAX) }
    }

    /// The hash of `name`.
    #[inline]
    pub(crate) fn hash(&self, name: &impl Hashed) -> u64 {
        name.hashed(self.seed)
    }

    /// Maps `key` to a number from 0 to `buckets - 1`.
    #[inline]
    pub(crate) fn bucket(&self, key: &FlowKey, buckets: usize) -> usize {
        ((u128::from(self.hash(key)) * buckets as u128) >> 64) as usize
    }
}

impl Hashed for FlowKey {
    /// Each step is a permutation of the result of the previous steps. Without the seed it is unknown which
    /// fields would cancel a difference in earlier ones.
    #[inline]
    fn hashed(&self, seed: u64) -> u64 {
        let ports = u64::from(self.src_port) << 32 | u64::from(self.dst_port) << 16;
        let rest = ports ^ u64::from(self.protocol.0);
        let addresses = match (self.src.as_v4(), self.dst.as_v4()) {
            (Some(src), Some(dst)) => mix(seed ^ (u64::from(src) << 32 | u64::from(dst))),
            _ => self.dst.hashed(self.src.hashed(seed)),
        };
        mix(addresses ^ rest)
    }
}

impl Hashed for Address {
    #[inline]
    fn hashed(&self, seed: u64) -> u64 {
        let [high, low] = self.halves();
        mix(mix(seed ^ high) ^ low)
    }
}

/// A permutation in which each bit of `x` changes about half of all bits: the finalizer of SplitMix64
/// (Steele, Lea & Flood 2014, Figure 17).
#[inline]
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_packet::Protocol;

    const BUCKETS: usize = 256;
    const KEYS: u32 = 64 * BUCKETS as u32;

    /// χ² of the counts of `buckets` against an even spread.
    fn chi_square(buckets: impl Iterator<Item = usize>) -> f64 {
        let mut counts = [0_u32; BUCKETS];
        buckets.for_each(|bucket| counts[bucket] += 1);
        let expected = f64::from(KEYS) / BUCKETS as f64;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    fn v4(src: u32, dst: u32, src_port: u16, dst_port: u16) -> FlowKey {
        let [src, dst] = [src, dst].map(Address::v4);
        FlowKey { src, dst, src_port, dst_port, protocol: Protocol::TCP }
    }

    /// The key of number n.
    type Key = fn(u32) -> FlowKey;

    /// Keys as real networks have them: neighbours in one field, or in two at once.
    const STRUCTURED: [(&str, Key); 9] = [
        ("source port", |n| v4(0x0a00_0001, 0x0a00_0002, n as u16, 443)),
        ("destination port", |n| v4(0x0a00_0001, 0x0a00_0002, 443, n as u16)),
        ("source", |n| v4(0x0a00_0000 + n, 0x0a00_0002, 40_000, 443)),
        ("destination", |n| v4(0x0a00_0001, 0xc0a8_0000 + n, 40_000, 443)),
        ("network of the source", |n| v4(n << 16, 0x0a00_0002, 40_000, 443)),
        ("source and port together", |n| v4(0x0a00_0000 + n, 0x0a00_0002, n as u16, 443)),
        ("both addresses, swapped", |n| v4(n % 128, n / 128, 40_000, 443)),
        ("host of an IPv6 site", |n| v6(0x2001_0db8 << 96 | u128::from(n), 1)),
        ("IPv6 site", |n| v6(0x2001_0db8 << 96 | u128::from(n) << 64, 1)),
    ];

    fn v6(src: u128, dst: u128) -> FlowKey {
        FlowKey::without_ports(Address::v6(src), Address::v6(dst), Protocol::ESP)
    }

    #[test]
    fn structured_keys_spread_over_the_buckets_as_chance_would_have_it() {
        for (what, key) in STRUCTURED {
            for name in ["a", "b", "c"] {
                let hash = FlowHash::seeded(&mut Rng::stream(1, name));
                let spread = chi_square((0..KEYS).map(|n| hash.bucket(&key(n), BUCKETS)));
                // 255 degrees of freedom: 346 above and 179 below are 1 in 10,000 each.
                assert!((179.0..346.0).contains(&spread), "{what}, seed {name}: χ² = {spread}");
                // A hash table looks at the last bits, and at the first seven.
                let low = (0..KEYS).map(|n| hash.hash(&key(n)) as usize % BUCKETS);
                let spread = chi_square(low);
                assert!((179.0..346.0).contains(&spread), "{what}, last bits: χ² = {spread}");
            }
        }
    }

    #[test]
    fn hosts_spread_as_flows_do() {
        let hash = FlowHash::seeded(&mut Rng::stream(1, "hosts"));
        for high in [0, 0x2001_0db8_0000_0000] {
            let host = |n: u32| Address::v6(u128::from(high + u64::from(n)) << 64 | 1);
            let spread = chi_square((0..KEYS).map(|n| hash.hash(&host(n)) as usize % BUCKETS));
            assert!((179.0..346.0).contains(&spread), "χ² = {spread}");
        }
    }

    #[test]
    fn each_bit_of_a_key_moves_about_half_of_the_bits_of_its_hash() {
        let hash = FlowHash::seeded(&mut Rng::stream(1, "avalanche"));
        let key = |n: u32| v4(n, n.rotate_left(7), n as u16, !n as u16);
        let flips: [fn(&mut FlowKey, u32); 4] = [
            |key, bit| key.src = Address::v4(key.src.as_v4().unwrap() ^ 1 << bit),
            |key, bit| key.dst = Address::v4(key.dst.as_v4().unwrap() ^ 1 << bit),
            |key, bit| key.src_port ^= 1 << (bit % 16),
            |key, bit| key.dst_port ^= 1 << (bit % 16),
        ];
        for flip in flips {
            for bit in 0..32 {
                let moved: u32 = (0..1000)
                    .map(|n| {
                        let mut other = key(n * 7919);
                        flip(&mut other, bit);
                        (hash.hash(&key(n * 7919)) ^ hash.hash(&other)).count_ones()
                    })
                    .sum();
                // 32 of 64 bits on average; of 1000 keys, five standard deviations are 0.6.
                assert!((31.3..32.7).contains(&(f64::from(moved) / 1000.0)), "bit {bit}: {moved}");
            }
        }
    }

    #[test]
    fn the_protocol_and_the_direction_count_too() {
        let hash = FlowHash::seeded(&mut Rng::stream(1, "hash"));
        let key = v4(0x0a00_0001, 0x0a00_0002, 5000, 80);
        let udp = FlowKey { protocol: Protocol::UDP, ..key };
        let swapped_ports = FlowKey { src_port: 80, dst_port: 5000, ..key };
        for other in [udp, key.reversed(), swapped_ports] {
            assert_ne!(hash.hash(&key), hash.hash(&other));
        }
    }

    #[test]
    fn another_seed_spreads_the_same_flows_otherwise() {
        let buckets = |name| {
            let hash = FlowHash::seeded(&mut Rng::stream(1, name));
            (0..50)
                .map(|n| hash.bucket(&FlowKey { src_port: n, ..FlowKey::default() }, 1024))
                .collect::<Vec<_>>()
        };
        assert_eq!(buckets("a"), buckets("a"));
        assert_ne!(buckets("a"), buckets("b"));
    }

    /// The buckets of flows belong to the answers of a run: a change shows here.
    #[test]
    fn ipv4_flows_have_the_buckets_that_they_always_had() {
        let hash = FlowHash { seed: 1 };
        let buckets = [0, 1, 2, 3].map(|n| hash.bucket(&v4(0x0a00_0001, 0x0a00_0002, n, 80), 1024));
        let plain = |n: u64| {
            let hash = mix(mix(1 ^ 0x0a00_0001_0a00_0002) ^ (n << 32 | 80 << 16) ^ 6);
            (hash >> 54) as usize
        };
        assert_eq!(buckets, [0, 1, 2, 3].map(plain));
    }
}
