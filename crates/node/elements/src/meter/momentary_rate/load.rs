//! Decaying loads in 64-bit integers, as eBPF programs compute them, because the kernel has no floating
//! point. The program is programs/sima.h in crates/kernel/ebpf.
//!
//! A decay is counted in halvings: after x of them, 2⁻ˣ of a load is left. The number of halvings in a time,
//! or in the time of a number of bytes, is in units of 2⁻⁴⁴, up to 2²⁰ halvings; more count as that. A load
//! is a number of 63 bits and a power of 2, so that small loads have the same precision.

/// The unit of halvings: 2⁻⁴⁴.
const FRACTION: u32 = 44;

/// The bits of a fraction that select an entry of [`POWERS`].
const CHOOSING: u32 = 6;

/// The upper 64 bits of a product of 128 bits, or up to 2 less.
#[inline]
fn product(a: u64, b: u64) -> u64 {
    let low = |value: u64| value & u64::from(u32::MAX);
    let (above, below) = ((a >> 32) * low(b), low(a) * (b >> 32));
    (a >> 32) * (b >> 32) + (above >> 32) + (below >> 32)
}

/// 2^(−i/64) in units of 2⁻⁶³, to one part in 2⁵⁹.
pub const POWERS: [u64; 1 << CHOOSING] = powers();

const fn powers() -> [u64; 1 << CHOOSING] {
    let mut powers = [1 << 63; 1 << CHOOSING];
    let mut root: u128 = 1 << 63;
    let mut bit = 1 << CHOOSING;
    while bit > 1 {
        // From here on the root is 2^(−bit/64), for bits from 1/2 to 1/64.
        bit >>= 1;
        root =
            if bit == 1 << (CHOOSING - 1) { (1_u128 << 125).isqrt() } else { (root << 63).isqrt() };
        let mut at = 0;
        while at < powers.len() {
            if at & bit != 0 {
                powers[at] = ((powers[at] as u128 * root) >> 63) as u64;
            }
            at += 1;
        }
    }
    powers
}

/// (ln 2)ⁿ/n! for n from 1 to 4, in units of 2⁻⁶⁴: coefficients of the series of 1 − 2⁻ᶻ.
const SERIES: [u64; 4] =
    [0xb172_17f7_d1cf_79ab, 0x3d7f_7bff_058b_1d50, 0x0e35_846b_8250_5fc5, 0x0276_556d_f749_cee5];

/// 2⁻ˣ for a fraction x of a halving, in units of 2⁻⁶³.
///
/// The series ends after four terms. The next term would be below 2⁻³³ of the first, so the result is exact
/// for an x that is smaller by at most one part in 2³³.
#[inline]
fn left_after(fraction: u64) -> u64 {
    let chosen = POWERS[(fraction >> (FRACTION - CHOOSING)) as usize];
    let rest = (fraction << (64 - FRACTION)) & ((1 << (64 - CHOOSING)) - 1);
    let [first, second, third, fourth] = SERIES;
    let inner = third - product(rest, fourth);
    let inner = second - product(rest, inner);
    let inner = first - product(rest, inner);
    chosen - product(chosen, product(rest, inner))
}

/// The speed of decay: `parts`·2^−`shift` units of a halving, per nanosecond or per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decay {
    /// A number of 32 bits with the highest bit set.
    pub parts: u64,
    /// A power of 2; negative for large speeds.
    pub shift: i32,
}

impl Decay {
    /// This many halvings each, rounded down to one part in 2³¹; from 2⁻⁷⁶ to 1.
    pub(super) fn from_halvings(halvings: f64) -> Decay {
        let (mantissa, power) = libm::frexp(halvings);
        Decay { parts: libm::ldexp(mantissa, 32) as u64, shift: 32 - FRACTION as i32 - power }
    }

    /// Doubled this many times.
    #[inline]
    pub(super) fn doubled(self, times: u32) -> Decay {
        Decay { shift: self.shift - times as i32, ..self }
    }

    /// Units of halvings in this many nanoseconds or bytes, rounded down to one part in 2³⁰.
    #[inline]
    pub(super) fn within(self, span: u64) -> u64 {
        let above = (64 - span.leading_zeros()).saturating_sub(32);
        let parts = (span >> above) * self.parts;
        let shift = self.shift - above as i32;
        match shift {
            0.. => parts >> shift,
            _ if parts > u64::MAX >> -shift => u64::MAX,
            _ => parts << -shift,
        }
    }
}

/// The decayed traffic of a stream: `parts`·2^(−62−`halvings`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// A number of 63 bits with the highest bit set.
    parts: u64,
    halvings: i64,
}

impl Load {
    /// One: the load of a stream at the rate of its link.
    pub(super) const ONE: Load = Load { parts: 1 << 62, halvings: 0 };

    /// So little that it never counts.
    pub(super) const NONE: Load = Load { parts: 1 << 62, halvings: 1 << 40 };

    pub(super) const fn numbers(self) -> [u64; 2] {
        [self.parts, self.halvings.cast_unsigned()]
    }

    /// The load after this decay, in units of halvings.
    #[inline]
    pub(super) fn after(self, decay: u64) -> Load {
        let parts = product(self.parts, left_after(decay & ((1 << FRACTION) - 1))) << 1;
        let short = u32::from(parts < 1 << 62);
        let halvings = self.halvings + (decay >> FRACTION) as i64 + i64::from(short);
        Load { parts: parts << short, halvings }
    }

    /// One minus its rest after this decay, in units of halvings.
    #[inline]
    pub(super) fn lost_after(decay: u64) -> Load {
        let Load { parts, halvings } = Load::ONE.after(decay);
        let left = if halvings < 64 { parts >> halvings } else { 0 };
        let lost = (1 << 62) - left;
        let short = lost.leading_zeros() - 1;
        Load { parts: lost << short, halvings: i64::from(short) }
    }

    #[inline]
    pub(super) fn plus(self, other: Load) -> Load {
        let (more, less) =
            if self.halvings <= other.halvings { (self, other) } else { (other, self) };
        let apart = less.halvings - more.halvings;
        let parts = more.parts + if apart < 64 { less.parts >> apart } else { 0 };
        let over = (parts >> 63) as u32;
        Load { parts: parts >> over, halvings: more.halvings - i64::from(over) }
    }

    #[inline]
    pub(super) fn is_at_least(self, other: Load) -> bool {
        self.halvings < other.halvings
            || (self.halvings == other.halvings && self.parts >= other.parts)
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rng;

    use super::*;

    #[test]
    fn a_product_is_short_of_the_whole_by_at_most_two() {
        let mut rng = Rng::stream(1, "products");
        for _ in 0..100_000 {
            let (a, b) = (rng.below(u64::MAX), rng.below(u64::MAX));
            let whole = ((u128::from(a) * u128::from(b)) >> 64) as u64;
            assert!((0..=2).contains(&(whole - product(a, b))), "{a} {b}");
        }
    }

    #[test]
    fn the_powers_are_those_of_two_to_one_part_in_2_to_the_59() {
        for (at, power) in (0..).zip(POWERS) {
            let expected = libm::exp2(-f64::from(at) / 64.0);
            assert!((power as f64 / 2f64.powi(63) - expected).abs() < 1e-15, "{at}");
        }
        for at in 1..64 {
            let pair = (u128::from(POWERS[at]) * u128::from(POWERS[64 - at])) >> 64;
            // A half, in parts of 2^-62: doubles show the first 50 digits, and the pairs of a half the others.
            assert!(pair.abs_diff(1 << 61) < 1 << 3, "{at}: {pair}");
        }
    }

    #[test]
    fn what_is_left_of_a_load_is_the_power_of_two_to_one_part_in_2_to_the_33_of_the_exponent() {
        let mut rng = Rng::stream(2, "halvings");
        for _ in 0..100_000 {
            // From 2^-40 to 2^9 halvings.
            let halvings = libm::exp2(49.0 * rng.uniform() - 40.0);
            let decay = libm::ldexp(halvings, FRACTION as i32) as u64;
            let exact = libm::ldexp(decay as f64, -(FRACTION as i32));
            let Load { parts, halvings } = Load::ONE.after(decay);
            assert!((1 << 62..1 << 63).contains(&parts), "{decay}");
            // The logarithm of what is left of 1; where that is near, by the difference.
            let lost = Load::lost_after(decay);
            let lost = libm::ldexp(lost.parts as f64, -62 - lost.halvings as i32);
            let found = match halvings {
                ..2 => -libm::log1p(-lost) / std::f64::consts::LN_2,
                _ => halvings as f64 - libm::log2(parts as f64 / 2f64.powi(62)),
            };
            let off = (found / exact - 1.0).abs();
            assert!(off < 2f64.powi(-33) + 2f64.powi(-58) / exact, "{exact}: {found}");
        }
    }

    #[test]
    fn a_decay_counts_any_time_and_ends_at_2_to_the_20_halvings() {
        let second = Decay::from_halvings(12.5e-9);
        for (span, halvings) in [(1, 12.5e-9), (1_000_000_000, 12.5), (3_600_000_000_000, 45_000.0)]
        {
            let found = libm::ldexp(second.within(span) as f64, -(FRACTION as i32));
            let min = libm::ldexp(1.0, -(FRACTION as i32));
            assert!(found <= halvings && found > halvings * (1.0 - 2f64.powi(-30)) - min, "{span}");
        }
        assert_eq!(second.within(u64::MAX), u64::MAX);
        assert_eq!(Decay::from_halvings(1.0).within(1 << 20), u64::MAX);
        assert_eq!(Decay::from_halvings(1.0).within((1 << 20) - 1), ((1 << 20) - 1) << FRACTION);
    }

    #[test]
    fn loads_of_any_size_are_put_together() {
        let half = Load::ONE.after(1 << FRACTION);
        assert_eq!(half.plus(half), Load::ONE);
        assert_eq!(half.plus(Load::NONE), half);
        assert_eq!(Load::NONE.plus(half), half);
        assert_eq!(Load::lost_after(1 << FRACTION), half);
        assert!(
            Load::ONE.is_at_least(half) && half.is_at_least(half) && !half.is_at_least(Load::ONE)
        );
        assert!(!Load::NONE.is_at_least(half.after(u64::MAX)));
    }
}
