//! Means with a small uncertainty due to a few unfinished transfers.
//!
//! If one of a thousand transfers of a replica is open, its mean is only a lower bound. Over many replicas that one
//! transfer may not matter: then the mean is given, and its interval is widened by the possible effect of the open
//! ones.

use crate::estimate::{Estimate, mean};
use crate::reading::{Likely, Reading};

/// By what share a mean may grow, at most, if all that is left at the oldest age took twice as long:
/// beyond it the mean is given as a lower bound only.
pub(crate) const MEAN_TOLERANCE: f64 = 0.02;

/// Between what a figure lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// If what is unfinished were completed at once.
    low: f64,
    /// By the best estimate.
    estimate: f64,
    /// If all that was left at the oldest age took twice as long.
    high: f64,
}

impl Spread {
    fn from_reading(reading: &Reading) -> Option<Spread> {
        match *reading {
            Reading::Exact(value) => Some(Spread { low: value, estimate: value, high: value }),
            Reading::AtLeast { at_least, likely } => {
                let Likely { estimate, doubled } = likely?;
                Some(Spread { low: at_least, estimate, high: doubled })
            }
        }
    }

    /// The spreads of these readings, if the unfinished items move their mean only a little; `None` if they may move
    /// it more, or if that is unknown.
    pub(crate) fn all(readings: &[Reading]) -> Option<Vec<Spread>> {
        let spreads: Vec<Spread> =
            readings.iter().map(Spread::from_reading).collect::<Option<_>>()?;
        let mean_of = |of: fn(&Spread) -> f64| mean(&spreads.iter().map(of).collect::<Vec<_>>());
        let (estimate, high) = (mean_of(|s| s.estimate)?, mean_of(|s| s.high)?);
        (high - estimate <= MEAN_TOLERANCE * estimate.abs()).then_some(spreads)
    }
}

/// The estimate from what each replica says; a lower bound where what is open may move it by more than a
/// little.
pub(crate) fn estimate(readings: &[Reading]) -> Option<Estimate> {
    match Spread::all(readings) {
        Some(spreads) => over(&spreads),
        None => Estimate::of_readings(readings),
    }
}

/// The estimate over replicas, its interval from the lower end if all that is open had completed at once to the
/// upper end if it took twice as long.
fn over(spreads: &[Spread]) -> Option<Estimate> {
    let of =
        |of: fn(&Spread) -> f64| Estimate::from_values(&spreads.iter().map(of).collect::<Vec<_>>());
    let (low, high) = (of(|s| s.low)?.low, of(|s| s.high)?.high);
    Some(Estimate { low, high, ..of(|s| s.estimate)? })
}

/// A figure of pairs, such as a gain, that falls with one side and grows with the other; its interval is widened
/// likewise.
pub(crate) fn of_pairs(
    reference: &[Spread],
    ours: &[Spread],
    figure: impl Fn(&[f64], &[f64]) -> Option<Estimate>,
) -> Option<Estimate> {
    let of = |of_reference: fn(&Spread) -> f64, of_ours: fn(&Spread) -> f64| {
        let reference: Vec<f64> = reference.iter().map(of_reference).collect();
        let ours: Vec<f64> = ours.iter().map(of_ours).collect();
        figure(&reference, &ours)
    };
    let found = of(|s| s.estimate, |s| s.estimate)?;
    let ends = [found, of(|s| s.low, |s| s.high)?, of(|s| s.high, |s| s.low)?];
    let low = ends.iter().filter_map(|end| end.low).min_by(f64::total_cmp);
    let high = ends.iter().filter_map(|end| end.high).max_by(f64::total_cmp);
    Some(Estimate { low, high, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::paired_gain_of_readings;

    fn open(at_least: f64, estimate: f64, doubled: f64) -> Reading {
        Reading::AtLeast { at_least, likely: Some(Likely { estimate, doubled }) }
    }

    #[test]
    fn one_open_transfer_among_many_widens_the_interval_and_leaves_a_mean_and_a_gain() {
        // In one of four replicas a transfer is open: its mean is 2.0 to 2.1, by estimate 2.02.
        let readings =
            [Reading::Exact(1.9), Reading::Exact(2.1), Reading::Exact(2.0), open(2.0, 2.02, 2.1)];
        let found = estimate(&readings).unwrap();
        assert!(!found.at_least && (found.mean - 2.005).abs() < 1e-12, "{found:?}");
        let min = Estimate::from_values(&[1.9, 2.1, 2.0, 2.0]).unwrap();
        let max = Estimate::from_values(&[1.9, 2.1, 2.0, 2.1]).unwrap();
        assert_eq!((found.low, found.high), (min.low, max.high));
        let gain =
            paired_gain_of_readings(&readings, &readings.map(|r| r.map(|x| x / 2.0))).unwrap();
        assert!((gain.mean - 50.0).abs() < 1e-12, "{gain:?}");
        // If ours were completed at once and the reference took longer, and the other way round.
        let best = Estimate::from_values(&[50.0, 50.0, 50.0, 100.0 * (2.1 - 1.0) / 2.1]).unwrap();
        let worst = Estimate::from_values(&[50.0, 50.0, 50.0, 100.0 * (2.0 - 1.05) / 2.0]).unwrap();
        assert!((gain.high.unwrap() - best.high.unwrap()).abs() < 1e-9, "{gain:?}");
        assert!((gain.low.unwrap() - worst.low.unwrap()).abs() < 1e-9, "{gain:?}");
    }

    #[test]
    fn what_may_move_the_mean_by_more_leaves_a_bound() {
        let readings = [Reading::Exact(2.0), open(2.0, 2.2, 2.4)];
        let found = estimate(&readings).unwrap();
        assert_eq!((found.mean, found.at_least), (2.0, true));
        let unknown = [Reading::Exact(2.0), Reading::at_least(2.0)];
        assert!(estimate(&unknown).unwrap().at_least, "nobody knows by how much");
    }
}
