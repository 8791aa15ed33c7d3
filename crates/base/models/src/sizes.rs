//! Size distributions, as needed for scheduling by attained service.

use crate::{ModelError, Range};

/// A distribution of sizes, by what it has below a bound. Sizes are in any one unit.
pub trait Sizes {
    /// E\[min(X, x)\] for a bound x from 0, infinity included.
    fn mean_up_to(&self, bound: f64) -> f64;

    /// E\[min(X, x)²\] for a bound x from 0; at infinity it may be infinite.
    fn square_up_to(&self, bound: f64) -> f64;
}

/// A few sizes, each with its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice<'a>(&'a [(f64, f64)]);

impl<'a> Choice<'a> {
    /// Pairs of a size, above 0, and a share, from 0; the shares must come to 1, within 10⁻⁹.
    pub fn new(pairs: &'a [(f64, f64)]) -> Result<Self, ModelError> {
        let mut sum = 0.0;
        for (size, share) in pairs {
            Range::above(0.0).check("a size", *size)?;
            sum += Range::at_least(0.0).check("the share of a size", *share)?;
        }
        Range::from_to(1.0 - 1e-9, 1.0 + 1e-9).check("the sum of the shares of sizes", sum)?;
        Ok(Choice(pairs))
    }
}

impl Sizes for Choice<'_> {
    fn mean_up_to(&self, bound: f64) -> f64 {
        self.0.iter().map(|(size, share)| share * size.min(bound)).sum()
    }

    fn square_up_to(&self, bound: f64) -> f64 {
        self.0.iter().map(|(size, share)| share * size.min(bound) * size.min(bound)).sum()
    }
}

/// Exponential sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// Of this mean, above 0.
    pub fn new(mean: f64) -> Result<Self, ModelError> {
        Range::above(0.0).check("the mean size", mean)?;
        Ok(Exponential { mean })
    }
}

impl Sizes for Exponential {
    fn mean_up_to(&self, bound: f64) -> f64 {
        -self.mean * libm::expm1(-bound / self.mean)
    }

    fn square_up_to(&self, bound: f64) -> f64 {
        let means = bound / self.mean;
        let beyond = if means.is_finite() { (1.0 + means) * libm::exp(-means) } else { 0.0 };
        2.0 * self.mean * self.mean * (1.0 - beyond)
    }
}

/// Pareto sizes: P(X > x) = (k/x)^α from k on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    min: f64,
    shape: f64,
}

impl Pareto {
    /// From `min` k, above 0, with a `shape` α above 1: below that there is no mean.
    pub fn new(min: f64, shape: f64) -> Result<Self, ModelError> {
        Range::above(0.0).check("the least size", min)?;
        Range::above(1.0).check("the shape of Pareto sizes", shape)?;
        Ok(Pareto { min, shape })
    }
}

impl Sizes for Pareto {
    fn mean_up_to(&self, bound: f64) -> f64 {
        let Pareto { min, shape } = *self;
        if bound <= min {
            return bound;
        }
        min + min / (shape - 1.0) * (1.0 - libm::pow(min / bound, shape - 1.0))
    }

    fn square_up_to(&self, bound: f64) -> f64 {
        let Pareto { min, shape } = *self;
        if bound <= min {
            return bound * bound;
        }
        // k² + 2∫ x·(k/x)^α dx from k to the bound, with t = ln(x/k).
        let span = libm::log(bound / min);
        let exponent = 2.0 - shape;
        let area = if exponent == 0.0 { span } else { libm::expm1(exponent * span) / exponent };
        min * min * (1.0 + 2.0 * area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integrates the complementary distribution in small steps.
    fn integrated(beyond: impl Fn(f64) -> f64, bound: f64) -> (f64, f64) {
        let steps = 200_000;
        let step = bound / f64::from(steps);
        (0..steps).fold((0.0, 0.0), |(mean, square), n| {
            let x = (f64::from(n) + 0.5) * step;
            (mean + beyond(x) * step, square + 2.0 * x * beyond(x) * step)
        })
    }

    fn agrees(sizes: &impl Sizes, beyond: impl Fn(f64) -> f64) {
        for bound in [0.5, 3.0, 7.0, 100.0] {
            let (mean, square) = integrated(&beyond, bound);
            assert!((sizes.mean_up_to(bound) / mean - 1.0).abs() < 1e-4, "{bound}");
            assert!((sizes.square_up_to(bound) / square - 1.0).abs() < 1e-4, "{bound}");
        }
    }

    #[test]
    fn moments_up_to_a_bound_are_areas_under_the_distribution() {
        agrees(&Exponential::new(4.0).unwrap(), |x| libm::exp(-x / 4.0));
        for shape in [1.2, 2.0, 3.5] {
            agrees(&Pareto::new(3.0, shape).unwrap(), |x| {
                if x < 3.0 { 1.0 } else { libm::pow(3.0 / x, shape) }
            });
        }
        agrees(&Choice::new(&[(2.0, 0.5), (50.0, 0.5)]).unwrap(), |x| {
            if x < 2.0 {
                1.0
            } else if x < 50.0 {
                0.5
            } else {
                0.0
            }
        });
    }

    #[test]
    fn without_a_bound_they_are_the_moments() {
        let exponential = Exponential::new(4.0).unwrap();
        assert!((exponential.mean_up_to(f64::INFINITY) - 4.0).abs() < 1e-12);
        assert!((exponential.square_up_to(f64::INFINITY) - 32.0).abs() < 1e-12);
        let pareto = Pareto::new(3.0, 1.2).unwrap();
        assert!((pareto.mean_up_to(f64::INFINITY) - 18.0).abs() < 1e-12);
        assert_eq!(pareto.square_up_to(f64::INFINITY), f64::INFINITY);
        assert!((Pareto::new(3.0, 3.0).unwrap().square_up_to(f64::INFINITY) - 27.0).abs() < 1e-9);
    }

    #[test]
    fn shares_that_do_not_add_up_and_sizes_without_a_mean_are_refused() {
        assert!(Choice::new(&[(1.0, 0.5)]).is_err());
        assert!(Pareto::new(3.0, 1.0).is_err());
        assert!(Exponential::new(0.0).is_err());
    }
}
