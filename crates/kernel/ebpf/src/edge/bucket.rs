//! The tokens in the buckets of a class, computed from the program's state.

use super::EdgeBucket;
use super::layout::PER_BYTE;

/// Where fields stand in `struct class` and `struct state`.
const RATES: usize = 0;
const DEPTHS: usize = 16;
const MAX_ENTRIES: usize = 32;
const BY: usize = 140;
const METER: usize = 244;
const EARNED_AT: usize = 8;
const HELD: usize = 24;

/// The numbers of meters with buckets: one; two, each with a rate; one that the other runs over into; two again.
const TOKEN_BUCKET: u8 = 1;
const TWO_BUCKETS: u8 = 2;
const SR_TCM: u8 = 3;
const TR_TCM: u8 = 4;

/// The buckets of a class at a time, from its `struct class` and `struct state`, as `earn` in programs/edge.bpf.c would leave
/// them for a packet that comes now; none of a class with another meter, or with buckets for each flow or host.
pub(super) fn buckets(class: &[u8], state: &[u8], now: u64) -> Vec<EdgeBucket> {
    let long = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 8).and_then(<[u8]>::first_chunk).map_or(0, |it| u64::from_ne_bytes(*it))
    };
    let meter = class.get(METER).copied().unwrap_or(0);
    let is_shared = class.get(BY) == Some(&0);
    let count = match meter {
        TOKEN_BUCKET => 1,
        TWO_BUCKETS | SR_TCM | TR_TCM => 2,
        _ => 0,
    };
    let elapsed = now.saturating_sub(long(state, EARNED_AT));
    let pair = |bytes: &[u8], at: usize| [long(bytes, at), long(bytes, at + 8)].map(u128::from);
    let (rates, depths, max) = (pair(class, RATES), pair(class, DEPTHS), pair(class, MAX_ENTRIES));
    let earned = |number: usize| (rates[number] * u128::from(elapsed)).min(max[number]);
    let held = pair(state, HELD);
    let first = held[0].min(depths[0]) + earned(0);
    let over = first.saturating_sub(depths[0]);
    let second = held[1].min(depths[1]) + if meter == SR_TCM { over } else { earned(1) };
    let bucket = |(tokens, depth): (u128, u128)| EdgeBucket {
        bytes: (tokens.min(depth) / u128::from(PER_BYTE)) as u64,
        depth: (depth / u128::from(PER_BYTE)) as u64,
    };
    let both = [(first, depths[0]), (second, depths[1])];
    both.into_iter().take(if is_shared { count } else { 0 }).map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class with this meter and accounts of this kind, with rates in bit/s and depths in bytes.
    fn class(meter: u8, by: u8, rates: [u64; 2], depths: [u64; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        let max = if meter == SR_TCM { [depths[0] + depths[1], 0] } else { depths };
        let fields = [
            (RATES, rates),
            (DEPTHS, depths.map(|it| it * PER_BYTE)),
            (MAX_ENTRIES, max.map(|it| it * PER_BYTE)),
        ];
        for (at, [one, other]) in fields {
            bytes[at..at + 8].copy_from_slice(&one.to_ne_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&other.to_ne_bytes());
        }
        (bytes[BY], bytes[METER]) = (by, meter);
        bytes
    }

    fn state(earned_at: u64, held: [u64; 2]) -> Vec<u8> {
        let [one, other] = held.map(|bytes| bytes * PER_BYTE);
        [0, earned_at, earned_at, one, other].into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    fn found(meter: u8, by: u8, milliseconds: u64) -> Vec<(u64, u64)> {
        // 8000 bit/s are a byte in each millisecond.
        let class = class(meter, by, [8_000, 16_000], [1_000, 500]);
        let (then, now) = (7, 7 + milliseconds * 1_000_000);
        let all = buckets(&class, &state(then, [100, 50]), now);
        all.into_iter().map(|bucket| (bucket.bytes, bucket.depth)).collect()
    }

    #[test]
    fn buckets_fill_by_their_rates_up_to_their_depths() {
        assert_eq!(found(TOKEN_BUCKET, 0, 0), [(100, 1_000)]);
        assert_eq!(found(TOKEN_BUCKET, 0, 250), [(350, 1_000)]);
        assert_eq!(found(TOKEN_BUCKET, 0, 5_000), [(1_000, 1_000)]);
        assert_eq!(found(TR_TCM, 0, 100), [(200, 1_000), (250, 500)]);
        // What the first cannot hold goes to the second.
        assert_eq!(found(SR_TCM, 0, 1_000), [(1_000, 1_000), (150, 500)]);
        assert_eq!(found(TOKEN_BUCKET, 0, u64::MAX / 1_000_001), [(1_000, 1_000)]);
    }

    #[test]
    fn nothing_is_told_of_other_meters_and_of_buckets_that_each_flow_has() {
        assert_eq!(found(TOKEN_BUCKET, 1, 0), []);
        assert_eq!(found(7, 0, 0), []);
        assert_eq!(buckets(&[], &[], 0), []);
    }
}
