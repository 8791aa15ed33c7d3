//! Hashes of flows, different in every element and every run.

use shortflow_units::Rng;

use crate::FlowKey;

/// A hash of 5-tuples under a seed of its own (RFC 8290 §4.1), so that outsiders
/// cannot foresee who shares a queue.
#[derive(Debug, Clone)]
pub(crate) struct FlowHash {
    seed: u64,
}

impl FlowHash {
    /// A hash whose seed is the next number of `rng`.
    pub(crate) fn seeded(rng: &mut Rng) -> Self {
        FlowHash { seed: rng.below(u64::MAX) }
    }

    /// A number from 0 to `buckets - 1` for `key`.
    #[inline]
    pub(crate) fn bucket(&self, key: &FlowKey, buckets: usize) -> usize {
        let addresses = u64::from(key.src.0) << 32 | u64::from(key.dst.0);
        let ports = u64::from(key.src_port) << 32 | u64::from(key.dst_port) << 16;
        let hash = mix(mix(self.seed ^ addresses) ^ ports ^ key.protocol as u64);
        ((u128::from(hash) * buckets as u128) >> 64) as usize
    }
}

/// A permutation in which each bit of `x` moves about half of all bits: the finalizer of
/// SplitMix64 (Steele, Lea & Flood 2014, Figure 17).
#[inline]
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Address;

    #[test]
    fn flows_that_differ_in_one_port_or_one_address_spread_evenly() {
        let hash = FlowHash::seeded(&mut Rng::stream(1, "hash"));
        let ports = |n: u16| FlowKey { src_port: n, ..FlowKey::default() };
        let hosts = |n: u16| FlowKey { dst: Address(0x0a00_0000 + u32::from(n)), ..ports(80) };
        for key in [&ports as &dyn Fn(u16) -> FlowKey, &hosts] {
            let mut counts = [0u32; 64];
            (0..64_000).for_each(|n| counts[hash.bucket(&key(n), 64)] += 1);
            // 1000 expected; five standard deviations are 157.
            assert!(counts.iter().all(|count| count.abs_diff(1000) < 157), "{counts:?}");
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
}
