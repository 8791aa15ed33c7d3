//! Running mean and variance.

use serde::{Deserialize, Serialize};

/// Count, mean, variance and greatest of a stream of numbers, exact without keeping them.
///
/// Welford's update (Technometrics 4, 1962); two streams are joined as in Chan, Golub & LeVeque
/// (1979).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// How many values.
    n: u64,
    /// Their mean.
    mean: f64,
    /// The sum of squared differences from the mean.
    squares: f64,
    /// The largest.
    max: f64,
}

impl Moments {
    /// Counts `value` in.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.max = if self.n == 0 { value } else { self.max.max(value) };
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    /// Counts in all that `other` has counted.
    pub fn merge(&mut self, other: &Moments) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = *other;
            return;
        }
        let (n, m) = (self.n as f64, other.n as f64);
        let difference = other.mean - self.mean;
        self.n += other.n;
        self.mean += difference * m / (n + m);
        self.squares += other.squares + difference * difference * n * m / (n + m);
        self.max = self.max.max(other.max);
    }

    /// How many numbers were counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The mean, unless nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// The standard deviation of the sample, of at least two numbers.
    pub fn deviation(&self) -> Option<f64> {
        (self.n > 1).then(|| (self.squares / (self.n - 1) as f64).sqrt())
    }

    /// The coefficient of variation: deviation over mean. `None` if the mean is zero.
    pub fn variation(&self) -> Option<f64> {
        let deviation = self.deviation()?;
        (self.mean != 0.0).then(|| deviation / self.mean)
    }

    /// The greatest number, unless nothing was counted.
    pub fn max(&self) -> Option<f64> {
        (self.n > 0).then_some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_two_streams_gives_what_one_stream_would() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 37)).collect();
        let of = |values: &[f64]| {
            let mut moments = Moments::default();
            values.iter().for_each(|value| moments.add(*value));
            moments
        };
        let mut joined = of(&values[..30]);
        joined.merge(&of(&values[30..]));
        let mean = values.iter().sum::<f64>() / 100.0;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 99.0;
        assert!((joined.mean().unwrap() - mean).abs() < 1e-12);
        assert!((joined.deviation().unwrap() - variance.sqrt()).abs() < 1e-12);
        assert_eq!((joined.n(), joined.max()), (100, Some(36.0)));
    }

    #[test]
    fn nothing_has_no_mean() {
        let mut nothing = Moments::default();
        nothing.merge(&Moments::default());
        assert_eq!((nothing.mean(), nothing.deviation(), nothing.max()), (None, None, None));
        assert_eq!(nothing.variation(), None);
    }

    #[test]
    fn the_variation_is_the_deviation_in_multiples_of_the_mean() {
        let of = |values: [f64; 2]| {
            let mut moments = Moments::default();
            values.iter().for_each(|value| moments.add(*value));
            moments.variation()
        };
        assert_eq!(of([2.0, 4.0]), Some(2.0_f64.sqrt() / 3.0)); // deviation √(1 + 1), mean 3
        assert_eq!(of([0.0, 0.0]), None);
    }

    #[test]
    fn the_greatest_of_negative_numbers_is_negative() {
        let mut moments = Moments::default();
        moments.add(-3.0);
        moments.add(-2.0);
        assert_eq!(moments.max(), Some(-2.0));
    }
}
