//! How a check is judged: rules fixed before anything is run.
//!
//! | rule | holds when |
//! |---|---|
//! | `figure` | ours is within a factor of 1.5 of the paper's figure, or its interval contains it |
//! | `far-below` | the ratio is at most 0.5, and the two intervals are disjoint |
//! | `about-zero` | a relative gain is at most 10 % either way |
//! | `at-most`, `at-least` | the interval lies on the asserted side of the bound |
//! | `above`, `below` | the paired difference lies on the asserted side of zero |
//! | `perceptibly-above`, `perceptibly-below` | the two intervals are disjoint, in this order |
//!
//! Where the interval decides neither way, a check is unsettled.

use serde::{Deserialize, Serialize};
use shortflow_measure::{Estimate, paired};

/// What a check or a claim comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails,
    /// The intervals decide neither way.
    Unsettled,
}

impl Verdict {
    /// The verdict on a claim that has these checks: it holds when all do, and fails when one does.
    /// Where nothing was checked, nothing is settled.
    pub fn on_all(checks: impl IntoIterator<Item = Verdict>) -> Verdict {
        let worse = |a, b| match (a, b) {
            (Verdict::Fails, _) | (_, Verdict::Fails) => Verdict::Fails,
            (Verdict::Unsettled, _) | (_, Verdict::Unsettled) => Verdict::Unsettled,
            (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
        };
        checks.into_iter().reduce(worse).unwrap_or(Verdict::Unsettled)
    }

    /// The word in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "fails",
            Verdict::Unsettled => "unsettled",
        }
    }

    /// As a machine reads it: true, false, or nothing when unsettled.
    pub const fn as_bool(self) -> Option<bool> {
        match self {
            Verdict::Holds => Some(true),
            Verdict::Fails => Some(false),
            Verdict::Unsettled => None,
        }
    }
}

/// Greatest factor between ours and a paper's figure.
const FIGURE_FACTOR: f64 = 1.5;
/// Greatest ratio that is "far below".
const FAR_BELOW: f64 = 0.5;
/// Greatest relative gain, in percent, that is "about zero".
const ABOUT_ZERO: f64 = 10.0;

/// Ours against a paper's `figure`.
pub fn figure(ours: &Estimate, figure: f64) -> Verdict {
    let factor = if ours.mean > figure { ours.mean / figure } else { figure / ours.mean };
    let contained = !ours.differs_from(figure) && ours.low.is_some();
    if contained || (factor > 0.0 && factor <= FIGURE_FACTOR) {
        return Verdict::Holds;
    }
    // Out of reach for the mean, but perhaps not for the interval's nearer end.
    let nearer = if ours.mean > figure { ours.low } else { ours.high };
    let reachable = nearer.is_none_or(|end| {
        end / figure <= FIGURE_FACTOR && figure / end <= FIGURE_FACTOR && end > 0.0
    });
    if reachable { Verdict::Unsettled } else { Verdict::Fails }
}

/// Whether `ours` is far below `reference`; both hold one value per replica.
pub fn far_below(reference: &[f64], ours: &[f64]) -> Option<Verdict> {
    let (a, b) = (Estimate::of(ours)?, Estimate::of(reference)?);
    let ratios: Vec<f64> = ours.iter().zip(reference).map(|(o, r)| o / r).collect();
    let ratio = Estimate::of(&ratios)?;
    Some(if ratio.mean <= FAR_BELOW && lies_below(&a, &b) == Some(true) {
        Verdict::Holds
    } else if ratio.low.is_some_and(|low| low > FAR_BELOW) || lies_below(&b, &a) == Some(true) {
        Verdict::Fails
    } else {
        Verdict::Unsettled
    })
}

/// Whether a relative gain in percent is about zero.
pub fn about_zero(gain: &Estimate) -> Verdict {
    if gain.mean.abs() <= ABOUT_ZERO {
        return Verdict::Holds;
    }
    let nearer = if gain.mean > 0.0 { gain.low } else { gain.high };
    match nearer {
        Some(end) if end.abs() > ABOUT_ZERO && end.signum() == gain.mean.signum() => Verdict::Fails,
        _ => Verdict::Unsettled,
    }
}

/// Whether ours is at most `bound`.
pub fn at_most(ours: &Estimate, bound: f64) -> Verdict {
    match (ours.low, ours.high) {
        (_, Some(high)) if high <= bound => Verdict::Holds,
        (Some(low), _) if low > bound => Verdict::Fails,
        _ => Verdict::Unsettled,
    }
}

/// Whether ours is at least `bound`.
pub fn at_least(ours: &Estimate, bound: f64) -> Verdict {
    at_most(&ours.scaled(-1.0), -bound)
}

/// Whether `ours` is below `reference`, replica by replica.
pub fn below(reference: &[f64], ours: &[f64]) -> Option<Verdict> {
    Some(at_most(&paired(reference, ours)?, 0.0))
}

/// Whether the interval of `ours` lies below that of `reference`.
pub fn perceptibly_below(reference: &Estimate, ours: &Estimate) -> Verdict {
    match (lies_below(ours, reference), lies_below(reference, ours)) {
        (Some(true), _) => Verdict::Holds,
        (_, Some(true)) => Verdict::Fails,
        _ => Verdict::Unsettled,
    }
}

/// Whether the whole interval of `a` lies below that of `b`; unknown without intervals.
fn lies_below(a: &Estimate, b: &Estimate) -> Option<bool> {
    Some(a.high? < b.low?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: f64, high: f64) -> Estimate {
        Estimate {
            mean: (low + high) / 2.0,
            low: Some(low),
            high: Some(high),
            n: 8,
            at_least: false,
        }
    }

    #[test]
    fn a_figure_holds_within_a_factor_of_one_and_a_half_or_inside_the_interval() {
        assert_eq!(figure(&estimate(1.4, 1.6), 1.0), Verdict::Holds);
        assert_eq!(figure(&estimate(0.5, 5.5), 1.0), Verdict::Holds);
        assert_eq!(figure(&estimate(1.55, 2.0), 1.0), Verdict::Fails);
        assert_eq!(figure(&estimate(1.45, 2.0), 1.0), Verdict::Unsettled);
        assert_eq!(figure(&estimate(0.4, 0.6), 1.0), Verdict::Fails);
    }

    #[test]
    fn far_below_needs_half_and_disjoint_intervals() {
        let reference = [2.0, 2.1, 1.9, 2.0];
        assert_eq!(far_below(&reference, &[0.8, 0.9, 0.7, 0.8]), Some(Verdict::Holds));
        assert_eq!(far_below(&reference, &[1.6, 1.7, 1.5, 1.6]), Some(Verdict::Fails));
        assert_eq!(far_below(&reference, &[0.1, 1.9, 0.2, 1.0]), Some(Verdict::Unsettled));
    }

    #[test]
    fn a_paired_order_is_settled_where_the_intervals_alone_overlap() {
        let reference = [1.0, 2.0, 3.0, 4.0];
        let ours = [0.9, 1.9, 2.8, 3.9];
        assert_eq!(below(&reference, &ours), Some(Verdict::Holds));
        assert_eq!(below(&ours, &reference), Some(Verdict::Fails));
        let (a, b) = (Estimate::of(&reference).unwrap(), Estimate::of(&ours).unwrap());
        assert_eq!(perceptibly_below(&a, &b), Verdict::Unsettled);
    }

    #[test]
    fn a_single_replica_settles_no_order() {
        assert_eq!(below(&[2.0], &[1.0]), Some(Verdict::Unsettled));
    }

    #[test]
    fn about_zero_is_ten_percent_either_way() {
        assert_eq!(about_zero(&estimate(-12.0, -4.0)), Verdict::Holds);
        assert_eq!(about_zero(&estimate(11.0, 19.0)), Verdict::Fails);
        assert_eq!(about_zero(&estimate(5.0, 25.0)), Verdict::Unsettled);
    }

    #[test]
    fn a_claim_fails_with_its_first_failing_check() {
        use Verdict::{Fails, Holds, Unsettled};
        assert_eq!(Verdict::on_all([Holds, Holds]), Holds);
        assert_eq!(Verdict::on_all([Holds, Unsettled]), Unsettled);
        assert_eq!(Verdict::on_all([Unsettled, Fails]), Fails);
        assert_eq!(Verdict::on_all([]), Unsettled);
    }
}
