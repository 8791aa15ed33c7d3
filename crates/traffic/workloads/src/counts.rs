//! Distributions of numbers, such as the number of objects of a page.

use shortflow_units::{Bytes, Rng};

use crate::Sizes;

/// A distribution of whole numbers, drawn as [`Sizes`] are. Zero occurs only if it is constant, listed, or
/// the minimum of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts(Sizes);

impl Counts {
    /// The limit; larger numbers are cut to it.
    pub const MAX: u32 = 1_000_000;

    /// Always `number`.
    pub fn constant(number: u32) -> Counts {
        Counts(Sizes::Constant(Bytes(number.into())))
    }

    /// A choice among `numbers` in proportion to `weights`, as for [`Sizes::choice`].
    pub fn choice(numbers: &[u32], weights: &[f64]) -> Counts {
        let numbers = numbers.iter().map(|&number| Bytes(number.into())).collect();
        Counts(Sizes::choice(numbers, weights))
    }

    /// Exponential, rounded to the nearest whole number, at least 1. `mean` is the mean before rounding.
    pub fn exponential(mean: u32) -> Counts {
        Counts(Sizes::Exponential { mean: Bytes(mean.into()) })
    }

    /// Pareto, rounded to the nearest whole number: at least `min`, with `shape` above 1.
    pub fn pareto(min: f64, shape: f64, max: Option<u32>) -> Counts {
        Counts(Sizes::Pareto { scale: min, shape, max: max.map(|max| Bytes(max.into())) })
    }

    /// Every number from `min` to `max` equally likely.
    pub fn uniform(min: u32, max: u32) -> Counts {
        Counts(Sizes::Uniform { min: Bytes(min.into()), max: Bytes(max.into()) })
    }

    /// The distribution of sizes, in bytes, that is drawn from.
    pub fn as_sizes(&self) -> &Sizes {
        &self.0
    }

    /// The number, if it is constant.
    pub fn constant_number(&self) -> Option<u32> {
        self.0.constant().map(|number| number.0 as u32)
    }

    /// Draws a number.
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        self.0.draw(rng).0.min(Counts::MAX.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(counts: &Counts, is: impl Fn(u32) -> bool) -> f64 {
        let mut rng = Rng::stream(3, "counts");
        let draws = 200_000;
        f64::from((0..draws).filter(|_| is(counts.draw(&mut rng))).count() as u32)
            / f64::from(draws)
    }

    #[test]
    fn a_pareto_number_is_rounded_to_the_nearest() {
        // k = 2, α = 1.5 (Guo et al. 2005, §4): P(N = 2) = 1 − (2/2.5)^1.5.
        let counts = Counts::pareto(2.0, 1.5, None);
        assert!(share(&counts, |n| n < 2) < 1e-9);
        let two = 1.0 - libm::pow(0.8, 1.5);
        let found = share(&counts, |n| n == 2);
        assert!((found - two).abs() < 0.005, "{found} for {two}");
        assert!(share(&Counts::pareto(2.0, 1.5, Some(9)), |n| n > 9) < 1e-9);
    }

    #[test]
    fn an_exponential_number_is_rounded_and_never_zero() {
        // P(N = 1) = 1 − e^(−1.5/3).
        let counts = Counts::exponential(3);
        assert!(share(&counts, |n| n == 0) < 1e-9);
        let one = 1.0 - libm::exp(-0.5);
        let found = share(&counts, |n| n == 1);
        assert!((found - one).abs() < 0.005, "{found} for {one}");
    }

    #[test]
    fn a_constant_and_a_range_may_be_zero() {
        assert_eq!(Counts::constant(0).draw(&mut Rng::stream(1, "n")), 0);
        let zeros = share(&Counts::uniform(0, 3), |n| n == 0);
        assert!((zeros - 0.25).abs() < 0.005, "{zeros}");
        let zeros = share(&Counts::choice(&[0, 8], &[1.0, 3.0]), |n| n == 0);
        assert!((zeros - 0.25).abs() < 0.005, "{zeros}");
    }
}
