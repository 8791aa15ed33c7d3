//! The drop precedence (DP) of SIMA, in integers.

use shortflow_units::Rate;

use crate::ParamsError;
use crate::meter::{Decay, MomentaryRateParams, Reading};

/// The number of drop precedences of an access node: 0 to 6, the highest best protected.
pub(super) const PRECEDENCES: usize = 7;

/// The largest momentary bit rates for precedences 1 to 6.
///
/// Laatu, Harju & Loula 2003, formula (1): x = 4.5 − ln(MBR/NBR)/ln 2, and DP = 6 if x ≥ 6, ⌊x⌋ if 0 < x < 6,
/// 0 if x ≤ 0. So DP ≥ k exactly if MBR ≤ NBR · 2^(4.5 − k). The first threshold is 8·√2 · NBR, and each
/// further one is half of the previous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thresholds {
    nominal: u64,
    first: Decay,
}

impl Thresholds {
    /// The thresholds of a nominal bit rate above zero.
    pub(super) fn new(nominal: Rate, meter: &MomentaryRateParams) -> Result<Self, ParamsError> {
        let bits = nominal.bits_per_sec();
        if bits == 0 || bits > MAX_RATE {
            let max = Rate::from_bits_per_sec(MAX_RATE);
            let message = format!("nbr must be above zero and at most {max}; found {nominal}");
            return Err(ParamsError::new("nbr", message));
        }
        let first = meter.at_rate(bits as f64 * 8.0 * std::f64::consts::SQRT_2);
        let first = first.ok_or_else(|| {
            let [min, max] = meter.rates().map(|rate| rate / 8.0 / std::f64::consts::SQRT_2);
            let [min, max] = [libm::ceil(min), libm::floor(max)]
                .map(|bits| Rate::from_bits_per_sec(bits as u64));
            let message = format!(
                "nbr must be {min} to {max}, with a weight of {} on a link of {}; found {nominal}",
                meter.weight(),
                meter.link()
            );
            ParamsError::new("nbr", message)
        })?;
        Ok(Thresholds { nominal: bits, first })
    }

    /// The first threshold, as the decay of a load per byte time.
    pub(super) fn first(&self) -> Decay {
        self.first
    }

    /// The precedence of a packet with this momentary bit rate.
    #[inline]
    pub(super) fn precedence(&self, rate: &Reading) -> usize {
        [4, 2, 1].into_iter().fold(0, |found, step| {
            let next = found + step;
            let is_next = next < PRECEDENCES && rate.is_at_most(self.first, next as u32 - 1);
            if is_next { next } else { found }
        })
    }

    /// The largest rate with the best precedence: NBR/√8, rounded down.
    pub(super) fn best(&self) -> Rate {
        let square = u128::from(self.nominal).pow(2) >> 3;
        Rate::from_bits_per_sec(square.isqrt() as u64)
    }
}

/// The largest rate that can be written, in bit/s.
const MAX_RATE: u64 = 9_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shortflow_units::{Bytes, Duration, Instant};

    use super::*;
    use crate::meter::MomentaryRate;

    fn meter() -> MomentaryRateParams {
        MomentaryRateParams::new(Rate::from_bits_per_sec(10_000_000), Bytes(1250), 0.1).unwrap()
    }

    /// Formula (1) as it is printed.
    fn printed(momentary: f64, nominal: u64) -> (f64, usize) {
        let x = 4.5 - libm::log(momentary / nominal as f64) / libm::log(2.0);
        let precedence = match x {
            x if x >= 6.0 => 6,
            x if x <= 0.0 => 0,
            x => x as usize,
        };
        (x, precedence)
    }

    /// The second of two packets of a slot at so many nanoseconds: the precedence, and the rate by hand.
    fn second_packet(nominal: u64, apart: u64) -> (usize, f64) {
        let meter = meter();
        let thresholds = Thresholds::new(Rate::from_bits_per_sec(nominal), &meter).unwrap();
        let mut rate = MomentaryRate::default();
        rate.update(&meter, Instant::START, 1250);
        let reading = rate.update(&meter, Instant::START + Duration::from_nanos(apart), 1250);
        // C · ln(1 − α)/ln(1 − 1/(1 + (1 − α)^N)), of slots of a millisecond.
        let kept = libm::exp(apart as f64 / 1e6 * libm::log1p(-0.1));
        let momentary = 1e7 * libm::log1p(-0.1) / -libm::log1p(1.0 / kept);
        (thresholds.precedence(&reading), momentary)
    }

    #[test]
    fn each_precedence_has_twice_the_rate_of_the_one_above_it() {
        // Packets 10 slots apart have 778 873 bit/s, as the meter's own test shows by hand.
        let (_, momentary) = second_packet(1_000_000, 10_000_000);
        assert!((momentary - 778_873.0).abs() < 20.0, "{momentary}");
        // The precedence is 4 up to √2 times the NBR.
        let nominal = (momentary / std::f64::consts::SQRT_2) as u64;
        let found = |nominal| second_packet(nominal, 10_000_000).0;
        for (precedence, nominal) in [
            (6, 4 * nominal),
            (5, 2 * nominal),
            (4, nominal),
            (3, nominal / 2),
            (2, nominal / 4),
            (1, nominal / 8),
        ] {
            let just_above_and_below = [1001, 999].map(|part| found(nominal * part / 1000));
            assert_eq!(just_above_and_below, [precedence, precedence - 1]);
        }
        assert_eq!([8 * nominal, nominal / 16].map(found), [6, 0]);
    }

    proptest! {
        #[test]
        fn the_precedences_agree_with_the_printed_formula(
            nominal in 1_000..100_000_000u64,
            apart in 0..200_000_000u64,
        ) {
            let (found, momentary) = second_packet(nominal, apart);
            let (x, expected) = printed(momentary, nominal);
            // Nearer to a whole number than this, the rate may be on the wrong side of it: log2(1 + 2^-20).
            prop_assume!((x - x.round()).abs() > 1.4e-6);
            prop_assert_eq!(found, expected, "{} of {}", momentary, nominal);
        }
    }

    #[test]
    fn a_nominal_rate_of_nothing_or_beyond_what_can_be_written_or_told_is_refused() {
        let refused = |bits| {
            let error = Thresholds::new(Rate::from_bits_per_sec(bits), &meter()).unwrap_err();
            assert_eq!(error.parameter(), "nbr");
            error.to_string()
        };
        let message = "nbr must be above zero and at most 9000000 Gbit/s; found ";
        assert_eq!(refused(0), format!("{message}0 bit/s"));
        assert!(refused(MAX_RATE + 1).starts_with(message));
        assert_eq!(
            refused(1_000_000_000_000),
            "nbr must be 215 bit/s to 14.426045962 Gbit/s, with a weight of 0.1 on a link of 10 Mbit/s; \
             found 1000 Gbit/s"
        );
    }
}
