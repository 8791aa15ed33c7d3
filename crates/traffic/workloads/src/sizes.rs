//! Distributions of message sizes, in whole bytes, with their exact means.

use shortflow_units::{Bytes, Rng};

/// A distribution of sizes. No size is below one byte.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// Always the same.
    Constant(Bytes),
    /// One of a list, each with its weight.
    Choice {
        /// The sizes.
        sizes: Vec<Bytes>,
        /// Cumulative weights; the last one is the sum of all.
        cumulative: Vec<f64>,
    },
    /// Exponential, rounded to whole bytes.
    Exponential {
        /// The mean.
        mean: Bytes,
    },
    /// Pareto, rounded to whole bytes.
    Pareto {
        /// The smallest size in bytes.
        scale: f64,
        /// The shape, above 1.
        shape: f64,
        /// Larger sizes are cut to this one.
        max: Option<Bytes>,
    },
    /// Every whole number of bytes from `min` to `max` equally likely.
    Uniform {
        /// The smallest size.
        min: Bytes,
        /// The greatest size.
        max: Bytes,
    },
}

impl Sizes {
    /// A choice among `sizes` in proportion to `weights`. Both have the same length; no weight is negative,
    /// and their sum is above zero.
    pub fn choice(sizes: Vec<Bytes>, weights: &[f64]) -> Sizes {
        assert_eq!(sizes.len(), weights.len(), "each size has a weight");
        let mut sum = 0.0;
        let cumulative: Vec<f64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        assert!(sum > 0.0, "some weight is above zero");
        Sizes::Choice { sizes, cumulative }
    }

    /// A Pareto distribution with this mean, before sizes above `max` are cut to it. `shape` is above 1.
    pub fn pareto(mean: Bytes, shape: f64, max: Option<Bytes>) -> Sizes {
        assert!(shape > 1.0, "a Pareto distribution of shape 1 or less has no mean");
        Sizes::Pareto { scale: mean.0 as f64 * (shape - 1.0) / shape, shape, max }
    }

    /// Draws a size.
    pub fn draw(&self, rng: &mut Rng) -> Bytes {
        match self {
            Sizes::Constant(size) => *size,
            Sizes::Choice { sizes, cumulative } => {
                let at = rng.uniform() * cumulative[cumulative.len() - 1];
                sizes[cumulative.partition_point(|&upto| upto <= at)]
            }
            Sizes::Exponential { mean } => whole(rng.exponential(mean.0 as f64)),
            Sizes::Pareto { scale, shape, max } => {
                let size = whole(rng.pareto(*scale, *shape));
                max.map_or(size, |max| size.min(max))
            }
            Sizes::Uniform { min, max } => Bytes(min.0 + rng.below(max.0 - min.0 + 1)),
        }
    }

    /// The smallest and the largest size that can be drawn; `None` if there is no limit.
    pub fn bounds(&self) -> (Option<Bytes>, Option<Bytes>) {
        match self {
            Sizes::Constant(size) => (Some(*size), Some(*size)),
            Sizes::Choice { sizes, .. } => {
                (sizes.iter().min().copied(), sizes.iter().max().copied())
            }
            Sizes::Exponential { .. } => (None, None),
            Sizes::Pareto { scale, max, .. } => (Some(whole(*scale)), *max),
            Sizes::Uniform { min, max } => (Some(*min), Some(*max)),
        }
    }

    /// The mean in bytes. Exact for the discrete distributions. For the continuous ones it is the mean before
    /// rounding to whole bytes, which shifts it by less than a thousandth of a byte if the mean is above 50
    /// bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Constant(size) => size.0 as f64,
            Sizes::Choice { .. } => self.weighted(|size| size as f64),
            Sizes::Exponential { mean } => mean.0 as f64,
            Sizes::Pareto { scale, shape, max } => {
                let uncut = scale * shape / (shape - 1.0);
                match max {
                    // E[min(X, m)] = s·a/(a − 1) − s^a·m^(1−a)/(a − 1).
                    Some(max) if max.0 as f64 > *scale => {
                        let max = max.0 as f64;
                        uncut - scale * libm::pow(scale / max, shape - 1.0) / (shape - 1.0)
                    }
                    Some(max) => max.0 as f64,
                    None => uncut,
                }
            }
            Sizes::Uniform { min, max } => (min.0 + max.0) as f64 / 2.0,
        }
    }

    /// The share of all bytes in sizes so large that fewer than one of `draws` is expected, and the smallest of
    /// these sizes; `None` for a distribution without a heavy tail.
    pub fn rare(&self, draws: f64) -> Option<(f64, Bytes)> {
        let Sizes::Pareto { scale, shape, max } = self else { return None };
        let size = scale * libm::pow(draws.max(1.0), 1.0 / shape);
        if max.is_some_and(|max| size >= max.0 as f64) {
            return None;
        }
        // E[X; X > x] = s^a·a·x^(1−a)/(a − 1), of which P(X > m) of `max` bytes replaces the part beyond m.
        let beyond = |x: f64| scale * shape * libm::pow(scale / x, shape - 1.0) / (shape - 1.0);
        let cut = max.map_or(0.0, |max| {
            let max = max.0 as f64;
            beyond(max) - max * libm::pow(scale / max, *shape)
        });
        Some(((beyond(size) - cut) / self.mean(), whole(size)))
    }

    /// The mean number of segments of `mss` bytes that a message needs: the sum over k of the
    /// probability that it is longer than k segments.
    pub fn mean_segments(&self, mss: u64) -> f64 {
        let segments = |size: u64| size.div_ceil(mss) as f64;
        match self {
            Sizes::Constant(size) => segments(size.0),
            Sizes::Choice { .. } => self.weighted(segments),
            _ => {
                let survival = |k: u64| self.longer_than((k * mss) as f64);
                let exact: f64 = (0..TERMS).map(survival).sum();
                // Beyond that number segments are so small that the sum equals the integral, which is the
                // rest of the mean.
                let rest = self.mean_beyond((TERMS * mss) as f64) / mss as f64;
                exact + rest + survival(TERMS) / 2.0
            }
        }
    }

    /// The sizes, if there are few enough to list them.
    pub fn distinct(&self) -> Option<Vec<Bytes>> {
        match self {
            Sizes::Constant(size) => Some(vec![*size]),
            Sizes::Choice { sizes, .. } => {
                let mut distinct = sizes.clone();
                distinct.sort();
                distinct.dedup();
                Some(distinct)
            }
            _ => None,
        }
    }

    /// The size, if it is constant.
    pub fn constant(&self) -> Option<Bytes> {
        match self.distinct()?[..] {
            [size] => Some(size),
            _ => None,
        }
    }

    fn weighted(&self, of: impl Fn(u64) -> f64) -> f64 {
        let Sizes::Choice { sizes, cumulative } = self else { return 0.0 };
        let mut before = 0.0;
        let sum: f64 = sizes
            .iter()
            .zip(cumulative)
            .map(|(size, &upto)| of(size.0) * (upto - std::mem::replace(&mut before, upto)))
            .sum();
        sum / cumulative[cumulative.len() - 1]
    }

    /// The probability of a size above `size` bytes.
    fn longer_than(&self, size: f64) -> f64 {
        match self {
            Sizes::Exponential { mean } => libm::exp(-size / mean.0 as f64),
            Sizes::Pareto { max: Some(max), .. } if size >= max.0 as f64 => 0.0,
            Sizes::Pareto { scale, shape, .. } => libm::pow((scale / size).min(1.0), *shape),
            Sizes::Uniform { min, max } => {
                let count = (max.0 - min.0 + 1) as f64;
                ((max.0 as f64 - size) / count).clamp(0.0, 1.0)
            }
            Sizes::Constant(_) | Sizes::Choice { .. } => 0.0,
        }
    }

    /// The integral of [`longer_than`](Self::longer_than) from `size` on.
    fn mean_beyond(&self, size: f64) -> f64 {
        match self {
            Sizes::Pareto { scale, shape, max } => {
                let beyond =
                    |from: f64| scale * libm::pow(scale / from, shape - 1.0) / (shape - 1.0);
                let size = size.max(*scale);
                max.map_or(beyond(size), |max| {
                    (beyond(size) - beyond((max.0 as f64).max(size))).max(0.0)
                })
            }
            Sizes::Uniform { min, max } if (max.0 as f64) > size => {
                let rest = max.0 as f64 - size;
                rest * rest / 2.0 / (max.0 - min.0 + 1) as f64
            }
            Sizes::Exponential { mean } => mean.0 as f64 * libm::exp(-size / mean.0 as f64),
            _ => 0.0,
        }
    }
}

/// The nearest whole number of bytes, at least one.
fn whole(size: f64) -> Bytes {
    Bytes((libm::round(size) as u64).max(1))
}

/// The number of segments that are counted one by one.
const TERMS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_bytes_in_rare_sizes_is_that_of_the_quantile_function() {
        const PARTS: u32 = 1_000_000;
        for (shape, max) in [(3.0, None), (1.2, Some(Bytes(500_000))), (1.01, Some(Bytes(900_000)))]
        {
            let sizes = Sizes::Pareto { scale: 1000.0, shape, max };
            let (share, size) = sizes.rare(100.0).unwrap();
            let quantile = |part: u32| {
                let above = (f64::from(part) + 0.5) / f64::from(PARTS);
                let size = 1000.0 / above.powf(1.0 / shape);
                max.map_or(size, |max| size.min(max.0 as f64))
            };
            let [rare, all] = [PARTS / 100, PARTS].map(|n| (0..n).map(quantile).sum::<f64>());
            assert!((share - rare / all).abs() < 1e-3, "{shape}: {share}, {}", rare / all);
            let expected = quantile(PARTS / 100);
            assert!((size.0 as f64 / expected - 1.0).abs() < 1e-3, "{shape}: {size}, {expected}");
        }
        assert_eq!(Sizes::Constant(Bytes(1)).rare(100.0), None);
        assert_eq!(Sizes::pareto(Bytes(1000), 1.5, Some(Bytes(2000))).rare(100.0), None);
    }

    /// The mean of `of` over many draws.
    fn sampled(sizes: &Sizes, of: impl Fn(u64) -> f64) -> f64 {
        let mut rng = Rng::stream(7, "sizes");
        let draws = 400_000;
        (0..draws).map(|_| of(sizes.draw(&mut rng).0)).sum::<f64>() / f64::from(draws)
    }

    fn near(found: f64, expected: f64, share: f64) {
        assert!((found - expected).abs() <= share * expected, "{found} is not near {expected}");
    }

    fn wetmo_replies() -> Sizes {
        let segments = [1, 1, 1, 2, 3, 5, 7, 11, 20, 91];
        Sizes::choice(segments.map(|n| Bytes(n * 1000)).to_vec(), &[1.0; 10])
    }

    #[test]
    fn the_replies_of_cm05_table_1_have_a_mean_of_14_2_segments() {
        near(wetmo_replies().mean(), 14_200.0, 1e-12);
        near(wetmo_replies().mean_segments(1000), 14.2, 1e-12);
        near(sampled(&wetmo_replies(), |size| size as f64), 14_200.0, 0.01);
    }

    #[test]
    fn nothing_is_drawn_beyond_the_bounds() {
        let choice = Sizes::choice(vec![Bytes(300), Bytes(40), Bytes(90)], &[1.0; 3]);
        assert_eq!(choice.bounds(), (Some(Bytes(40)), Some(Bytes(300))));
        let uniform = Sizes::Uniform { min: Bytes(50), max: Bytes(60) };
        let pareto = Sizes::Pareto { scale: 100.4, shape: 1.2, max: Some(Bytes(900)) };
        assert_eq!(Sizes::Exponential { mean: Bytes(50) }.bounds(), (None, None));
        let mut rng = Rng::stream(7, "sizes");
        for sizes in [choice, uniform, pareto, Sizes::Constant(Bytes(7))] {
            let (Some(least), Some(most)) = sizes.bounds() else { panic!("{sizes:?}") };
            let drawn: Vec<Bytes> = (0..10_000).map(|_| sizes.draw(&mut rng)).collect();
            assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&least), Some(&most)));
        }
    }

    #[test]
    fn a_choice_follows_its_weights() {
        let requests = Sizes::choice(vec![Bytes(1), Bytes(2), Bytes(3)], &[85.0, 10.0, 5.0]);
        for (size, share) in [(1, 0.85), (2, 0.10), (3, 0.05)] {
            near(sampled(&requests, |drawn| f64::from(u8::from(drawn == size))), share, 0.03);
        }
    }

    #[test]
    fn an_exponential_has_its_mean_and_twice_its_square_as_second_moment() {
        let sizes = Sizes::Exponential { mean: Bytes(500) };
        near(sampled(&sizes, |size| size as f64), 500.0, 0.005);
        near(sampled(&sizes, |size| (size * size) as f64), 2.0 * 500.0 * 500.0, 0.02);
    }

    #[test]
    fn a_uniform_has_the_variance_of_its_width() {
        let sizes = Sizes::Uniform { min: Bytes(100), max: Bytes(199) };
        near(sizes.mean(), 149.5, 1e-12);
        near(sampled(&sizes, |size| (size as f64 - 149.5).powi(2)), 9_999.0 / 12.0, 0.01);
    }

    #[test]
    fn a_pareto_has_its_mean_and_its_tail() {
        // Shape 3: P(X > 3·scale) = 1/27; the variance is finite, so the sample settles.
        let sizes = Sizes::pareto(Bytes(15_000), 3.0, None);
        near(sizes.mean(), 15_000.0, 1e-12);
        near(sampled(&sizes, |size| size as f64), 15_000.0, 0.01);
        near(sampled(&sizes, |size| f64::from(u8::from(size > 30_000))), 1.0 / 27.0, 0.05);
    }

    #[test]
    fn a_pareto_cut_at_its_greatest_size_has_the_mean_that_its_draws_have() {
        let sizes = Sizes::pareto(Bytes(12_000), 1.2, Some(Bytes(1_000_000)));
        near(sampled(&sizes, |size| size as f64), sizes.mean(), 0.03);
        assert!(sizes.mean() < 12_000.0);
    }

    #[test]
    fn the_mean_number_of_segments_is_that_of_the_draws() {
        for sizes in [
            Sizes::Exponential { mean: Bytes(5_000) },
            Sizes::Uniform { min: Bytes(1), max: Bytes(9_000) },
            Sizes::pareto(Bytes(15_000), 3.0, None),
            Sizes::pareto(Bytes(12_000), 1.5, Some(Bytes(200_000))),
        ] {
            let segments = |size: u64| size.div_ceil(1000) as f64;
            near(sampled(&sizes, segments), sizes.mean_segments(1000), 0.01);
        }
    }
}
