//! Means over replicas, with intervals; fairness.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::reading::Reading;
use crate::spread::{self, Spread};

/// A measure over independent replicas: its mean and the 95 % Student interval of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean over replicas.
    pub mean: f64,
    /// The lower end of the 95 % interval; absent when there is but one replica.
    pub low: Option<f64>,
    /// The upper end of the 95 % interval.
    pub high: Option<f64>,
    /// How many replicas had the measure.
    pub n: u32,
    /// Whether the mean is only a lower bound, because in some replica too much was
    /// unfinished to tell the measure; it then has no interval.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_least: bool,
    /// Whether the mean is only an upper bound, as that of a rate which no model tells; likewise without an interval.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_most: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Estimate {
    /// The estimate from one value per replica; none when there is no value.
    pub fn from_values(values: &[f64]) -> Option<Estimate> {
        let mean = mean(values)?;
        let n = values.len();
        let half = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let error = (squares / (n - 1) as f64 / n as f64).sqrt();
            student_97_5(n - 1) * error
        });
        Some(Estimate {
            mean,
            low: half.map(|half| mean - half),
            high: half.map(|half| mean + half),
            n: n as u32,
            at_least: false,
            at_most: false,
        })
    }

    /// The estimate from what each replica says; a lower bound as soon as one of them is.
    pub fn of_readings(readings: &[Reading]) -> Option<Estimate> {
        let values: Vec<f64> = readings.iter().map(|reading| reading.value()).collect();
        let estimate = Estimate::from_values(&values)?;
        Some(match readings.iter().any(|reading| reading.is_bound()) {
            true => Estimate { low: None, high: None, at_least: true, ..estimate },
            false => estimate,
        })
    }

    /// A figure of all replicas together, which has no interval.
    pub fn pooled(reading: Reading, replicas: u32) -> Estimate {
        let (mean, at_least) = (reading.value(), reading.is_bound());
        Estimate { mean, low: None, high: None, n: replicas, at_least, at_most: false }
    }

    /// A lower bound that rests on no replica.
    pub fn at_least(mean: f64) -> Estimate {
        Estimate { mean, low: None, high: None, n: 1, at_least: true, at_most: false }
    }

    /// An upper bound that rests on no replica.
    pub fn at_most(mean: f64) -> Estimate {
        Estimate { mean, low: None, high: None, n: 1, at_least: false, at_most: true }
    }

    /// Whether it is a bound of the mean, and not the mean.
    pub const fn is_bound(&self) -> bool {
        self.at_least || self.at_most
    }

    /// The figure where it is more than a bound.
    pub fn known(&self) -> Option<Estimate> {
        (!self.is_bound()).then_some(*self)
    }

    /// The estimate from the replicas in which `measure` has a value.
    pub fn over<T>(replicas: &[T], measure: impl Fn(&T) -> Option<f64>) -> Option<Estimate> {
        Estimate::from_values(&replicas.iter().filter_map(measure).collect::<Vec<_>>())
    }

    /// The estimate from the replicas in which `measure` says something; a lower bound where some of them say
    /// one, and what is open may move the mean by more than a fiftieth.
    pub fn over_readings<T>(
        replicas: &[T],
        measure: impl Fn(&T) -> Option<Reading>,
    ) -> Option<Estimate> {
        spread::estimate(&replicas.iter().filter_map(measure).collect::<Vec<_>>())
    }

    /// The same of a share: its interval cut at 0 and 1, beyond which no share lies.
    pub fn share_over<T>(replicas: &[T], measure: impl Fn(&T) -> Option<f64>) -> Option<Estimate> {
        let found = Estimate::over(replicas, measure)?;
        let cut = |end: f64| end.clamp(0.0, 1.0);
        Some(Estimate { low: found.low.map(cut), high: found.high.map(cut), ..found })
    }

    /// Half the interval's width, the longer half of one that is cut at the end of a range; absent when
    /// there is but one replica.
    pub fn half_width(&self) -> Option<f64> {
        let (low, high) = self.low.zip(self.high)?;
        Some((high - self.mean).max(self.mean - low))
    }

    /// The estimate in another unit.
    pub fn scaled(&self, factor: f64) -> Estimate {
        // A zero times a negative factor has a sign, which a sum with zero removes.
        let scaled = |x: f64| x * factor + 0.0;
        let (a, b) = (self.low.map(scaled), self.high.map(scaled));
        let (low, high) = if factor < 0.0 { (b, a) } else { (a, b) };
        Estimate { mean: scaled(self.mean), low, high, ..*self }
    }

    /// Whether the interval lies wholly on one side of `value`.
    pub fn differs_from(&self, value: f64) -> bool {
        self.low.is_some_and(|low| low > value) || self.high.is_some_and(|high| high < value)
    }
}

/// The mean, unless there is nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The difference `ours − reference` of two runs with the same arrivals, replica by replica. Common effects cancel
/// out, so the interval is narrower than those of the two runs.
///
/// # Panics
/// When the runs differ in their number of replicas.
pub fn paired(reference: &[f64], ours: &[f64]) -> Option<Estimate> {
    Estimate::from_values(&pairwise(reference, ours, |reference, ours| ours - reference))
}

/// The relative gain of `ours` over `reference` in percent, replica by replica.
///
/// # Panics
/// When the runs differ in their number of replicas.
pub fn paired_gain(reference: &[f64], ours: &[f64]) -> Option<Estimate> {
    Estimate::from_values(&pairwise(reference, ours, relative_gain))
}

/// The relative gain of `ours` over `reference` in percent, pair by pair. `None` if a side is only a bound and its
/// unfinished items may move its mean by more than 2 %.
///
/// # Panics
/// When the runs differ in their number of replicas.
pub fn paired_gain_of_readings(reference: &[Reading], ours: &[Reading]) -> Option<Estimate> {
    spread::of_pairs(&Spread::all(reference)?, &Spread::all(ours)?, paired_gain)
}

/// η = 100 · (reference − ours) / reference: positive when ours is faster (Casetti & Mellia 2005,
/// §4.1).
pub fn relative_gain(reference: f64, ours: f64) -> f64 {
    100.0 * (reference - ours) / reference
}

/// Jain's fairness index (Σx)² / (n·Σx²): 1 if all are equal, even if all are zero, and 1/n if one has everything;
/// `None` without values.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    match squares {
        _ if shares.is_empty() => None,
        0.0 => Some(1.0),
        squares => Some(sum * sum / (shares.len() as f64 * squares)),
    }
}

fn pairwise(reference: &[f64], ours: &[f64], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    assert_eq!(reference.len(), ours.len(), "pairs need as many replicas on both sides");
    reference.iter().zip(ours).map(|(reference, ours)| of(*reference, *ours)).collect()
}

/// The 97.5 % point of Student's distribution, for intervals of 95 %.
fn student_97_5(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64)
        .expect("at least one degree of freedom")
        .inverse_cdf(0.975)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz & Stegun, table 26.10.
    #[test]
    fn student_points_are_those_of_the_published_table() {
        for (freedom, point) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (7, 2.365), (9, 2.262), (30, 2.042)]
        {
            assert!((student_97_5(freedom) - point).abs() < 0.0006, "{freedom} degrees");
        }
    }

    #[test]
    fn four_replicas_give_the_interval_that_a_hand_computes() {
        // Mean 5, squares 4+1+1+4 = 10, deviation √(10/3), error √(10/12), times 3.182.
        let estimate = Estimate::from_values(&[3.0, 4.0, 6.0, 7.0]).unwrap();
        assert_eq!(estimate.mean, 5.0);
        assert!((estimate.half_width().unwrap() - 2.905).abs() < 0.001);
        assert!((estimate.low.unwrap() - 2.095).abs() < 0.001);
    }

    #[test]
    fn one_replica_has_no_interval_and_none_has_no_mean() {
        let one = Estimate::from_values(&[3.0]).unwrap();
        assert_eq!((one.mean, one.low, one.high, one.n), (3.0, None, None, 1));
        assert_eq!(Estimate::from_values(&[]), None);
    }

    #[test]
    fn one_bound_makes_the_estimate_a_bound_and_leaves_no_gain() {
        let readings = [Reading::Exact(2.0), Reading::at_least(4.0)];
        let estimate = Estimate::of_readings(&readings).unwrap();
        assert_eq!((estimate.mean, estimate.low, estimate.at_least), (3.0, None, true));
        assert_eq!(estimate.known(), None);
        let exact = [Reading::Exact(1.0), Reading::Exact(3.0)];
        assert_eq!(Estimate::of_readings(&exact), Estimate::from_values(&[1.0, 3.0]));
        assert_eq!(paired_gain_of_readings(&exact, &readings), None);
        assert_eq!(paired_gain_of_readings(&exact, &exact).unwrap().mean, 0.0);
    }

    #[test]
    fn the_interval_of_a_share_ends_where_shares_end() {
        let fairness = Estimate::share_over(&[0.8, 1.0], |share| Some(*share)).unwrap();
        assert_eq!((fairness.low, fairness.high, fairness.n), (Some(0.0), Some(1.0), 2));
        // ± is the longer side: from 0.9 down to 0, since 12.706 · 0.1 is more than that.
        assert!((fairness.half_width().unwrap() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_zero_of_another_sign_stays_zero_without_a_sign() {
        let scaled = Estimate::from_values(&[0.0, 0.0]).unwrap().scaled(-1.0);
        let ends = [Some(scaled.mean), scaled.low, scaled.high];
        assert!(ends.iter().all(|end| end.is_some_and(f64::is_sign_positive)), "{scaled:?}");
    }

    #[test]
    fn what_two_runs_share_cancels_in_paired_differences() {
        let reference = [10.0, 20.0, 30.0];
        let ours = [9.0, 19.0, 29.0];
        let difference = paired(&reference, &ours).unwrap();
        assert_eq!((difference.mean, difference.half_width()), (-1.0, Some(0.0)));
        assert!(!Estimate::from_values(&reference).unwrap().differs_from(19.0));
        assert!(difference.differs_from(0.0));
    }

    #[test]
    fn a_tenth_of_the_time_is_a_gain_of_90_percent() {
        assert_eq!(relative_gain(5.0, 0.5), 90.0);
        assert_eq!(relative_gain(1.0, 2.0), -100.0);
        assert_eq!(paired_gain(&[5.0, 10.0], &[0.5, 1.0]).unwrap().mean, 90.0);
    }

    #[test]
    fn fairness_is_one_when_equal_and_one_nth_when_one_has_all() {
        assert_eq!(jain(&[2.0, 2.0, 2.0, 2.0]), Some(1.0));
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[0.0, 0.0]), jain(&[])), (Some(1.0), None), "zero is a result");
    }
}
