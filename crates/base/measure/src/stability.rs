//! Whether a load settles: the number of open transfers over time.

use serde::{Deserialize, Serialize};
use shortflow_units::Instant;

use crate::replica::WorkloadResult;
use crate::summary::{ClassSummary, WorkloadSummary};
use crate::warning::{Warning, WarningKind};

/// How many transfers were open on average in each of [`BINS`](Self::BINS) equal parts of the
/// measured time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenOverTime {
    /// Nanoseconds at which the first bin begins.
    start: u64,
    /// Nanoseconds of a bin.
    width: u64,
    /// Transfer-nanoseconds per bin.
    bins: Vec<u64>,
}

impl OpenOverTime {
    /// Into how many parts the measured time is cut.
    pub const BINS: usize = 64;

    /// Nothing open from `start` to `end`.
    pub fn over(start: Instant, end: Instant) -> Self {
        let width = end.since(start).nanos().div_ceil(Self::BINS as u64).max(1);
        OpenOverTime { start: start.nanos(), width, bins: vec![0; Self::BINS] }
    }

    /// A transfer was open between these instants.
    pub fn add(&mut self, opened: Instant, closed: Instant) {
        let (mut from, to) = (opened.nanos().max(self.start), closed.nanos());
        while from < to {
            let bin = ((from - self.start) / self.width) as usize;
            let Some(sum) = self.bins.get_mut(bin) else { return };
            let until = to.min(self.start + (bin as u64 + 1) * self.width);
            *sum += until - from;
            from = until;
        }
    }

    /// Transfers open on average in each part.
    pub fn means(&self) -> Vec<f64> {
        self.bins.iter().map(|sum| *sum as f64 / self.width as f64).collect()
    }
}

/// Transfers open in each part of the measured time, mean over replicas.
pub(crate) fn mean_over_replicas(replicas: &[&WorkloadResult]) -> Vec<f64> {
    let mut sums = vec![0.0; OpenOverTime::BINS];
    for replica in replicas {
        for (sum, mean) in sums.iter_mut().zip(replica.open_over_time.means()) {
            *sum += mean / replicas.len() as f64;
        }
    }
    sums
}

/// What must be said about a workload whose transfers pile up or fail.
pub(crate) fn warnings(workload: &WorkloadSummary, replicas: u32) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let items = workload.item.plural();
    let open = &workload.open_over_time;
    if let Some(growth) = growth(open).or_else(|| climb(open)) {
        let message = format!(
            "the load of {} does not settle: open {items} grew from {:.0} to {:.0} over the \
             second half, so completion times depend on how long the run lasts",
            workload.name, growth.from, growth.to,
        );
        warnings.push(Warning::new(WarningKind::UnsettledLoad, message));
    }
    let unfinished = unfinished(workload);
    warnings.extend(unfinished.map(|message| Warning::new(WarningKind::Unfinished, message)));
    if workload.failed > 0 {
        let (were, their, they) = match workload.failed {
            1 => ("was", "its", "it counts"),
            _ => ("were", "their", "they count"),
        };
        let message = format!(
            "{} of the {items} of {} {were} aborted by {their} TCP, because its retries ran out or \
                the connection was reset; {they} as taking longer than {their} age at the end",
            workload.failed, workload.name,
        );
        warnings.push(Warning::new(WarningKind::GivenUp, message));
    }
    warnings.extend(partial_samples(workload, replicas));
    warnings
}

/// What must be said of sizes that occurred in some replicas only.
fn partial_samples(workload: &WorkloadSummary, replicas: u32) -> Option<Warning> {
    let number = |class: &ClassSummary| class.mean.map(|mean| mean.n).filter(|n| *n < replicas);
    let classes = workload.classes.iter().chain([&workload.all]);
    let partial: Vec<String> = classes
        .filter_map(|class| Some(format!("{} in {}", class.label, number(class)?)))
        .collect();
    (!partial.is_empty()).then(|| {
        let message = format!(
            "not all of the {replicas} replicas had such {} of {}: {}; figures are over these \
                replicas only",
            workload.item.plural(),
            workload.name,
            partial.join(", "),
        );
        Warning::new(WarningKind::PartialSample, message).with_help("run for a longer time")
    })
}

/// What must be said about transfers that were not complete at the end: where they leave a figure
/// with a lower bound only, or are many.
fn unfinished(workload: &WorkloadSummary) -> Option<String> {
    let classes: Vec<String> =
        workload.classes.iter().chain([&workload.all]).filter_map(bounded_figures).collect();
    // Those that began before the end of the warm-up stand in no figure.
    let open = workload.all.unfinished.saturating_sub(workload.failed);
    let share = open as f64 / (open + workload.completed).max(1) as f64;
    if classes.is_empty() && share <= OPEN_SHARE_TO_WARN {
        return None;
    }
    let items = workload.item.plural();
    let mut said = Vec::new();
    if open > 0 {
        said.push(format!(
            "{open} of {} {items} of {} were still open at the end (the oldest for {:.1} s); they count \
             as taking longer than their age",
            open + workload.completed,
            workload.name,
            workload.oldest_open,
        ));
    }
    if !classes.is_empty() {
        said.push(format!(
            "for {} these figures are only lower bounds and give no gain: {}; run for a longer \
                time, or set `drain`",
            workload.name,
            classes.join("; ")
        ));
    }
    Some(said.join("; "))
}

/// Which figures of a class are lower bounds: "p99 of 11 pkt".
fn bounded_figures(class: &ClassSummary) -> Option<String> {
    let figures =
        [("mean", class.mean), ("median", class.median), ("p95", class.p95), ("p99", class.p99)];
    let bounded = figures.iter().filter(|(_, figure)| figure.is_some_and(|f| f.at_least));
    let names: Vec<&str> = bounded.map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| format!("{} of {}", names.join(", "), class.label))
}

/// Above this share of transfers left open, it is said.
const OPEN_SHARE_TO_WARN: f64 = 0.05;

#[derive(Debug, PartialEq)]
struct Growth {
    from: f64,
    to: f64,
}

/// Whether `open` grows over its second half, as a regression line tells: clearly (the slope is
/// more than 4 standard errors), and by an amount that matters (at least 2 transfers, and a fifth of
/// the half's mean). Neighbouring parts are not independent, so the error is that of a first-order
/// autoregressive process with the correlation of what the line leaves.
fn growth(open: &[f64]) -> Option<Growth> {
    let half = &open[open.len() / 2..];
    let n = half.len() as f64;
    let line = Line::through(half);
    let rest: f64 = line.left.iter().map(|rest| rest * rest).sum();
    let error = (rest / (n - 2.0) / line.spread * inflation(&line.left, rest)).sqrt();
    let rise = line.slope * (n - 1.0);
    (line.slope > 4.0 * error && rise >= 2.0 && rise >= 0.2 * line.mean)
        .then(|| Growth { from: line.at(0.0).max(0.0), to: line.at(n - 1.0) })
}

/// The line of least squares through values at 0, 1, 2 …
struct Line {
    mean: f64,
    slope: f64,
    /// The sum of squares of the places about their middle.
    spread: f64,
    /// What the line leaves of each value.
    left: Vec<f64>,
}

impl Line {
    fn through(values: &[f64]) -> Line {
        let n = values.len() as f64;
        let (mid, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
        let offsets = || values.iter().enumerate().map(|(i, y)| (i as f64 - mid, y - mean));
        let spread: f64 = offsets().map(|(x, _)| x * x).sum();
        let slope = offsets().map(|(x, y)| x * y).sum::<f64>() / spread;
        let left = offsets().map(|(x, y)| y - slope * x).collect();
        Line { mean, slope, spread, left }
    }

    fn at(&self, place: f64) -> f64 {
        self.mean + self.slope * (place - (self.left.len() as f64 - 1.0) / 2.0)
    }

    /// The share of the variance that it explains.
    fn explains(&self) -> f64 {
        let explained = self.slope * self.slope * self.spread;
        let rest: f64 = self.left.iter().map(|rest| rest * rest).sum();
        if explained > 0.0 { explained / (explained + rest) } else { 0.0 }
    }
}

/// Whether `open` climbs all the time, as it does where more is offered than can be carried: over the
/// whole, a line explains nine tenths of what varies, and goes from less than a third of the mean
/// to beyond it. What piles up wanders like a sum of independent steps, which leaves the test of
/// the second half in doubt.
fn climb(open: &[f64]) -> Option<Growth> {
    let line = Line::through(open);
    let half = (open.len() / 2) as f64;
    (line.explains() >= 0.9 && line.at(0.0) < line.mean / 3.0 && line.mean >= 10.0)
        .then(|| Growth { from: line.at(half), to: line.at(2.0 * half - 1.0) })
}

/// By what factor the variance of the slope is larger than that of independent parts: (1 + ρ)/(1 − ρ)
/// for a lag-one correlation ρ, which from so few parts comes out too small by about 4/n (Kendall,
/// Biometrika 41, 1954).
fn inflation(left: &[f64], squares: f64) -> f64 {
    if squares <= 0.0 {
        return 1.0;
    }
    let products: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = (products / squares + 4.0 / left.len() as f64).clamp(0.0, 0.95);
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_units::Rng;

    /// Poisson arrivals that stay for heavy-tailed times, in a system without a queue: what is open
    /// never settles for long, and never grows.
    #[test]
    fn heavy_tails_at_a_low_load_are_no_growth() {
        let mut warned = 0;
        for seed in 0..200 {
            let mut rng = Rng::stream(seed, "open");
            let at = |seconds: f64| Instant::from_nanos((seconds * 1e9) as u64);
            let mut open = OpenOverTime::over(at(10.0), at(60.0));
            let mut now = 0.0;
            while now < 60.0 {
                now += rng.exponential(0.4);
                open.add(at(now), at(now + rng.pareto(0.4, 1.2)));
            }
            let means = open.means();
            warned += u32::from(growth(&means).or_else(|| climb(&means)).is_some());
        }
        assert!(warned <= 4, "{warned} of 200");
    }

    #[test]
    fn a_transfer_counts_in_each_part_in_proportion() {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        // Parts of 10 ms, from 1000 to 1640 ms.
        let mut open = OpenOverTime::over(at(1000), at(1640));
        open.add(at(990), at(1015)); // before the warm-up's end it does not count
        open.add(at(1630), at(9999)); // nor after the end
        assert_eq!(open.means()[..3], [1.0, 0.5, 0.0]);
        assert_eq!(open.means()[62..], [0.0, 1.0]);
    }

    #[test]
    fn an_open_count_that_climbs_is_growth_and_one_that_wanders_is_not() {
        let mut rng = Rng::stream(7, "wander");
        let mut level = 20.0;
        let wandering: Vec<f64> = (0..64)
            .map(|_| {
                level += 0.5 * (20.0 - level) + 10.0 * (rng.uniform() - 0.5);
                level
            })
            .collect();
        assert_eq!(growth(&wandering), None);
        let climbing: Vec<f64> = wandering.iter().enumerate().map(|(i, y)| y + i as f64).collect();
        let growth = growth(&climbing).unwrap();
        assert!((45.0..60.0).contains(&growth.from) && (75.0..90.0).contains(&growth.to));
    }

    /// A fluid queue to which 12 % more than it serves come, in steps of chance: what is open climbs, but
    /// no two runs alike.
    #[test]
    fn what_piles_up_is_told_however_it_wanders() {
        let mut reported = 0;
        for seed in 0..200 {
            let mut rng = Rng::stream(seed, "overload");
            let mut level: f64 = 0.0;
            let mut open = Vec::new();
            for _ in 0..64 {
                let came: f64 = (0..40).map(|_| rng.exponential(1.0)).sum();
                level = (level + came - 36.0).max(0.0);
                open.push(level);
            }
            reported += u32::from(growth(&open).or_else(|| climb(&open)).is_some());
        }
        assert!(reported >= 190, "{reported} of 200");
    }

    #[test]
    fn a_load_that_fills_up_at_first_and_then_stays_is_settled() {
        let filling: Vec<f64> = (0..64).map(|i| f64::from(i.min(20))).collect();
        assert_eq!(growth(&filling), None);
    }
}
