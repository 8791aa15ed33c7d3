//! Intervals over independent replicas.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over independent replicas and the half width of its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) half_width: f64,
}

impl Interval {
    /// The interval that misses the true mean with probability `risk`, by Student's distribution.
    pub(crate) fn from_values(values: &[f64], risk: f64) -> Interval {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let student = StudentsT::new(0.0, 1.0, n - 1.0).unwrap().inverse_cdf(1.0 - risk / 2.0);
        Interval { mean, half_width: student * (squares / (n - 1.0) / n).sqrt() }
    }

    pub(crate) fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}
