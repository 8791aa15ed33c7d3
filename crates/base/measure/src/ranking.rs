//! The ranking of runs: the run whose worst-served workload is closest to the best of all runs comes first.
//!
//! A figure's **ratio** says how many times worse it is than the best figure of all compared runs for the same thing
//! at the same point: 1 is the best. A workload is rated by its worst ratio, and a run by its worst workload. So a
//! policy that is very good to some traffic and ruins other traffic does not come first.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::measures::{Measure, Subject};
use crate::prediction_error::are_of_model;
use crate::results::Point;
use crate::summary::{Summary, WorkloadSummary};

/// Compared runs, the best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// One line for each run.
    pub lines: Vec<RankedRun>,
    /// Whether a figure is only a lower bound, since transfers were open at the end: then the order
    /// may be another when they are given the time to complete.
    #[serde(default)]
    pub undecided: bool,
    /// Whether a model has a figure to a lower bound only, or not at all: then the order may be another by what is not
    /// known.
    #[serde(default)]
    pub unknown: bool,
}

/// A run's place among others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedRun {
    /// Its place, from 1; runs that are alike share one.
    pub rank: usize,
    /// Its name.
    pub label: String,
    /// Where it stood among the runs that were compared, from 0.
    pub run: usize,
    /// Where it is farthest from the best; none when nothing can be compared.
    pub worst: Option<Worst>,
    /// How each workload was served at each point: points in their order, workloads in theirs.
    pub points: Vec<Vec<Service>>,
}

/// The figure that decides a run's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// The point of the sweep, from 0.
    pub point: usize,
    /// The workload.
    pub workload: String,
    /// Which of its figures.
    pub measure: RankMeasure,
    /// How many times worse than the best; infinite, in JSON null, where nothing was served at all.
    #[serde(deserialize_with = "finite_or_not")]
    pub ratio: f64,
    /// Whether that is a lower bound, since the figure is one.
    #[serde(default)]
    pub at_least: bool,
}

/// How a workload was served at a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// The workload.
    pub workload: String,
    /// What it is judged by.
    pub traffic: Traffic,
    /// Its figures; of a model, those that it has.
    pub figures: Vec<RankFigure>,
}

impl Service {
    /// How many times worse than the best its worst figure is.
    pub fn ratio(&self) -> Option<f64> {
        self.figures.iter().map(|figure| figure.ratio).max_by(f64::total_cmp)
    }
}

/// A figure and how far it is from the best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankFigure {
    /// Which figure.
    pub measure: RankMeasure,
    /// Its value: seconds, a share from 0 to 1, or bits per second; absent if nothing was served.
    pub value: Option<Estimate>,
    /// How many times worse than the best of all runs, 1 being the best.
    #[serde(deserialize_with = "finite_or_not")]
    pub ratio: f64,
}

/// What a workload is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Completion times of transfers, pages, files or echoes.
    Timed,
    /// Delay and loss of datagrams.
    Datagrams,
    /// Goodput of flows that do not end.
    Bulk,
}

/// A figure by which runs are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankMeasure {
    /// The mean, of completion times or delays; used where percentiles are unknown.
    Mean,
    /// The 95th percentile of completion times or delays.
    P95,
    /// The 99th percentile of completion times or delays.
    P99,
    /// The share of datagrams that were lost.
    Loss,
    /// Application bits delivered per second.
    Goodput,
}

impl RankMeasure {
    /// Which measure that is of this traffic.
    pub const fn for_traffic(self, traffic: Traffic) -> Measure {
        match (self, traffic) {
            (RankMeasure::Mean, Traffic::Datagrams) => Measure::Delay,
            (RankMeasure::P95, Traffic::Datagrams) => Measure::DelayP95,
            (RankMeasure::P99, Traffic::Datagrams) => Measure::DelayP99,
            (RankMeasure::Mean, _) => Measure::Completion,
            (RankMeasure::P95, _) => Measure::CompletionP95,
            (RankMeasure::P99, _) => Measure::CompletionP99,
            (RankMeasure::Loss, _) => Measure::DatagramLoss,
            (RankMeasure::Goodput, _) => Measure::Goodput,
        }
    }
}

impl Ranking {
    /// Ranks runs of the same scenario, each with its name and its points. Workloads that are parts
    /// of others, as `web/objects`, do not count by themselves.
    pub fn new(runs: &[(&str, &[Point])]) -> Ranking {
        Ranking::by(runs, false)
    }

    /// The ranking by means, ignoring percentiles, to compare an engine with a model that has only means.
    pub fn from_means(runs: &[(&str, &[Point])]) -> Ranking {
        Ranking::by(runs, true)
    }

    fn by(runs: &[(&str, &[Point])], means: bool) -> Ranking {
        let points = runs.iter().map(|(_, points)| points.len()).min().unwrap_or(0);
        let at = |point: usize| -> Vec<&Summary> {
            runs.iter().map(|(_, points)| &points[point].summary).collect()
        };
        let models: Vec<bool> = runs.iter().map(|(_, points)| are_of_model(points)).collect();
        let served: Vec<Vec<Vec<Service>>> =
            (0..points).map(|point| services(&at(point), &models, means)).collect();
        let line = |(run, (label, _)): (usize, &(&str, &[Point]))| {
            let points: Vec<Vec<Service>> = served.iter().map(|runs| runs[run].clone()).collect();
            RankedRun { rank: 0, label: (*label).to_owned(), run, worst: worst(&points), points }
        };
        let mut lines: Vec<RankedRun> = runs.iter().enumerate().map(line).collect();
        lines.sort_by(|a, b| by_worst_first(&a.ratios(), &b.ratios()));
        for at in 0..lines.len() {
            let is_alike =
                at > 0 && by_worst_first(&lines[at].ratios(), &lines[at - 1].ratios()).is_eq();
            lines[at].rank = if is_alike { lines[at - 1].rank } else { at + 1 };
        }
        let is_model = |line: &RankedRun| models[line.run];
        let has_gaps = |line: &RankedRun| {
            let figures = |line: &RankedRun| {
                line.points.iter().flatten().map(|service| service.figures.len()).sum::<usize>()
            };
            lines.iter().any(|other| figures(other) > figures(line))
        };
        Ranking {
            undecided: lines.iter().any(|line| line.has_bounds() && !is_model(line)),
            unknown: lines
                .iter()
                .any(|line| is_model(line) && (line.has_bounds() || has_gaps(line))),
            lines,
        }
    }
}

impl RankedRun {
    /// How badly a workload was served at its worst point; none when it cannot be compared.
    pub fn ratio_of(&self, workload: &str) -> Option<f64> {
        let all = self.points.iter().flatten().filter(|service| service.workload == workload);
        all.filter_map(Service::ratio).max_by(f64::total_cmp)
    }

    /// Whether a figure is a bound, so that the run may be worse served than its line says.
    fn has_bounds(&self) -> bool {
        let mut figures = self.points.iter().flatten().flat_map(|service| &service.figures);
        figures.any(|figure| figure.value.is_some_and(|value| value.is_bound()))
    }

    /// The ratios of all workloads at all points, the worst first.
    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> =
            self.points.iter().flatten().filter_map(Service::ratio).collect();
        ratios.sort_by(|a, b| b.total_cmp(a));
        ratios
    }
}

/// Compares the worst of both, then the next; of whom less is known comes after.
fn by_worst_first(a: &[f64], b: &[f64]) -> Ordering {
    let differing = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    differing.unwrap_or_else(|| b.len().cmp(&a.len()))
}

fn worst(points: &[Vec<Service>]) -> Option<Worst> {
    let mut worst: Option<Worst> = None;
    for (point, services) in points.iter().enumerate() {
        for service in services {
            for figure in &service.figures {
                if worst.as_ref().is_none_or(|worst| figure.ratio > worst.ratio) {
                    worst = Some(Worst {
                        point,
                        workload: service.workload.clone(),
                        measure: figure.measure,
                        ratio: figure.ratio,
                        // An upper bound of a rate is a lower one of how bad it is.
                        at_least: figure.value.is_some_and(|value| value.is_bound()),
                    });
                }
            }
        }
    }
    worst
}

/// How each run served each workload that can be compared, and which of them are `models`; runs outside, workloads inside.
fn services(runs: &[&Summary], models: &[bool], means: bool) -> Vec<Vec<Service>> {
    let mut served: Vec<Vec<Service>> = vec![Vec::new(); runs.len()];
    let Some(first) = runs.first() else { return served };
    for name in first.workloads.iter().map(|w| &w.name).filter(|name| !name.contains('/')) {
        let found: Option<Vec<&WorkloadSummary>> = runs.iter().map(|s| s.workload(name)).collect();
        let Some(traffic) = found.and_then(|found| traffic(&found)) else { continue };
        let values_of = |figure| -> Vec<Option<Estimate>> {
            runs.iter().map(|summary| value(summary, name, traffic, figure)).collect()
        };
        let mut figures: Vec<Vec<RankFigure>> = vec![Vec::new(); runs.len()];
        for measure in measures(traffic, values_of, means) {
            let values = values_of(measure);
            for (run, ratio) in ratios(measure, &values).into_iter().enumerate() {
                if values[run].is_some() || !models[run] {
                    figures[run].push(RankFigure { measure, value: values[run], ratio });
                }
            }
        }
        for (run, figures) in figures.into_iter().enumerate() {
            served[run].push(Service { workload: name.clone(), traffic, figures });
        }
    }
    served
}

fn traffic(runs: &[&WorkloadSummary]) -> Option<Traffic> {
    if runs.iter().any(|w| w.datagrams.is_some()) {
        Some(Traffic::Datagrams)
    } else if runs.iter().any(|w| w.completed > 0) {
        Some(Traffic::Timed)
    } else if runs.iter().any(|w| w.goodput.is_some_and(|goodput| goodput.mean > 0.0)) {
        Some(Traffic::Bulk)
    } else {
        None
    }
}

/// Only figures that all runs have can be compared. A lower bound counts as its value, unless it is the best: then
/// nothing is known about how much worse the others are.
fn measures(
    traffic: Traffic,
    values_of: impl Fn(RankMeasure) -> Vec<Option<Estimate>>,
    means: bool,
) -> Vec<RankMeasure> {
    let all_have = |measure| {
        let values: Option<Vec<Estimate>> = values_of(measure).into_iter().collect();
        let best = values.and_then(|v| v.into_iter().min_by(|a, b| a.mean.total_cmp(&b.mean)));
        best.is_some_and(|best| !best.is_bound())
    };
    let mut times: Vec<RankMeasure> = [RankMeasure::P95, RankMeasure::P99]
        .into_iter()
        .filter(|m| !means && all_have(*m))
        .collect();
    if times.is_empty() {
        times.push(RankMeasure::Mean);
    }
    match traffic {
        Traffic::Timed => times,
        Traffic::Datagrams => [times, vec![RankMeasure::Loss]].concat(),
        Traffic::Bulk => vec![RankMeasure::Goodput],
    }
}

/// The value of a figure; goodput in bits per second.
fn value(summary: &Summary, name: &str, traffic: Traffic, figure: RankMeasure) -> Option<Estimate> {
    match figure {
        RankMeasure::Goodput => summary.workload(name)?.goodput,
        _ => {
            let what = Subject { workload: name, ..Subject::default() };
            figure.for_traffic(traffic).estimate(summary, &what)
        }
    }
}

/// How many times worse than the best each value is; infinite for a missing value. A lower bound is never the best,
/// unless all values are lower bounds.
fn ratios(measure: RankMeasure, values: &[Option<Estimate>]) -> Vec<f64> {
    // All figures become costs: the smaller, the better.
    let cost = |value: &Option<Estimate>| match (measure, value) {
        (_, None) => f64::INFINITY,
        (RankMeasure::Goodput, Some(goodput)) => 1.0 / goodput.mean.max(0.0),
        (RankMeasure::Loss, Some(loss)) => loss.mean.max(UNNOTICED_LOSS),
        (_, Some(time)) => time.mean,
    };
    let costs: Vec<f64> = values.iter().map(cost).collect();
    let min = |costs: &mut dyn Iterator<Item = f64>| costs.fold(f64::INFINITY, f64::min);
    let known = costs.iter().zip(values).filter(|(_, value)| value.is_some_and(|v| !v.is_bound()));
    let best = match min(&mut known.map(|(cost, _)| *cost)) {
        best if best.is_finite() => best,
        // Lower bounds alone do not say who is worse than whom.
        _ if values.iter().flatten().any(|value| value.is_bound()) => f64::MAX,
        _ => min(&mut costs.iter().copied()),
    };
    // Of nothing but infinities or zeros, all are the best.
    costs.iter().map(|cost| if *cost <= best * ALIKE { 1.0 } else { cost / best }).collect()
}

/// What is this many times the best at most is as good: rounding makes as much of a difference.
const ALIKE: f64 = 1.0 + 1e-6;

/// Losses up to this share count as alike: one packet in a thousand is not heard in a call, and two
/// such shares differ by chance.
const UNNOTICED_LOSS: f64 = 0.001;

/// JSON has no infinity and writes null.
fn finite_or_not<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(reader)?.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Item;
    use crate::plan::{End, Plan, WorkloadPlan};
    use crate::recorder::Recorder;
    use crate::transfer::Transfer;
    use shortflow_units::{Duration, Instant};

    const PAGES: u16 = 0;
    const CALLS: u16 = 1;
    const DOWNLOADS: u16 = 2;

    /// What a made-up policy does to each workload.
    struct Served {
        /// Milliseconds that each page takes; none comes when absent.
        page: Option<u64>,
        /// Milliseconds that each datagram takes.
        delay: u64,
        /// How many of 1000 datagrams are lost.
        lost: u64,
        /// Bytes delivered in 10 s.
        download: u64,
    }

    fn point(served: &Served) -> Vec<Point> {
        let end = Instant::START + Duration::from_secs(10);
        let workload =
            |name: &str| WorkloadPlan { name: name.into(), item: Item::Page, ..Default::default() };
        let plan = Plan {
            workloads: ["pages", "calls", "downloads", "pages/objects"].map(workload).into(),
            streams: vec![],
            limits: vec![],
            ports: vec![],
            code_points: vec![],
            drop_reasons: vec![],
            warm_up: Instant::START,
            end,
            drain: Duration::ZERO,
            series_interval: None,
            idle_delays: vec![],
        };
        let mut recorder = Recorder::new(&plan, None);
        let now = Instant::START + Duration::from_secs(1);
        for _ in 0..2000 {
            if let Some(page) = served.page {
                let reply = Duration::from_millis(page);
                recorder.transfer(&Transfer {
                    start: now,
                    workload: PAGES,
                    reply,
                    ..Default::default()
                });
            }
        }
        for at in 0..2000 {
            recorder.datagram_sent(now, CALLS, 0);
            if at % 1000 < served.lost {
                recorder.datagram_dropped(now, CALLS, 0);
            } else {
                recorder.datagram(now, CALLS, 0, Duration::from_millis(served.delay));
            }
        }
        recorder.goodput(now, DOWNLOADS, End::Client, served.download);
        vec![Point::new(vec![], vec![recorder.finish().unwrap()])]
    }

    fn order(runs: &[(&str, Served)]) -> Vec<(String, String, f64)> {
        let points: Vec<Vec<Point>> = runs.iter().map(|(_, served)| point(served)).collect();
        let runs: Vec<(&str, &[Point])> =
            runs.iter().zip(&points).map(|((label, _), points)| (*label, &points[..])).collect();
        let lines = Ranking::new(&runs).lines.into_iter();
        lines
            .map(|line| {
                let worst = line.worst.unwrap();
                (line.label, worst.workload, worst.ratio)
            })
            .collect()
    }

    fn close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 0.02
    }

    #[test]
    fn who_ruins_nothing_comes_before_who_is_best_at_most() {
        let good_to_all = Served { page: Some(200), delay: 20, lost: 0, download: 8_000_000 };
        // Best at pages and downloads, but a call waits ten times as long.
        let ruins_calls = Served { page: Some(100), delay: 200, lost: 0, download: 10_000_000 };
        let order = order(&[("ruins calls", ruins_calls), ("good to all", good_to_all)]);
        assert_eq!((&order[0].0[..], &order[0].1[..]), ("good to all", "pages"));
        assert!(close(order[0].2, 2.0), "{order:?}");
        assert_eq!((&order[1].0[..], &order[1].1[..]), ("ruins calls", "calls"));
        assert!(close(order[1].2, 10.0), "{order:?}");
    }

    #[test]
    fn loss_counts_from_one_in_a_thousand_up() {
        let served = |lost| Served { page: Some(100), delay: 20, lost, download: 1_000_000 };
        let order = order(&[("20", served(20)), ("1", served(1)), ("0", served(0))]);
        // None lost and one in a thousand are alike; the order in which they were given stays.
        assert_eq!([&order[0].0[..], &order[1].0, &order[2].0], ["1", "0", "20"]);
        assert!(close(order[0].2, 1.0) && close(order[1].2, 1.0) && close(order[2].2, 20.0));
        let points = [20, 1, 0].map(|lost| point(&served(lost)));
        let ranking = Ranking::new(&["20", "1", "0"].map({
            let mut points = points.iter();
            move |label| (label, points.next().unwrap().as_slice())
        }));
        let ranks: Vec<usize> = ranking.lines.iter().map(|line| line.rank).collect();
        assert_eq!(ranks, [1, 1, 3], "who is alike shares a place");
    }

    #[test]
    fn less_goodput_is_worse_by_what_is_missing() {
        let served = |download| Served { page: Some(100), delay: 20, lost: 0, download };
        let order = order(&[("half", served(5_000_000)), ("full", served(10_000_000))]);
        assert_eq!(order[0].0, "full");
        assert_eq!(order[1].1, "downloads");
        assert!(close(order[1].2, 2.0));
    }

    #[test]
    fn who_serves_nothing_at_all_comes_last_and_json_keeps_it() {
        let served = |page| Served { page, delay: 20, lost: 0, download: 1_000_000 };
        let (nothing, some) = (point(&served(None)), point(&served(Some(900))));
        let ranking = Ranking::new(&[("nothing", &nothing[..]), ("some", &some[..])]);
        assert_eq!(ranking.lines[1].label, "nothing");
        assert_eq!(ranking.lines[1].worst.as_ref().unwrap().ratio, f64::INFINITY);
        let text = serde_json::to_string(&ranking).unwrap();
        assert!(text.contains("\"ratio\":null"));
        assert_eq!(serde_json::from_str::<Ranking>(&text).unwrap(), ranking);
    }

    #[test]
    fn the_worst_point_of_a_sweep_decides() {
        let served = |page| Served { page: Some(page), delay: 20, lost: 0, download: 1_000_000 };
        let steady = [point(&served(200)), point(&served(200))].concat();
        let breaks = [point(&served(100)), point(&served(900))].concat();
        let ranking = Ranking::new(&[("breaks", &breaks[..]), ("steady", &steady[..])]);
        let worst = ranking.lines[1].worst.as_ref().unwrap();
        assert_eq!((&ranking.lines[1].label[..], worst.point), ("breaks", 1));
        assert!(close(worst.ratio, 4.5));
    }

    #[test]
    fn a_lower_bound_is_never_the_best_and_bounds_alone_give_no_order() {
        let figure = |mean, at_least| {
            Some(Estimate { mean, low: None, high: None, n: 1, at_least, at_most: false })
        };
        let (known, bound) = (|mean| figure(mean, false), |mean| figure(mean, true));
        assert_eq!(ratios(RankMeasure::P99, &[known(2.0), bound(1.0)]), [1.0, 1.0]);
        assert_eq!(ratios(RankMeasure::P99, &[known(2.0), bound(6.0)]), [1.0, 3.0]);
        assert_eq!(ratios(RankMeasure::P99, &[bound(2.0), bound(6.0)]), [1.0, 1.0]);
    }

    #[test]
    fn no_runs_have_no_ranking() {
        assert_eq!(Ranking::new(&[]), Ranking::default());
    }
}
