//! The evidence of replicas about a number.

use shortflow_measure::Reading;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What the replicas say of a number: a value, or the ratio of two values that each replica pairs.
///
/// What is above zero throughout is taken as logarithms, so that a half and a double are as far from
/// one, and one bad replica among many is no reason to know nothing. Otherwise a value is taken as it
/// is. Each way a replica gives one number, and their mean has Student's distribution around the truth where
/// they are about normal; where they are skewed, so is Student's statistic, which Hall's transformation (1992)
/// sets right to the first order.
///
/// Of a ratio whose values are not all above zero, a bound c is held against `ours − c·theirs`, whose interval
/// is Fieller's (1954); its skewness hangs on c and is left as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    pairs: Pairs,
    /// What each replica says at most, where `pairs` are what it says at least.
    at_most: Option<Pairs>,
    /// Ours is only known to be at least this in some replica: nothing then shows that it is small.
    is_at_least: bool,
    /// Theirs is only known to be at least this in some replica: the ratio may be smaller still.
    is_at_most: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Pairs {
    /// Values as they are.
    Values(Vec<f64>),
    /// Logarithms of values or ratios above zero.
    Logarithms(Vec<f64>),
    /// Ours and theirs, of which some are not above zero.
    Fractions(Vec<(f64, f64)>),
}

/// A number as it is shown: the estimate, and the interval in which the truth lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// The estimate: the geometric mean where all are above zero, else the mean, or the ratio of means.
    pub ours: f64,
    /// The lower end; absent where nothing bounds it.
    pub low: Option<f64>,
    /// The upper end; absent where nothing bounds it.
    pub high: Option<f64>,
}

/// The number and the ends of its interval.
pub(crate) fn ends(shown: Option<Shown>) -> (Option<f64>, Option<f64>, Option<f64>) {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    match shown {
        None => (None, None, None),
        Some(Shown { ours, low, high }) => {
            (finite(ours), low.and_then(finite), high.and_then(finite))
        }
    }
}

/// Fewer replicas say nothing of how skewed they are.
const SKEWED: usize = 6;
/// Replicas that would be more than anybody runs.
const TOO_MANY: usize = 100_000;

impl Evidence {
    /// Of a value.
    pub fn of_values(ours: &[Reading]) -> Evidence {
        let values: Vec<f64> = ours.iter().map(|reading| reading.value()).collect();
        let is_at_least = ours.iter().any(|reading| reading.is_bound());
        let pairs = if values.iter().all(|value| *value > 0.0) {
            Pairs::Logarithms(values.iter().copied().map(libm::log).collect())
        } else {
            Pairs::Values(values)
        };
        Evidence { pairs, at_most: None, is_at_least, is_at_most: false }
    }

    /// Of a value of which each replica says what it is at least, and at most.
    pub fn of_ranges(ours: &[(f64, f64)]) -> Evidence {
        let (low, high) = ours.iter().copied().unzip();
        let (pairs, at_most) = (Pairs::Values(low), Some(Pairs::Values(high)));
        Evidence { pairs, at_most, is_at_least: false, is_at_most: false }
    }

    /// Of ours over theirs, replica by replica.
    ///
    /// # Panics
    /// When one has more replicas than the other.
    pub fn of_ratios(ours: &[Reading], theirs: &[Reading]) -> Evidence {
        assert_eq!(ours.len(), theirs.len(), "pairs need as many replicas on both sides");
        let pairs: Vec<(f64, f64)> =
            ours.iter().zip(theirs).map(|(a, b)| (a.value(), b.value())).collect();
        let positive = pairs.iter().all(|(ours, theirs)| *ours > 0.0 && *theirs > 0.0);
        let pairs = if positive {
            Pairs::Logarithms(pairs.iter().map(|(a, b)| libm::log(a / b)).collect())
        } else {
            Pairs::Fractions(pairs)
        };
        let is_bound = |side: &[Reading]| side.iter().any(|reading| reading.is_bound());
        Evidence { pairs, at_most: None, is_at_least: is_bound(ours), is_at_most: is_bound(theirs) }
    }

    /// Of the geometric mean of several, replica by replica; `None` where one of them is not above zero
    /// throughout.
    pub fn together(each: &[Evidence]) -> Option<Evidence> {
        let logarithms: Option<Vec<&[f64]>> = each.iter().map(Evidence::logarithms).collect();
        let logarithms = logarithms?;
        let replicas = logarithms.iter().map(|values| values.len()).min()?;
        let mean = |replica: usize| {
            logarithms.iter().map(|values| values[replica]).sum::<f64>() / logarithms.len() as f64
        };
        Some(Evidence {
            pairs: Pairs::Logarithms((0..replicas).map(mean).collect()),
            at_most: None,
            is_at_least: each.iter().any(|evidence| evidence.is_at_least),
            is_at_most: each.iter().any(|evidence| evidence.is_at_most),
        })
    }

    fn logarithms(&self) -> Option<&[f64]> {
        match &self.pairs {
            Pairs::Logarithms(values) => Some(values),
            Pairs::Values(_) | Pairs::Fractions(_) => None,
        }
    }

    /// Of ours over a figure.
    pub fn of_ratio_to(ours: &[Reading], figure: f64) -> Evidence {
        Evidence::of_ratios(ours, &vec![Reading::Exact(figure); ours.len()])
    }

    /// How many replicas speak.
    pub fn replicas(&self) -> usize {
        match &self.pairs {
            Pairs::Values(values) | Pairs::Logarithms(values) => values.len(),
            Pairs::Fractions(pairs) => pairs.len(),
        }
    }

    /// Why it gives no number.
    pub(crate) fn without_number(&self) -> String {
        match self.replicas() {
            0 => "no replica".to_owned(),
            _ => "the value to compare with is zero".to_owned(),
        }
    }

    /// The probability to see as much as this, or more, below `bound` if the truth is not below it:
    /// small when the truth is below. `or_equal` counts equality as below, for replicas that all say
    /// the same.
    pub fn p_below(&self, bound: f64, or_equal: bool) -> f64 {
        if self.is_at_least {
            return 1.0;
        }
        self.at_most.as_ref().unwrap_or(&self.pairs).tail(bound, -1.0, or_equal)
    }

    /// The same above `bound`.
    pub fn p_above(&self, bound: f64, or_equal: bool) -> f64 {
        if self.is_at_most { 1.0 } else { self.pairs.tail(bound, 1.0, or_equal) }
    }

    /// The estimate, and the interval whose ends the truth is beyond with probability `error` each;
    /// `None` without a replica, or where both are zero throughout; infinite where theirs alone is.
    pub fn shown(&self, error: f64) -> Option<Shown> {
        let mut shown = self.pairs.shown(error)?;
        if let Some(at_most) = &self.at_most {
            shown.high = at_most.shown(error)?.high;
        }
        let low = shown.low.filter(|_| !self.is_at_most);
        Some(Shown { low, high: shown.high.filter(|_| !self.is_at_least), ..shown })
    }

    /// With how many replicas a test at level `error` would tell the truth from `bound`, if the truth
    /// is what these say and they spread as they do; `None` where that is more than anybody runs.
    pub fn replicas_to_decide(&self, bound: f64, error: f64) -> Option<u32> {
        let distance = Mean::from_values(&self.pairs.against(bound));
        let spread = distance.deviation();
        if distance.n < 2 || distance.mean == 0.0 || !spread.is_finite() {
            return None;
        }
        let tells = |n: usize| {
            let critical = student(n).inverse_cdf(1.0 - error);
            critical * spread <= distance.mean.abs() * (n as f64).sqrt()
        };
        // More replicas tell more, so that the least number lies where this begins to be so.
        let (mut not, mut enough) = (1, 2);
        while !tells(enough) {
            (not, enough) = (enough, enough * 2);
            if enough > TOO_MANY {
                return None;
            }
        }
        while enough - not > 1 {
            let middle = usize::midpoint(not, enough);
            if tells(middle) { enough = middle } else { not = middle }
        }
        Some(enough as u32)
    }
}

impl Pairs {
    fn tail(&self, bound: f64, side: f64, or_equal: bool) -> f64 {
        let distance = Mean::from_values(&self.against(bound));
        if distance.n < 2 || distance.mean.is_nan() {
            return 1.0;
        }
        let towards = side * distance.mean;
        if distance.error == 0.0 {
            return if towards > 0.0 || (or_equal && towards == 0.0) { 0.0 } else { 1.0 };
        }
        let skewness = match self {
            Pairs::Values(_) | Pairs::Logarithms(_) => distance.skewness,
            Pairs::Fractions(_) => 0.0,
        };
        let statistic = unskewed(distance.mean / distance.deviation(), skewness, distance.n);
        student(distance.n).sf(side * statistic * (distance.n as f64).sqrt())
    }

    /// One number for each replica, whose mean is above zero when the truth is above `bound`.
    fn against(&self, bound: f64) -> Vec<f64> {
        match self {
            Pairs::Values(values) => values.iter().map(|value| value - bound).collect(),
            Pairs::Logarithms(values) => {
                let bound = libm::log(bound.max(0.0));
                values.iter().map(|value| value - bound).collect()
            }
            Pairs::Fractions(pairs) => pairs.iter().map(|(a, b)| a - bound * b).collect(),
        }
    }

    /// The estimate and its interval; `None` without a replica.
    fn shown(&self, error: f64) -> Option<Shown> {
        match self {
            Pairs::Values(values) => Mean::from_values(values).interval(error),
            Pairs::Logarithms(values) => {
                Some(Mean::from_values(values).interval(error)?.map(libm::exp))
            }
            Pairs::Fractions(pairs) => fieller(pairs, error),
        }
    }
}

impl Shown {
    /// In another unit, the factor being above zero.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Shown {
        self.map(|value| value * factor)
    }

    fn map(self, rising: impl Fn(f64) -> f64) -> Shown {
        let (low, high) = (self.low.map(&rising), self.high.map(&rising));
        Shown { ours: rising(self.ours), low, high }
    }
}

/// A mean, its standard error, and how skewed the values are.
struct Mean {
    n: usize,
    mean: f64,
    error: f64,
    skewness: f64,
}

impl Mean {
    fn from_values(values: &[f64]) -> Mean {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        // Values that are all the same have no spread, whatever their mean was rounded to.
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            let mean = values.first().copied().unwrap_or(f64::NAN);
            return Mean { n, mean, error: 0.0, skewness: 0.0 };
        }
        let moment = |power: i32| {
            values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n as f64
        };
        let skewness = if n < SKEWED { 0.0 } else { moment(3) / moment(2).powf(1.5) };
        Mean { n, mean, error: (moment(2) / (n - 1) as f64).sqrt(), skewness }
    }

    /// The standard deviation of the values.
    fn deviation(&self) -> f64 {
        self.error * (self.n as f64).sqrt()
    }

    fn interval(&self, error: f64) -> Option<Shown> {
        let end = |side: f64| {
            let t = side * student(self.n).inverse_cdf(1.0 - error);
            let standard = skewed(t / (self.n as f64).sqrt(), self.skewness, self.n);
            self.mean - self.deviation() * standard
        };
        let ends = (self.n > 1).then(|| (end(1.0), end(-1.0)));
        let (low, high) = ends.unzip();
        (self.n > 0).then_some(Shown { ours: self.mean, low, high })
    }
}

/// Hall's transformation of a mean of `n` values in their standard deviations ("On the removal of
/// skewness by transformation", Journal of the Royal Statistical Society B 54, 1992, eq. 2.3): what comes of it is about
/// as symmetric as Student's distribution.
fn unskewed(standard: f64, skewness: f64, n: usize) -> f64 {
    let bent = skewness * standard / 3.0;
    standard * (1.0 + bent + bent * bent / 3.0) + skewness / (6.0 * n as f64)
}

/// Its inverse.
fn skewed(standard: f64, skewness: f64, n: usize) -> f64 {
    if skewness == 0.0 {
        return standard;
    }
    let bent = skewness * (standard - skewness / (6.0 * n as f64));
    // The cube root of 1 + bent, less 1, which is exact for a small skewness too.
    let root = if bent > -0.5 {
        libm::expm1(libm::log1p(bent) / 3.0)
    } else {
        libm::cbrt(1.0 + bent) - 1.0
    };
    3.0 / skewness * root
}

/// Student's distribution of the mean of `n` values.
fn student(n: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, (n - 1) as f64).expect("there are degrees of freedom")
}

/// The ratio of means and Fieller's interval: those c for which the mean of `ours − c·theirs` is not
/// told from zero.
fn fieller(pairs: &[(f64, f64)], error: f64) -> Option<Shown> {
    let n = pairs.len();
    let ours = Mean::from_values(&pairs.iter().map(|(ours, _)| *ours).collect::<Vec<_>>());
    let theirs = Mean::from_values(&pairs.iter().map(|(_, theirs)| *theirs).collect::<Vec<_>>());
    let ratio = ours.mean / theirs.mean;
    if ratio.is_nan() {
        return None;
    }
    let unbounded = Some(Shown { ours: ratio, low: None, high: None });
    if n < 2 || ratio.is_infinite() {
        return unbounded;
    }
    let products: f64 = pairs.iter().map(|(a, b)| (a - ours.mean) * (b - theirs.mean)).sum();
    let both = products / (n - 1) as f64 / n as f64;
    let t2 = student(n).inverse_cdf(1.0 - error).powi(2);
    // a·c² − 2·b·c + d ≤ 0
    let a = theirs.mean.powi(2) - t2 * theirs.error.powi(2);
    let b = ours.mean * theirs.mean - t2 * both;
    let d = ours.mean.powi(2) - t2 * ours.error.powi(2);
    if a <= 0.0 {
        return unbounded;
    }
    let root = (b * b - a * d).max(0.0).sqrt();
    Some(Shown { ours: ratio, low: Some((b - root) / a), high: Some((b + root) / a) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: &[f64]) -> Vec<Reading> {
        values.iter().copied().map(Reading::Exact).collect()
    }

    fn near(ours: f64, expected: f64) {
        assert!((ours - expected).abs() < 1e-3 * expected.abs().max(1.0), "{ours} for {expected}");
    }

    /// By hand: mean 0.1, deviation 0.1633, t = 1.2247 with 3 degrees of freedom, whose upper tail is
    /// 0.1540 and whose 97.5 % point is 3.1824.
    #[test]
    fn values_that_are_not_skewed_are_tested_as_by_students_test() {
        let evidence = Evidence::of_values(&exact(&[0.1, -0.1, 0.3, 0.1]));
        near(evidence.p_above(0.0, false), 0.1540);
        near(evidence.p_below(0.0, false), 1.0 - 0.1540);
        let shown = evidence.shown(0.025).unwrap();
        near(shown.ours, 0.1);
        near(shown.low.unwrap(), 0.1 - 3.1824 * 0.0816);
        near(shown.high.unwrap(), 0.1 + 3.1824 * 0.0816);
    }

    /// By hand: mean 0.5, deviation 1.4521, skewness 0.7123, hence √8·(0.3443 + 0.0281 + 0.0008 + 0.0148) =
    /// 1.0977 for Student's 0.9739 with 7 degrees of freedom, and an upper tail of 0.1543.
    #[test]
    fn of_skewed_values_the_longer_tail_is_taken_off() {
        let evidence = Evidence::of_values(&exact(&[-1.0, 0.0, 0.3, 2.7, -1.0, 0.0, 0.3, 2.7]));
        near(evidence.p_above(0.0, false), 0.1543);
        for error in [0.025, 0.2] {
            let shown = evidence.shown(error).unwrap();
            near(evidence.p_above(shown.low.unwrap(), false), error);
            near(evidence.p_below(shown.high.unwrap(), false), error);
        }
    }

    #[test]
    fn values_above_zero_are_all_above_zero_and_below_nothing_negative() {
        let evidence = Evidence::of_values(&exact(&[0.1, 0.2, 0.4]));
        near(evidence.shown(0.025).unwrap().ours, 0.2);
        assert_eq!((evidence.p_above(0.0, false), evidence.p_below(-1.0, true)), (0.0, 1.0));
    }

    #[test]
    fn a_ratio_is_the_geometric_mean_of_pairs() {
        let evidence = Evidence::of_ratios(&exact(&[1.0, 8.0]), &exact(&[2.0, 4.0]));
        near(evidence.shown(0.025).unwrap().ours, 1.0);
        let doubled = Evidence::of_ratios(&exact(&[2.0, 4.0, 6.0]), &exact(&[1.0, 2.0, 3.0]));
        assert_eq!(doubled.p_above(1.9, false), 0.0, "all say the same");
        assert_eq!(doubled.p_below(1.9, false), 1.0);
    }

    #[test]
    fn zeros_are_compared_as_fractions_and_agree_with_their_interval() {
        let (ours, theirs) = ([0.0, 0.2, 0.1, 0.3, 0.0, 0.2], [1.0, 1.4, 0.9, 1.2, 1.1, 0.8]);
        let evidence = Evidence::of_ratios(&exact(&ours), &exact(&theirs));
        let shown = evidence.shown(0.025).unwrap();
        near(shown.ours, 0.8 / 6.4);
        // At the ends of the interval the test has just the level of the interval.
        near(evidence.p_below(shown.high.unwrap(), false), 0.025);
        near(evidence.p_above(shown.low.unwrap(), false), 0.025);
    }

    #[test]
    fn beside_zero_there_is_no_ratio_but_what_is_above_it_is_above() {
        let (some, zero) = (exact(&[1.0, 2.0, 1.5]), exact(&[0.0; 3]));
        let evidence = Evidence::of_ratios(&some, &zero);
        assert!(evidence.p_above(1.0, false) < 0.05 && evidence.p_below(1.0, false) > 0.95);
        let shown = evidence.shown(0.025).unwrap();
        assert_eq!((shown.ours, shown.low, shown.high), (f64::INFINITY, None, None));
        assert_eq!(Evidence::of_ratios(&zero, &zero).shown(0.025), None);
    }

    #[test]
    fn several_points_together_are_surer_than_each() {
        let of = |ratios: &[f64]| Evidence::of_ratio_to(&exact(ratios), 1.0);
        let each = [of(&[0.5, 1.2, 0.9]), of(&[1.1, 0.6, 0.8]), of(&[0.9, 0.7, 0.9])];
        let together = Evidence::together(&each).unwrap();
        near(together.shown(0.025).unwrap().ours, (0.54_f64 * 0.528 * 0.567).powf(1.0 / 9.0));
        let surest = each.iter().map(|one| one.p_below(1.0, false)).fold(1.0, f64::min);
        assert!(together.p_below(1.0, false) < surest);
        assert_eq!(Evidence::together(&[of(&[1.0, 0.0])]), None);
    }

    #[test]
    fn a_range_speaks_with_its_nearer_end() {
        let evidence = Evidence::of_ranges(&[(0.0, 0.2), (0.1, 0.3), (0.0, 0.3), (0.1, 0.2)]);
        near(evidence.shown(0.025).unwrap().ours, 0.05);
        assert!(evidence.p_below(0.5, false) < 0.01, "at most 0.25 on average");
        let wide = Evidence::of_ranges(&[(0.0, 0.9), (0.1, 0.9), (0.0, 1.0), (0.1, 0.9)]);
        assert!(wide.p_below(0.5, false) > 0.5 && wide.p_above(0.5, false) > 0.5);
    }

    #[test]
    fn a_bound_shows_that_a_time_is_long_and_never_that_it_is_short() {
        let ours = [Reading::at_least(9.0), Reading::Exact(8.0), Reading::Exact(8.5)];
        let theirs = exact(&[2.0, 2.1, 1.9]);
        let slow = Evidence::of_ratios(&ours, &theirs);
        assert!(slow.p_above(1.0, false) < 0.01);
        assert_eq!(slow.p_below(1000.0, false), 1.0);
        assert_eq!(slow.shown(0.025).unwrap().high, None);
        let fast = Evidence::of_ratios(&theirs, &ours);
        assert!(fast.p_below(1.0, false) < 0.01);
        assert_eq!(fast.p_above(0.001, false), 1.0);
        assert_eq!(fast.shown(0.025).unwrap().low, None);
    }

    #[test]
    fn one_replica_tells_nothing() {
        let one = Evidence::of_values(&exact(&[3.0]));
        assert_eq!((one.p_below(5.0, true), one.p_above(1.0, true)), (1.0, 1.0));
        let shown = one.shown(0.025).unwrap();
        assert_eq!((shown.low, shown.high), (None, None));
        near(shown.ours, 3.0);
    }

    #[test]
    fn replicas_that_would_do_are_those_at_which_the_test_would_tell() {
        let evidence = Evidence::of_values(&exact(&[0.1, -0.1, 0.3, 0.2]));
        let wanted = evidence.replicas_to_decide(0.0, 0.05).unwrap();
        // Deviation 0.1708: t(0.95, n−1)·0.1708/√n is 0.1254 at n = 7 and 0.1144 at n = 8.
        assert_eq!(wanted, 8);
        assert_eq!(evidence.replicas_to_decide(0.125, 0.05), None, "the estimate itself");
    }
}
