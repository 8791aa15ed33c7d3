//! Whether classes have different delays under load.

use shortflow_measure::{Estimate, Grade};

use crate::probes::Seen;

/// Parts of the time of which each has a median: as many as this, and where there are few probes as many as have
/// [`PROBES`] of them.
const PARTS: usize = 10;
/// Probes that a part has at least. Three must come back, and of those in the load's class some are lost.
const PROBES: usize = 5;

/// A class waits as long as another where the ratio of their delays is between this and its inverse, however sure that is.
pub(crate) const NEAR: f64 = 0.9;

/// A class beside the one that the load is in.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassDelays {
    /// The mean of the probes that returned before the load began, in seconds; `None` if none did.
    pub idle: Option<f64>,
    /// The mean of those that returned during the load.
    pub mean: Option<f64>,
    /// The fastest probe, in seconds; `None` if none returned.
    pub min: Option<f64>,
    /// The median of the returned probes, in seconds; `None` if none returned.
    pub median: Option<f64>,
    /// Nineteen of twenty took less than this.
    pub p95: Option<f64>,
    /// The share of probes that was lost.
    pub loss: f64,
    /// How many times as long as the load's class a probe takes: the geometric mean of the ratios of medians of parts of
    /// the time, with its least and greatest (95 %); none for the load's class itself.
    pub ratio: Option<[f64; 3]>,
}

/// What that says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelativeDelay {
    /// It waits less than the load.
    Faster,
    /// It waits more.
    Slower,
    /// Nothing says that it waits less or more.
    Alike,
    /// Too few probes came back.
    Unknown,
}

impl ClassDelays {
    /// What the load adds to the mean round trip, in seconds.
    pub fn added(&self) -> Option<f64> {
        Some((self.mean? - self.idle?).max(0.0))
    }

    /// The bufferbloat grade of the class.
    pub fn grade(&self) -> Option<Grade> {
        self.added().map(Grade::from_added)
    }

    /// What the ratio says.
    pub fn verdict(&self) -> RelativeDelay {
        match self.ratio {
            Some([mean, _, high]) if high < 1.0 && mean < NEAR => RelativeDelay::Faster,
            Some([mean, low, _]) if low > 1.0 && mean > 1.0 / NEAR => RelativeDelay::Slower,
            Some(_) => RelativeDelay::Alike,
            None => RelativeDelay::Unknown,
        }
    }
}

/// Each class beside that of the load, which is at `load`, and what it had waited before.
pub(crate) fn class_delays(before: &[Seen], seen: &[Seen], load: usize) -> Vec<ClassDelays> {
    let reference = parts(&seen[load]);
    let delays = |(at, (before, seen)): (usize, (&Seen, &Seen))| {
        let times = seen.times();
        let pairs = parts(seen).into_iter().zip(&reference);
        let logs: Vec<f64> =
            pairs.filter_map(|(ours, theirs)| Some((ours? / (*theirs)?).ln())).collect();
        let ratio = if at == load { None } else { interval(&logs) };
        ClassDelays {
            idle: mean(&before.times()),
            mean: mean(&times),
            min: times.first().copied(),
            median: quantile(&times, 0.5),
            p95: quantile(&times, 0.95),
            loss: seen.loss(),
            ratio,
        }
    };
    before.iter().zip(seen).enumerate().map(delays).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The mean of logarithms of ratios as a ratio, with its interval; none of fewer than three.
pub(crate) fn interval(logs: &[f64]) -> Option<[f64; 3]> {
    let estimate = Estimate::from_values(logs).filter(|_| logs.len() >= 3)?;
    let half = estimate.half_width()?;
    Some([estimate.mean.exp(), (estimate.mean - half).exp(), (estimate.mean + half).exp()])
}

/// The median of the probes in each part of the time that came back, where three at least did.
fn parts(seen: &Seen) -> Vec<Option<f64>> {
    let all = &seen.answers;
    let parts = (all.len() / PROBES).clamp(1, PARTS);
    let part = |part: usize| {
        let [from, to] = [part, part + 1].map(|edge| edge * all.len() / parts);
        let took = all[from..to].iter().filter_map(|answer| answer.took);
        let mut times: Vec<f64> = took.map(|took| took.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        quantile(&times, 0.5).filter(|_| times.len() >= 3)
    };
    (0..parts).map(part).collect()
}

/// The value below which this share of `sorted` lies: the nearest rank.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::probes::Answer;

    /// Beside a line without load on which each probe takes 20 ms.
    fn delays(seen: &[Seen], load: usize) -> Vec<ClassDelays> {
        let before = vec![seen_for(2, |_| Some(20)); seen.len()];
        class_delays(&before, seen, load)
    }

    /// A probe every 100 ms for 10 s, each of which takes what `took` says in milliseconds.
    fn seen(took: impl Fn(u64) -> Option<u64>) -> Seen {
        seen_for(10, took)
    }

    /// The same for so many seconds.
    fn seen_for(seconds: u64, took: impl Fn(u64) -> Option<u64>) -> Seen {
        let answer = |number| Answer {
            sent: Duration::from_millis(100 * number),
            took: took(number).map(Duration::from_millis),
            code_points: None,
        };
        Seen { answers: (0..10 * seconds).map(answer).collect() }
    }

    #[test]
    fn a_class_that_waits_less_is_faster_though_the_load_comes_and_goes() {
        let wave = |number: u64| 40 + 20 * (number / 10 % 3);
        let load = seen(|number| Some(wave(number) + number % 5));
        let fast = seen(|number| Some(wave(number) / 2));
        let slow = seen(|number| Some(wave(number) * 2));
        let delays = delays(&[fast, load, slow], 1);
        assert_eq!(delays[0].verdict(), RelativeDelay::Faster);
        assert_eq!(
            delays[1].verdict(),
            RelativeDelay::Unknown,
            "it is what others are held against"
        );
        assert_eq!(delays[2].verdict(), RelativeDelay::Slower);
        let [ratio, low, high] = delays[0].ratio.unwrap();
        assert!(
            (0.45..0.5).contains(&ratio) && low < ratio && ratio < high,
            "{low} {ratio} {high}"
        );
    }

    #[test]
    fn two_seconds_are_enough_though_one_of_five_probes_of_the_load_is_lost() {
        for seconds in [2, 3, 4] {
            let load = seen_for(seconds, |number| (number % 5 != 2).then_some(50 + number % 3));
            let fast = seen_for(seconds, |number| Some(5 + number % 2));
            let delays = delays(&[fast, load], 1);
            assert_eq!(delays[0].verdict(), RelativeDelay::Faster, "{seconds} s");
        }
    }

    #[test]
    fn what_does_not_differ_is_alike_and_what_hardly_comes_back_is_unknown() {
        let load = seen(|number| Some(50 + number * 7 % 11));
        let same = seen(|number| Some(50 + number * 5 % 11));
        let lost = seen(|number| (number == 50).then_some(10));
        let delays = delays(&[load, same, lost], 0);
        assert_eq!(delays[1].verdict(), RelativeDelay::Alike);
        assert_eq!((delays[2].verdict(), delays[2].loss), (RelativeDelay::Unknown, 0.99));
        assert_eq!(delays[2].median, Some(0.01));
    }

    #[test]
    fn a_quantile_is_of_the_nearest_rank() {
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile(&twenty, 0.5), Some(10.0));
        assert_eq!(quantile(&twenty, 0.95), Some(19.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_grade_is_that_of_what_the_load_adds_to_the_mean() {
        let delays = delays(&[seen(|_| Some(24)), seen(|_| Some(95)), seen(|_| None)], 1);
        let added: Vec<_> = delays.iter().map(ClassDelays::added).collect();
        assert!((added[0].unwrap() - 0.004).abs() < 1e-12 && added[2].is_none(), "{added:?}");
        let grades: Vec<_> = delays.iter().map(ClassDelays::grade).collect();
        assert_eq!(grades, [Some(Grade::APlus), Some(Grade::C), None]);
    }
}
