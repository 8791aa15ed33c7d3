//! Completion times, some of which are only known to exceed an age.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shortflow_units::Duration;

use crate::ages::Ages;
use crate::histogram::Histogram;
use crate::reading::{Likely, Reading};
use crate::spread::MEAN_TOLERANCE;

/// How long things took that were completed, and how old those were at the end that were not: these
/// are right-censored, for how long they would have taken is not known.
///
/// The distribution is estimated by the product limit (Kaplan & Meier, Journal of the American Statistical
/// Association 53, 1958): the share that takes longer than t is the product, over all completion times up to t, of
/// the share of items in progress that continued. An incomplete item counts as in progress until its age. Omitting it
/// would favour a policy that starves the longest transfers.
///
/// The estimate takes what is left for no different from what was completed at the same age. Under
/// one queue it may be, and under another not, and what is left when a load ends completes sooner
/// than it would under the load. So the estimate tells a percentile only where what is unfinished
/// could not hold all that lies beyond it. Otherwise it gives a bound that holds whatever is still to
/// come: that of all completion times if what is unfinished were completed at once.
///
/// Its two histograms do not grow with time, and join exactly.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Survival {
    completed: Histogram,
    unfinished: Ages,
}

/// The minimum number of items beyond a percentile: with fewer, it is little more than the longest time that happened
/// to occur.
const MIN_BEYOND: f64 = 10.0;

/// How much longer than a time the end of its cell in a histogram may be.
const CELL: f64 = 1.001;

/// What is left of rounding when a share is compared with one minus a quantile.
const ROUNDING: f64 = 1e-12;

impl Survival {
    /// Something was completed after `time`.
    #[inline]
    pub fn complete(&mut self, time: Duration) {
        self.completed.record(time);
    }

    /// Something was not completed, and is `age` old at the end.
    pub fn leave_unfinished(&mut self, age: Duration) {
        self.unfinished.record(age);
    }

    /// Counts in all that `other` has counted.
    pub fn merge(&mut self, other: &Survival) {
        self.completed.merge(&other.completed);
        self.unfinished.merge(&other.unfinished);
    }

    /// How many there were, completed or not.
    pub fn n(&self) -> u64 {
        self.completed.n() + self.unfinished.n()
    }

    /// How many were not completed.
    pub fn unfinished(&self) -> u64 {
        self.unfinished.n()
    }

    /// The time in seconds that a share `quantile` (0 to 1) of all do not exceed; a bound where more
    /// than a share 1 − `quantile` are unfinished.
    pub fn quantile(&self, quantile: f64) -> Option<Reading> {
        self.curve().quantile(quantile)
    }

    /// The quantile, where enough lie beyond it that it means something: at least 10.
    pub fn resolved_quantile(&self, quantile: f64) -> Option<Reading> {
        Self::resolves(self.n(), quantile).then(|| self.quantile(quantile)).flatten()
    }

    /// Whether enough of `n` lie beyond a quantile that it means something: at least 10.
    pub fn resolves(n: u64, quantile: f64) -> bool {
        n as f64 * (1.0 - quantile) >= MIN_BEYOND - 1e-6
    }

    /// The complementary distribution: for each time in seconds at which something was completed, the
    /// share of all that take longer.
    pub fn ccdf(&self) -> Vec<(f64, f64)> {
        if self.unfinished.n() == 0 {
            return self.completed.ccdf();
        }
        self.steps().iter().map(|step| (step.seconds, step.longer)).collect()
    }

    /// What the mean, the deviation and percentiles are read from: computed once for all of them.
    pub(crate) fn curve(&self) -> Curve<'_> {
        let steps = if self.unfinished.n() == 0 { Vec::new() } else { self.steps() };
        Curve { of: self, steps }
    }

    /// The mean in seconds if what is unfinished were completed now.
    fn min_mean(&self) -> f64 {
        let cells = self.completed.occupied().chain(self.unfinished.occupied());
        let min = |cell| Histogram::seconds(Histogram::lower_edge(cell));
        let sum: f64 = cells.map(|(cell, n)| min(cell) * f64::from(n)).sum();
        sum / self.n() as f64
    }

    /// All times if what is unfinished were completed now.
    fn if_all_ended_now(&self) -> Histogram {
        let mut all = self.completed.clone();
        self.unfinished.occupied().for_each(|(cell, count)| all.record_cell(cell, count));
        all
    }

    /// The longest time or age in seconds.
    fn end(&self) -> f64 {
        self.completed.longest().max(self.unfinished.greatest())
    }

    /// The estimated distribution: where it falls, and to what. What was completed at the age of
    /// something unfinished was completed first.
    fn steps(&self) -> Vec<Step> {
        let mut ages = self.unfinished.occupied().peekable();
        let mut under_way = self.n();
        let mut longer = 1.0;
        let step = |(micros, count): (u64, u32)| {
            while let Some((_, left)) = ages.next_if(|(age, _)| *age < micros) {
                under_way -= u64::from(left);
            }
            longer *= (under_way - u64::from(count)) as f64 / under_way as f64;
            under_way -= u64::from(count);
            let seconds = self.completed.within(micros, 1.0);
            Step { seconds, micros, longer }
        };
        self.completed.occupied().map(step).collect()
    }
}

/// A time at which something was completed, and the share of all that take longer.
struct Step {
    /// The end of its cell, or the longest of all if that is less.
    seconds: f64,
    /// Its cell.
    micros: u64,
    longer: f64,
}

/// The distribution of a [`Survival`], estimated.
pub(crate) struct Curve<'a> {
    of: &'a Survival,
    /// `None` if all are complete: then the histogram has everything.
    steps: Vec<Step>,
}

impl Curve<'_> {
    /// See [`Survival::quantile`].
    pub(crate) fn quantile(&self, quantile: f64) -> Option<Reading> {
        let of = self.of;
        if of.unfinished.n() == 0 {
            return of.completed.quantile(quantile).map(Reading::Exact);
        }
        let beyond = 1.0 - quantile + ROUNDING;
        if of.unfinished.n() as f64 > beyond * of.n() as f64 {
            return of.if_all_ended_now().min_quantile(quantile).map(Reading::at_least);
        }
        let found = self.steps.iter().position(|step| step.longer <= beyond);
        let at = found.expect("what is left after the last step are unfinished ones");
        let (step, before) =
            (&self.steps[at], at.checked_sub(1).map_or(1.0, |at| self.steps[at].longer));
        let part = ((before - beyond) / (before - step.longer)).clamp(0.0, 1.0);
        Some(Reading::Exact(of.completed.within(step.micros, part)))
    }

    /// The share of all that take longer than this, where some are unfinished; nothing where the data
    /// end before it.
    pub(crate) fn share_over(&self, seconds: f64) -> Option<f64> {
        let before = self.steps.partition_point(|step| step.seconds <= seconds * CELL);
        let longer = before.checked_sub(1).map_or(1.0, |at| self.steps[at].longer);
        (longer == 0.0 || seconds <= self.of.end()).then_some(longer)
    }

    /// The mean up to the oldest age if some are unfinished (the restricted mean); a bound if the unfinished ones
    /// could matter. `None` if all are complete: the exact mean is kept elsewhere.
    pub(crate) fn restricted_mean(&self) -> Option<Reading> {
        let (mean, _, left) = self.restricted_moments()?;
        let growth = left * self.of.end();
        Some(match growth <= MEAN_TOLERANCE * mean {
            true => Reading::Exact(mean),
            false => Reading::AtLeast {
                at_least: self.of.min_mean(),
                likely: Some(Likely { estimate: mean, doubled: mean + growth }),
            },
        })
    }

    /// The standard deviation, likewise.
    pub(crate) fn restricted_deviation(&self) -> Option<Reading> {
        let (mean, square, left) = self.restricted_moments()?;
        let end = self.of.end();
        let deviation = (square - mean * mean).max(0.0).sqrt();
        let is_known = left * end * end <= MEAN_TOLERANCE * square;
        Some(if is_known { Reading::Exact(deviation) } else { Reading::at_least(deviation) })
    }

    /// The mean and the mean square of times cut off at the oldest age, and the share left there.
    fn restricted_moments(&self) -> Option<(f64, f64, f64)> {
        if self.of.unfinished.n() == 0 {
            return None;
        }
        let (mut mean, mut square, mut before) = (0.0, 0.0, 1.0);
        for step in &self.steps {
            let share = before - step.longer;
            mean += share * step.seconds;
            square += share * step.seconds * step.seconds;
            before = step.longer;
        }
        let end = self.of.end();
        Some((mean + before * end, square + before * end * end, before))
    }
}

/// The completed ones as a [`Histogram`], or where some are unfinished, both.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Completed(&'a Histogram),
    Both { completed: &'a Histogram, unfinished: &'a Ages },
}

/// The same, as it is read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Completed(Histogram),
    Both { completed: Histogram, unfinished: Ages },
}

impl Serialize for Survival {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Survival { completed, unfinished } = self;
        let shown = match unfinished.n() {
            0 => Shown::Completed(completed),
            _ => Shown::Both { completed, unfinished },
        };
        shown.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Survival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Completed(completed) => Survival { completed, ..Survival::default() },
            Stored::Both { completed, unfinished } => Survival { completed, unfinished },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_units::Rng;

    fn from_millis(completed: &[u64], unfinished: &[u64]) -> Survival {
        let mut survival = Survival::default();
        completed.iter().for_each(|ms| survival.complete(Duration::from_millis(*ms)));
        unfinished.iter().for_each(|ms| survival.leave_unfinished(Duration::from_millis(*ms)));
        survival
    }

    /// Every record: its time in seconds, and whether it was completed.
    type Records = Vec<(f64, bool)>;

    /// The product limit over all records one by one, from its definition: the share that takes
    /// longer than `at`.
    fn naive_longer(records: &Records, at: f64) -> f64 {
        let mut times: Vec<f64> = records.iter().filter(|r| r.1).map(|r| r.0).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let factor = |time: &f64| {
            let under_way = records.iter().filter(|record| record.0 >= *time).count() as f64;
            let ended = records.iter().filter(|r| r.1 && r.0 == *time).count() as f64;
            1.0 - ended / under_way
        };
        times.iter().take_while(|time| **time <= at).map(factor).product()
    }

    /// Heavy-tailed times, cut off at ages that are even over a minute, as those of a run are.
    fn records(seed: u64, n: usize, max_age: f64) -> (Records, Survival) {
        let mut rng = Rng::stream(seed, "records");
        let mut survival = Survival::default();
        let mut one = || {
            let (time, age) = (rng.pareto(0.5, 1.1), max_age * rng.uniform());
            let is_completed = time <= age;
            let known = Duration::from_secs_f64(time.min(age));
            match is_completed {
                true => survival.complete(known),
                false => survival.leave_unfinished(known),
            }
            (known.as_secs_f64(), is_completed)
        };
        ((0..n).map(|_| one()).collect(), survival)
    }

    #[test]
    fn the_distribution_is_the_product_limit_over_all_records() {
        let (records, survival) = records(3, 800, 60.0);
        assert!((0.02..0.5).contains(&(survival.unfinished() as f64 / 800.0)));
        for (seconds, longer) in survival.ccdf() {
            // Within a cell of the histogram, a thousandth of the time.
            let before = naive_longer(&records, seconds * 1.0011);
            let after = naive_longer(&records, seconds * 0.9989);
            assert!((before - 2e-3..=after + 2e-3).contains(&longer), "{seconds}: {longer}");
        }
        for quantile in [0.25, 0.5, 0.75, 0.9] {
            let ours = survival.quantile(quantile).unwrap().exact().unwrap();
            let (before, after) = (ours * 0.998, ours * 1.002);
            assert!(naive_longer(&records, before) > 1.0 - quantile - 1e-9, "{quantile}: {ours}");
            assert!(naive_longer(&records, after) <= 1.0 - quantile + 1e-9, "{quantile}: {ours}");
        }
    }

    #[test]
    fn cutting_records_off_does_not_shift_the_quantiles() {
        // The quantile of a Pareto of least 0.5 and shape 1.1 is 0.5·(1 − q)^(−1/1.1).
        let (_, survival) = records(5, 40_000, 60.0);
        for quantile in [0.5, 0.8, 0.9] {
            let exact = 0.5 * f64::powf(1.0 - quantile, -1.0 / 1.1);
            let ours = survival.quantile(quantile).unwrap().exact().unwrap();
            assert!((ours / exact - 1.0).abs() < 0.05, "{quantile}: {ours} for {exact}");
        }
    }

    #[test]
    fn a_quantile_that_the_data_do_not_reach_is_a_bound() {
        // Four of ten are still under way when the last has been completed: S ends at 0.4.
        let survival = from_millis(&[10, 20, 30, 40, 50, 60], &[70, 80, 90, 100]);
        let median = survival.quantile(0.5).unwrap().exact().unwrap();
        assert!((median - 0.050).abs() < 1e-4, "{median}");
        assert!((survival.quantile(0.6).unwrap().exact().unwrap() - 0.060).abs() < 1e-4);
        let bound = survival.quantile(0.95).unwrap();
        assert!(bound.is_bound() && (0.0999..=0.1001).contains(&bound.value()), "{bound:?}");
        // By hand: at least (10 + … + 60 + 70 + … + 100)/10 = 55 ms.
        let mean = survival.curve().restricted_mean().unwrap();
        assert!(mean.is_bound() && (mean.value() - 0.055).abs() < 1e-4, "{mean:?}");
    }

    #[test]
    fn a_bound_holds_even_if_all_that_is_left_completes_at_once() {
        // Eleven of a thousand are unfinished, and young. The estimate would put them among the few
        // slow ones, and the 99th percentile at 950 ms; all of them could end at 101 ms.
        let mut completed: Vec<u64> = vec![10; 969];
        completed.extend((0..20).map(|i| 800 + 10 * i));
        let survival = from_millis(&completed, &[100; 11]);
        let bound = survival.quantile(0.99).unwrap();
        let ended = from_millis(&[completed.as_slice(), &[101; 11]].concat(), &[]);
        assert!(bound.is_bound());
        assert!(bound.value() <= ended.quantile(0.99).unwrap().value());
        // With ten, the percentile would be exceeded by no more than these, whatever becomes of them.
        completed.push(10);
        let survival = from_millis(&completed, &[100; 10]);
        assert!(survival.quantile(0.99).unwrap().exact().is_some());
    }

    #[test]
    fn what_is_still_young_moves_no_figure() {
        let many: Vec<u64> = (1..=1000).collect();
        let survival = from_millis(&many, &[0, 0, 0]);
        let p99 = survival.quantile(0.99).unwrap().exact().unwrap();
        assert!((p99 / 0.990 - 1.0).abs() < 1e-3, "{p99}");
        let mean = survival.curve().restricted_mean().unwrap().exact().unwrap();
        assert!((mean - 0.5005).abs() < 5e-4, "{mean}");
    }

    #[test]
    fn without_anything_unfinished_the_quantiles_are_those_of_the_histogram() {
        let survival = from_millis(&[10, 20, 30, 40], &[]);
        let median = survival.completed.quantile(0.5).map(Reading::Exact);
        assert_eq!(survival.quantile(0.5), median);
        assert_eq!(survival.curve().restricted_mean(), None);
        assert_eq!(survival.ccdf(), survival.completed.ccdf());
    }

    #[test]
    fn nothing_completed_is_known_to_take_longer() {
        let survival = from_millis(&[], &[500, 700]);
        assert!(survival.quantile(0.5).unwrap().is_bound());
        assert!(survival.curve().restricted_mean().unwrap().is_bound());
        assert_eq!(Survival::default().quantile(0.5), None);
    }

    #[test]
    fn a_percentile_needs_ten_beyond_it() {
        let of_n = |n: u64| from_millis(&vec![10; n as usize], &[]);
        assert_eq!(of_n(19).resolved_quantile(0.5), None);
        assert!(of_n(20).resolved_quantile(0.5).is_some());
        assert_eq!(of_n(199).resolved_quantile(0.95), None);
        assert!(of_n(200).resolved_quantile(0.95).is_some());
        assert_eq!(of_n(999).resolved_quantile(0.99), None);
        assert!(of_n(1000).resolved_quantile(0.99).is_some());
    }

    #[test]
    fn joining_gives_what_one_would_and_reads_back() {
        let (_, mut joined) = records(1, 300, 20.0);
        let (_, other) = records(2, 300, 40.0);
        joined.merge(&other);
        assert_eq!(joined.n(), 600);
        let text = serde_json::to_string(&joined).unwrap();
        assert_eq!(serde_json::from_str::<Survival>(&text).unwrap(), joined);
        let all_completed = from_millis(&[10], &[]);
        let text = serde_json::to_string(&all_completed).unwrap();
        assert_eq!(text, serde_json::to_string(&all_completed.completed).unwrap());
        assert_eq!(serde_json::from_str::<Survival>(&text).unwrap(), all_completed);
    }
}
