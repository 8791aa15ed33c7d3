//! The ranking of compared runs, a line for each.

use shortflow_measure::cases::point_label;
use shortflow_measure::{
    RankFigure, RankMeasure, RankedRun, Ranking, RunSet, Service, Traffic, View, Worst,
};

use crate::format;
use crate::table::{Row, Table};

/// The ranking as a table; none for one run, and where the runs have nothing that can be compared:
/// other arrivals, other points of a sweep, or no figure in common.
pub fn ranking_table(view: &View<'_>) -> Option<Table> {
    let title = "Ranking: first the policy whose worst-served workload is nearest to the best";
    table(&view.set, view.ranking.as_ref()?, title.into())
}

/// A ranking of some of the runs as a table; `None` without common figures.
pub(crate) fn table(set: &RunSet<'_>, ranking: &Ranking, title: String) -> Option<Table> {
    if ranking.lines.iter().all(|line| line.worst.is_none()) {
        return None;
    }
    let columns = columns(ranking);
    let row = |line: &RankedRun| {
        let worst = line.worst.as_ref().map_or(format::NOTHING.into(), |w| worst_cell(set, w));
        let head = [line.rank.to_string(), line.label.clone(), worst];
        let cells = columns.iter().map(|column| column.cell(line));
        Row { cells: head.into_iter().chain(cells).collect(), starts_group: false }
    };
    let head = ["", "policy", "worst served"].map(String::from);
    Some(Table {
        title,
        head: head.into_iter().chain(columns.iter().map(Column::name)).collect(),
        labels: 3,
        rows: ranking.lines.iter().map(row).collect(),
        note: Some(match (ranking.undecided, ranking.unknown) {
            (true, _) => format!("{NOTE}{UNDECIDED}"),
            (false, true) => format!("{NOTE}{UNKNOWN}"),
            (false, false) => NOTE.into(),
        }),
    })
}

const NOTE: &str = "Worst served: the workload whose figure is farthest from the best of these \
    policies, and how many times\nworse it is.";

const UNDECIDED: &str = "\nThe order is not settled: ≥ is a lower bound, since transfers were still open at the end. \
    Raise `drain`\nor `duration` to let them complete.";

const UNKNOWN: &str = "\nThe order is that of the predictions: ≥ is a lower bound, ≤ an upper \
    bound, and a dash has no closed form.";

/// The further columns of a line.
enum Column {
    /// A figure of a workload, where there is one point.
    Figure { workload: String, measure: RankMeasure },
    /// How far a workload is from the best.
    Ratio { workload: String },
}

/// More columns than this would not fit on a line.
const MAX_COLUMNS: usize = 8;

/// Each figure where they are few and there is one point; else how far each workload is from the
/// best; else nothing.
fn columns(ranking: &Ranking) -> Vec<Column> {
    let Some(points) = ranking.lines.first().map(|line| &line.points) else { return Vec::new() };
    let Some(services) = points.first() else { return Vec::new() };
    // A model may have figures of one run that it has not of another.
    let figures = services.iter().enumerate().flat_map(|(at, service)| {
        let mut measures = Vec::new();
        for figure in ranking.lines.iter().flat_map(|line| &line.points[0][at].figures) {
            if !measures.contains(&figure.measure) {
                measures.push(figure.measure);
            }
        }
        let workload = &service.workload;
        let column = move |measure| Column::Figure { workload: workload.clone(), measure };
        measures.into_iter().map(column)
    });
    let figures: Vec<Column> = figures.collect();
    if points.len() == 1 && figures.len() <= MAX_COLUMNS {
        return figures;
    }
    let ratio = |service: &Service| Column::Ratio { workload: service.workload.clone() };
    let ratios: Vec<Column> = services.iter().map(ratio).collect();
    if ratios.len() <= MAX_COLUMNS { ratios } else { Vec::new() }
}

impl Column {
    fn name(&self) -> String {
        match self {
            Column::Figure { workload, measure } => match measure {
                RankMeasure::Mean => format!("{workload} mean"),
                RankMeasure::P95 => format!("{workload} p95"),
                RankMeasure::P99 => format!("{workload} p99"),
                RankMeasure::Loss => format!("{workload} lost"),
                RankMeasure::Goodput => workload.clone(),
            },
            Column::Ratio { workload } => format!("{workload}, × best"),
        }
    }

    fn cell(&self, line: &RankedRun) -> String {
        let found = match self {
            Column::Figure { workload, measure } => figure(line, workload, *measure).map(value),
            Column::Ratio { workload } => line.ratio_of(workload).map(times),
        };
        found.unwrap_or(format::NOTHING.into())
    }
}

/// A figure of a run's first point.
pub(crate) fn figure<'r>(
    line: &'r RankedRun,
    workload: &str,
    measure: RankMeasure,
) -> Option<&'r RankFigure> {
    let service = line.points.first()?.iter().find(|service| service.workload == workload)?;
    service.figures.iter().find(|figure| figure.measure == measure)
}

/// A figure's value with its unit.
pub(crate) fn value(figure: &RankFigure) -> String {
    let Some(found) = &figure.value else { return "nothing".into() };
    match figure.measure {
        RankMeasure::Loss if found.mean == 0.0 => "0 %".into(),
        RankMeasure::Loss => format!("{} %", two_digits(found.mean * 100.0)),
        RankMeasure::Goodput if found.at_most => format!("≤ {}", format::max_rate(found.mean)),
        RankMeasure::Goodput => format::rate(found.mean),
        _ if found.at_least => format!("≥ {}", format::min_seconds(found.mean)),
        _ => format::seconds(found.mean),
    }
}

/// A ratio, short: `8.2 ×`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        r if r.is_infinite() => "nothing".into(),
        r => format!("{} ×", two_digits(r)),
    }
}

fn two_digits(value: f64) -> String {
    match value {
        v if v >= 9.95 => format!("{v:.0}"),
        v if v >= 0.095 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The sign before a ratio that is a lower bound.
fn at_least(worst: &Worst) -> &'static str {
    if worst.at_least { "≥ " } else { "" }
}

fn worst_cell(set: &RunSet<'_>, worst: &Worst) -> String {
    let place = match set.swept_key() {
        Some(_) => format!(" at {}", point_label(&set.runs[0], worst.point)),
        None => String::new(),
    };
    match worst.ratio {
        r if r < 1.005 => "nothing".into(),
        r => format!("{} {}{}{place}", worst.workload, at_least(worst), times(r)),
    }
}

/// The first policy and the place of the reference, in words; `None` if nothing can be compared.
pub(crate) fn sentence(view: &View<'_>) -> Option<String> {
    let ranking = view.ranking.as_ref()?;
    let first = ranking.lines.first()?;
    if let Some(tie) = of_first_alike(ranking) {
        return Some(tie);
    }
    let mut said = vec![standing(&view.set, ranking, first)?];
    let reference = ranking.lines.iter().find(|line| line.run == 0)?;
    if reference.rank > 1 {
        said.extend(standing(&view.set, ranking, reference));
    }
    Some(said.join("\n"))
}

/// What is said when several share the first place.
fn of_first_alike(ranking: &Ranking) -> Option<String> {
    let first: Vec<&str> =
        ranking.lines.iter().filter(|line| line.rank == 1).map(|line| &*line.label).collect();
    let (last, others) = first.split_last()?;
    if others.is_empty() {
        return None;
    }
    let names = format!("{} and {last}", others.join(", "));
    Some(match ranking.undecided {
        true => format!(
            "{names} cannot be ranked: too many transfers were incomplete at the end. Raise \
                `drain` or `duration` to let them complete."
        ),
        false => format!("{names} share the first place: none serves any workload better."),
    })
}

fn standing(set: &RunSet<'_>, ranking: &Ranking, line: &RankedRun) -> Option<String> {
    let worst = line.worst.as_ref()?;
    let name = match line.run {
        0 => format!("{}, the reference,", line.label),
        _ => line.label.clone(),
    };
    let place = format!("{name} ranks {} of {}", ordinal(line.rank), ranking.lines.len());
    if worst.ratio < 1.005 {
        return Some(match ranking.undecided {
            false => format!("{place}: no other policy serves any workload better."),
            true => format!(
                "{place}: no other policy is known to serve any workload better, but too many \
                    transfers were incomplete at the end to settle the order."
            ),
        });
    }
    let at = at_point(set, worst.point);
    let traffic = line.points[worst.point].iter().find(|s| s.workload == worst.workload)?.traffic;
    let what = format!("{} of {}{at}", measure_name(traffic, worst.measure), worst.workload);
    Some(match worst.measure {
        _ if worst.ratio.is_infinite() => {
            format!("{place}: nothing of {} was delivered.", worst.workload)
        }
        RankMeasure::Goodput => format!(
            "{place}: its worst figure, the {what}, is {}{:.0} % of the best.",
            if worst.at_least { "at most " } else { "" },
            100.0 / worst.ratio
        ),
        // The best loss is often none at all, of which nothing is a multiple.
        RankMeasure::Loss => {
            let figures =
                &line.points[worst.point].iter().find(|s| s.workload == worst.workload)?;
            let found = figures.figures.iter().find(|figure| figure.measure == worst.measure)?;
            format!("{place}: its worst figure, the {what}, is {}.", value(found))
        }
        _ => format!(
            "{place}: its worst figure, the {what}, is {}{} the best.",
            at_least(worst),
            times(worst.ratio)
        ),
    })
}

/// The point of a sweep, in words; empty where there is one point.
pub(crate) fn at_point(set: &RunSet<'_>, point: usize) -> String {
    match set.swept_key() {
        Some(key) => format!(" at {key} = {}", point_label(&set.runs[0], point)),
        None => String::new(),
    }
}

/// What a figure is, in words.
pub(crate) fn measure_name(traffic: Traffic, measure: RankMeasure) -> &'static str {
    match (traffic, measure) {
        (_, RankMeasure::Goodput) => "goodput",
        (_, RankMeasure::Loss) => "packet loss",
        (Traffic::Datagrams, RankMeasure::Mean) => "mean delay",
        (Traffic::Datagrams, RankMeasure::P95) => "95th percentile of the delay",
        (Traffic::Datagrams, RankMeasure::P99) => "99th percentile of the delay",
        (_, RankMeasure::Mean) => "mean time",
        (_, RankMeasure::P95) => "95th percentile",
        (_, RankMeasure::P99) => "99th percentile",
    }
}

fn ordinal(rank: usize) -> String {
    match rank {
        1 => "first".into(),
        2 => "second".into(),
        3 => "third".into(),
        n => format!("{n}th"),
    }
}
