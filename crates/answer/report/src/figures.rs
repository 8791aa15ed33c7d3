//! The figures of a report.

use shortflow_measure::cases::{self, spread};
use shortflow_measure::{
    ClassSummary, Estimate, Measure, Pair, Positions, Run, RunSet, Subject, Summary, SweptKey,
    View, WarningKind, Workload,
};

use crate::hero::hero;
use crate::line::{Axis, Figure, LineFigure, Mark, Series, Stroke, line_figure};
use crate::queues::queues;
use crate::streams::delay_by_rate;

/// Every figure that these runs give: the ranking of several at one point; distributions and completion times by size for one point;
/// completion times and gains along a sweep; queues over time where they were sampled.
pub fn figures(view: &View<'_>) -> Vec<Figure> {
    let set = &view.set;
    let mut drawn = Vec::new();
    for (at, workload) in set.timed().enumerate() {
        match &set.sweep {
            None => {
                drawn.push(distribution(set.runs, workload, at));
                drawn.push(by_size(set.runs, workload, at));
            }
            Some(key) => {
                drawn.extend(along_sweep(set.runs, workload, at, key));
                drawn.extend(gains(set, workload, at, key));
            }
        }
    }
    drawn.extend(delay_by_rate(set));
    drawn.extend(open_over_time(set));
    drawn.extend(queues(set.runs));
    let lines = drawn.iter().filter(|figure| has_points(figure)).map(line_figure);
    hero(view).into_iter().chain(lines).collect()
}

fn has_points(figure: &LineFigure) -> bool {
    figure.series.iter().any(|series| !series.points.is_empty())
}

/// How many curves one figure can carry.
const MAX_CURVES: usize = 6;

fn distribution(runs: &[Run], workload: &Workload<'_>, at: usize) -> LineFigure {
    let (items, name) = (workload.item.plural(), workload.name);
    let curve = |label: &str, class: &ClassSummary| Series::curve(label, &class.times.ccdf());
    let series = if let [run] = runs {
        let found = run.points[0].summary.workload(name);
        let labels = spread(&workload.classes, MAX_CURVES - 1);
        let by_class = labels.iter().filter_map(|label| Some(curve(label, found?.class(label)?)));
        let all = found.map(|w| Series { dashed: true, ..curve("all", &w.all) });
        by_class.chain(all).collect()
    } else {
        let of = |run: &Run| {
            let found = run.points[0].summary.workload(name)?;
            Some(curve(&run.label, &found.all))
        };
        runs.iter().filter_map(of).collect()
    };
    LineFigure {
        name: format!("distribution-{at}"),
        title: format!("{name}: how many {items} took longer"),
        caption: format!(
            "For each time, the share of {items} that took longer (complementary distribution, \
             both axes logarithmic). A curve further left and lower is faster; its right end is \
             the tail."
        ),
        x_label: "completion time".into(),
        y_label: "share that took longer".into(),
        x_axis: Axis::Seconds,
        y_axis: Axis::Share,
        log_x: true,
        log_y: true,
        series,
        ..Default::default()
    }
}

fn by_size(runs: &[Run], workload: &Workload<'_>, at: usize) -> LineFigure {
    let labels = &workload.classes;
    let measures: &[Measure] = match runs {
        [_] => &[
            Measure::CompletionP99,
            Measure::CompletionP95,
            Measure::Completion,
            Measure::CompletionMedian,
        ],
        _ => &[Measure::Completion],
    };
    // Of many runs the intervals would hide each other and the points.
    let has_intervals = runs.len() <= MAX_CURVES;
    let mut series = Vec::new();
    for run in runs {
        for measure in measures {
            let mark = |(at, label): (usize, &&str)| {
                let workload = workload.name;
                let what = Subject { workload, class: Some(label), ..Subject::default() };
                let found = measure.estimate(&run.points[0].summary, &what)?;
                let mark = Mark::from_estimate(at as f64 + 1.0, &found);
                Some(if has_intervals { mark } else { Mark { low: None, high: None, ..mark } })
            };
            let name = measure.about().column;
            series.push(Series {
                label: if runs.len() == 1 { name.into() } else { run.label.clone() },
                points: labels.iter().enumerate().filter_map(mark).collect(),
                ..Default::default()
            });
        }
    }
    LineFigure {
        name: format!("size-{at}"),
        title: format!("{}: completion time{}", workload.name, cases::by_size(workload.item)),
        caption: format!(
            "{} of the completion time for each size{}; logarithmic.",
            if runs.len() == 1 { "Mean and percentiles" } else { "Mean" },
            if has_intervals { ", with 95 % intervals over replicas" } else { "" }
        ),
        x_label: "size".into(),
        y_label: "completion time".into(),
        x_axis: Axis::Names(labels.iter().map(|label| (*label).to_owned()).collect()),
        y_axis: Axis::Seconds,
        log_y: true,
        series,
        ..Default::default()
    }
}

/// Mean completion times along the sweep: one figure with a curve per size for one run; for
/// several, a figure per size with a curve per run.
fn along_sweep(
    runs: &[Run],
    workload: &Workload<'_>,
    at: usize,
    key: &SweptKey,
) -> Vec<LineFigure> {
    let (x_axis, x_label) = x_axis(key);
    let (labels, workload) = (&workload.classes, workload.name);
    let curve = |number: usize, label: Option<&str>, name: &str| Series {
        label: name.into(),
        points: marks(&key.positions[number], runs[number].points.len(), |point| {
            let what = Subject { workload, class: label, ..Subject::default() };
            Measure::Completion.estimate(&runs[number].points[point].summary, &what)
        }),
        ..Default::default()
    };
    let figure = |number: usize, what: &str, series| LineFigure {
        name: format!("sweep-{at}-{number}"),
        title: format!("{workload}{what}: completion time against {}", key.name),
        caption: "Mean completion time with 95 % intervals over replicas; logarithmic.".into(),
        x_label: x_label.clone(),
        y_label: "mean completion time".into(),
        x_axis: x_axis.clone(),
        y_axis: Axis::Seconds,
        log_y: true,
        series,
        ..Default::default()
    };
    if let [_] = runs {
        let shown = spread(labels, MAX_CURVES - 1);
        let mut series: Vec<_> = shown.iter().map(|label| curve(0, Some(label), label)).collect();
        series.push(Series { dashed: true, ..curve(0, None, "all") });
        return vec![figure(0, "", series)];
    }
    let shown = [None].into_iter().chain(spread(labels, 3).into_iter().map(Some));
    let numbered = || runs.iter().enumerate();
    let per_run = |label| numbered().map(|(at, run)| curve(at, label, &run.label)).collect();
    shown
        .enumerate()
        .map(|(number, label)| {
            let what = label.map_or(String::new(), |label| format!(", {label}"));
            figure(number, &what, per_run(label))
        })
        .collect()
}

/// The relative gain of each run over its reference, along the sweep, by size.
fn gains(set: &RunSet<'_>, workload: &Workload<'_>, at: usize, key: &SweptKey) -> Vec<LineFigure> {
    let runs = set.runs;
    let compared = (0..runs.len()).filter_map(|at| set.pair_of(at));
    let (x_axis, x_label) = x_axis(key);
    let (labels, workload) = (spread(&workload.classes, 4), workload.name);
    let figure = |(number, pair): (usize, &Pair)| LineFigure {
        name: format!("gain-{at}-{number}"),
        title: format!(
            "{workload}: gain of {} over {}",
            runs[pair.ours].label, runs[pair.reference].label
        ),
        caption: "Relative gain in mean completion time: 100·(reference − ours)/reference, over \
                  pairs of replicas with the same arrivals, with 95 % intervals. Above zero, ours \
                  is faster."
            .into(),
        x_label: x_label.clone(),
        y_label: "gain, %".into(),
        x_axis: x_axis.clone(),
        series: labels
            .iter()
            .map(|label| Series {
                label: (*label).into(),
                points: marks(&key.positions[pair.ours], runs[pair.ours].points.len(), |point| {
                    pair.gain(point, workload, Some(label))
                }),
                ..Default::default()
            })
            .collect(),
        zero_line: true,
        ..Default::default()
    };
    compared.enumerate().map(figure).collect()
}

/// How many transfers were open over time: for one point a curve per run; along a sweep a figure
/// per run that was warned of, with a curve per point.
fn open_over_time(set: &RunSet<'_>) -> Vec<LineFigure> {
    let runs = set.runs;
    let workloads = set.timed().enumerate();
    if set.sweep.is_none() {
        let curves = |name| runs.iter().filter_map(|r| open_curve(r, 0, name, &r.label)).collect();
        return workloads
            .map(|(at, w)| open_figure(format!("open-{at}"), w, "", curves(w.name)))
            .collect();
    }
    let mut figures = Vec::new();
    for (at, workload) in workloads {
        for (number, run) in runs.iter().enumerate() {
            if !run.points.iter().any(|point| doubts_open(&point.summary)) {
                continue;
            }
            let points: Vec<usize> = (0..run.points.len()).collect();
            let curve = |&p: &usize| open_curve(run, p, workload.name, &cases::point_label(run, p));
            let series = spread(&points, MAX_CURVES).iter().filter_map(curve).collect();
            let of_run = format!(", {}", run.label);
            let name = format!("open-{at}-{number}");
            figures.push(open_figure(name, workload, &of_run, series));
        }
    }
    figures
}

/// Whether a warning is about transfers that are open.
fn doubts_open(summary: &Summary) -> bool {
    let kinds = [WarningKind::UnsettledLoad, WarningKind::Unfinished, WarningKind::GivenUp];
    summary.warnings.iter().any(|warning| kinds.contains(&warning.kind))
}

fn open_curve(run: &Run, point: usize, workload: &str, label: &str) -> Option<Series> {
    let summary = &run.points[point].summary;
    let open = &summary.workload(workload)?.open_over_time;
    let width = summary.measured / open.len() as f64;
    let middle = |at: usize| run.manifest.warm_up + (at as f64 + 0.5) * width;
    let mark = |(at, &y): (usize, &f64)| Mark { x: middle(at), y, ..Default::default() };
    Some(Series {
        label: label.into(),
        points: open.iter().enumerate().map(mark).collect(),
        stroke: Stroke::Plain,
        ..Default::default()
    })
}

fn open_figure(
    name: String,
    workload: &Workload<'_>,
    of_run: &str,
    series: Vec<Series>,
) -> LineFigure {
    let items = workload.item.plural();
    LineFigure {
        name,
        title: format!("{}{of_run}: {items} open over time", workload.name),
        caption: format!(
            "How many {items} had begun and not ended, mean over replicas. If a curve keeps rising, the load does \
             not settle: its completion times depend on the length of the run."
        ),
        x_label: "time, s".into(),
        y_label: format!("open {items}"),
        series,
        zero_based: true,
        ..Default::default()
    }
}

/// A point for each point of the sweep at which `measure` has a value.
fn marks(
    places: &Positions,
    points: usize,
    measure: impl Fn(usize) -> Option<Estimate>,
) -> Vec<Mark> {
    let mark = |point| Some(Mark::from_estimate(places.x(point), &measure(point)?));
    (0..points).filter_map(mark).collect()
}

/// The axis of the swept key, as the first run has it.
fn x_axis(key: &SweptKey) -> (Axis, String) {
    let name = &key.name;
    match &key.positions[0] {
        Positions::Numbers { unit, .. } if unit.is_empty() => (Axis::Number, name.clone()),
        Positions::Numbers { unit, .. } => (Axis::Number, format!("{name}, {unit}")),
        Positions::Names(names) => (Axis::Names(names.clone()), name.clone()),
    }
}
