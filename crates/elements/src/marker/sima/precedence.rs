//! The drop precedence (DP) of SIMA, by whole numbers.

use shortflow_units::Rate;

use crate::ParamsError;

/// How many drop precedences an access node tells apart: 0 to 6, the higher the better protected.
pub(super) const PRECEDENCES: usize = 7;

/// The momentary bit rates up to which a packet has the precedences 1 to 6.
///
/// Laatu, Harju & Loula 2003, formula (1): x = 4.5 − ln(MBR/NBR)/ln 2, and DP = 6 if x ≥ 6, ⌊x⌋ if
/// 0 < x < 6, 0 if x ≤ 0. So DP ≥ k just when MBR ≤ NBR · 2^(4.5 − k), that is, when
/// MBR² · 4^k ≤ NBR² · 2^9: a comparison with ⌊√(NBR² · 2^(9 − 2k))⌋ where the MBR is a whole number.
/// No whole MBR meets it with equality, since √2 is not a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thresholds([u64; PRECEDENCES - 1]);

impl Thresholds {
    /// Those of a nominal bit rate above zero.
    pub(super) fn new(nominal_rate: Rate) -> Result<Self, ParamsError> {
        let nominal = nominal_rate.bits_per_sec();
        if nominal == 0 || nominal > MOST {
            let most = Rate::from_bits_per_sec(MOST);
            let message =
                format!("nbr must be above zero and at most {most}; found {nominal_rate}");
            return Err(ParamsError::new("nbr", message));
        }
        let square = (u128::from(nominal) * u128::from(nominal)) << 9;
        let mut thresholds = [0; PRECEDENCES - 1];
        for (k, threshold) in (1..).zip(&mut thresholds) {
            *threshold = (square >> (2 * k)).isqrt() as u64;
        }
        Ok(Thresholds(thresholds))
    }

    /// The precedence of a packet that finds this momentary bit rate.
    #[inline]
    pub(super) fn precedence(&self, momentary_rate: Rate) -> usize {
        let rate = momentary_rate.bits_per_sec();
        self.0.iter().map(|&threshold| usize::from(rate <= threshold)).sum()
    }

    /// Up to which a packet has the best precedence.
    pub(super) fn best(&self) -> Rate {
        Rate::from_bits_per_sec(self.0[PRECEDENCES - 2])
    }
}

/// The greatest rate that can be written, in bit/s; the squares of greater ones would be too long.
const MOST: u64 = 9_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thresholds(nominal: u64) -> Thresholds {
        Thresholds::new(Rate::from_bits_per_sec(nominal)).unwrap()
    }

    /// Formula (1) as it is printed.
    fn printed(momentary: u64, nominal: u64) -> (f64, usize) {
        let ratio = momentary as f64 / nominal as f64;
        let x = 4.5 - libm::log(ratio) / libm::log(2.0);
        let precedence = match x {
            x if x >= 6.0 => 6,
            x if x <= 0.0 => 0,
            x => x as usize,
        };
        (x, precedence)
    }

    #[test]
    fn the_precedences_of_300_kbit_are_at_the_powers_of_two_around_its_root() {
        // 300 kbit/s · 2^−1.5 = 106 066.02, and twice as much from each to the one before.
        assert_eq!(
            thresholds(300_000).0,
            [3_394_112, 1_697_056, 848_528, 424_264, 212_132, 106_066]
        );
        let precedence = |rate| thresholds(300_000).precedence(Rate::from_bits_per_sec(rate));
        assert_eq!([0, 106_066, 106_067, 300_000].map(precedence), [6, 6, 5, 4]);
        assert_eq!([3_394_112, 3_394_113, u64::MAX].map(precedence), [1, 0, 0]);
    }

    proptest! {
        #[test]
        fn the_thresholds_agree_with_the_printed_formula(
            nominal in 1..1_000_000_000_000u64,
            power in -3.0..8.0f64,
        ) {
            let momentary = (nominal as f64 * libm::exp2(power)) as u64;
            let (x, expected) = printed(momentary, nominal);
            // Nearer to a whole number than this, the float may be on the wrong side of it.
            prop_assume!((x - x.round()).abs() > 1e-9 || momentary == 0);
            let found = thresholds(nominal).precedence(Rate::from_bits_per_sec(momentary));
            prop_assert_eq!(found, expected, "{} of {}", momentary, nominal);
        }

        #[test]
        fn each_threshold_is_the_last_rate_of_its_precedence(nominal in 1..=MOST) {
            for (k, threshold) in (1..).zip(thresholds(nominal).0) {
                // MBR² · 4^k ≤ NBR² · 2^9, up to the threshold and no further.
                let square = |rate: u64| u128::from(rate).pow(2) << (2 * k);
                let bound = u128::from(nominal).pow(2) << 9;
                prop_assert!(square(threshold) <= bound);
                prop_assert!(square(threshold + 1) > bound);
            }
        }
    }

    #[test]
    fn a_nominal_rate_of_nothing_or_beyond_what_can_be_written_is_refused() {
        for bits in [0, MOST + 1] {
            let rate = Rate::from_bits_per_sec(bits);
            let error = Thresholds::new(rate).unwrap_err();
            let message = "nbr must be above zero and at most 9000000 Gbit/s; found ";
            assert_eq!((error.parameter(), error.to_string()), ("nbr", format!("{message}{rate}")));
        }
    }
}
