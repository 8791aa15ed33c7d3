//! Completion times: by size, along a sweep, in their parts, and over limits.

use super::agreement::ratio_of_means;
use super::{Cell, Column, Label, Row, Scale, Table, cell, for_each_case, rows_of_cases};
use crate::cases::{by_size, spread};
use crate::engines::done_by;
use crate::measures::{Measure, Subject};
use crate::results::Point;
use crate::view::{RunSet, Workload};

/// How much of a comparison's completion times is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Every size, and how many transfers there were.
    Full,
    /// What fits on a screen: some sizes, and all transfers together.
    Screen,
}

impl Detail {
    fn max_sizes(self) -> usize {
        if self == Detail::Full { usize::MAX } else { 4 }
    }
}

/// The completion times of these workloads, a table for each: by size, or along the sweep.
pub(super) fn times(set: &RunSet<'_>, workloads: &[&Workload<'_>], detail: Detail) -> Vec<Table> {
    let of = |workload: &&Workload<'_>| match set.swept_key() {
        None => by_sizes(set, workload, detail),
        Some(key) => along_sweep(set, workload, key),
    };
    workloads.iter().map(of).collect()
}

fn by_sizes(set: &RunSet<'_>, workload: &Workload<'_>, detail: Detail) -> Table {
    let (runs, compared, is_paired) = (set.runs, set.is_comparison(), !set.has_model);
    let Workload { name: workload, item, classes: all, .. } = workload;
    let scale = scale(set, workload, &[Measure::Completion, Measure::CompletionP99]);
    let sizes = spread(all, detail.max_sizes());
    let mut columns = vec![Column::for_measure(Measure::Completion)];
    columns.extend(compared.then(|| Column::called_only(&gain_head(set))));
    let percentiles = [Measure::CompletionMedian, Measure::CompletionP95, Measure::CompletionP99];
    columns.extend(percentiles.map(Column::for_measure));
    let columns = columns.into_iter().map(|column| column.in_scale(scale));
    let completed = Column::for_measure(Measure::Completed).called(item.plural());
    let columns: Vec<Column> =
        columns.chain((detail == Detail::Full).then_some(completed)).collect();
    let mut rows = Vec::new();
    for size in sizes.iter().copied().map(Some).chain([None]) {
        let what = Subject { workload, class: size, ..Subject::default() };
        let rows_before = rows.len();
        for (at, run) in runs.iter().enumerate() {
            let point = &run.points[0];
            let summary = &point.summary;
            if has_class(summary, workload, size) || point.failure.is_some() {
                let name = Label::from(size.unwrap_or("all"));
                let run_name = compared.then(|| Label::Name(run.label.clone()));
                let shown_parts = |column: &Column| match (column.measure, set.pair_of(at)) {
                    (Some(_), _) => cell(column, point, &what),
                    (None, _) if point.failure.is_some() => Cell::Failed,
                    (None, None) => Cell::Reference,
                    (None, Some(pair)) if is_paired => {
                        pair.gain(0, workload, size).map_or(Cell::Nothing, Cell::Gain)
                    }
                    (None, Some(pair)) => {
                        let reference = &runs[pair.reference].points[0].summary;
                        ratio_of_means(reference, summary, &what, &[Measure::Completion])
                    }
                };
                rows.push(Row {
                    labels: [name].into_iter().chain(run_name).collect(),
                    cells: columns.iter().map(shown_parts).collect(),
                    starts_group: rows.len() == rows_before,
                });
            }
        }
    }
    let shown = match (sizes.len(), all.len()) {
        (shown, all) if shown < all => format!(" ({shown} of {all} sizes; the report has all)"),
        _ => String::new(),
    };
    let labels = ["size"].into_iter().chain(compared.then_some("run"));
    let note = interval_note(set, true, (&columns, &rows));
    Table {
        title: format!("{workload}: completion time{}, in {}{shown}", by_size(*item), scale.name()),
        labels: labels.map(String::from).collect(),
        groups: 1,
        columns,
        rows,
        note,
    }
}

fn along_sweep(set: &RunSet<'_>, workload: &Workload<'_>, key: &str) -> Table {
    let Workload { name: workload, item, classes, .. } = workload;
    let scale = scale(set, workload, &[Measure::Completion]);
    let sizes = spread(classes, 4);
    let all = Subject { workload, ..Subject::default() };
    let mut shown_parts: Vec<(Column, Subject<'_>)> = Vec::new();
    let mean = || Column::for_measure(Measure::Completion).in_scale(scale);
    shown_parts.extend(
        sizes.iter().map(|size| (mean().called(*size), Subject { class: Some(size), ..all })),
    );
    shown_parts.push((mean().called("all"), all));
    let p99 = Column::for_measure(Measure::CompletionP99).in_scale(scale).called("p99 of all");
    shown_parts.push((p99, all));
    shown_parts.push((Column::for_measure(Measure::Open).called("open at end"), all));
    let mut rows = Vec::new();
    for_each_case(set, |names, point, first| {
        if point.failure.is_some() || point.summary.workload(workload).is_some() {
            let cell = |(column, what): &(Column, Subject<'_>)| cell(column, point, what);
            rows.push(Row {
                labels: names.to_vec(),
                cells: shown_parts.iter().map(cell).collect(),
                starts_group: first,
            });
        }
    });
    let labels = [key].into_iter().chain(set.is_comparison().then_some("run"));
    let columns: Vec<Column> = shown_parts.into_iter().map(|(column, _)| column).collect();
    let note = interval_note(set, false, (&columns, &rows));
    Table {
        title: format!("{workload}: mean completion time{}, in {}", by_size(*item), scale.name()),
        labels: labels.map(String::from).collect(),
        groups: 0,
        columns,
        rows,
        note,
    }
}

/// Where the time of a transfer goes: handshake, request, reply; for one point only.
pub(super) fn parts(set: &RunSet<'_>) -> Vec<Table> {
    if set.sweep.is_some() {
        return Vec::new();
    }
    set.timed().map(|workload| parts_of(set, workload)).collect()
}

fn parts_of(set: &RunSet<'_>, workload: &Workload<'_>) -> Table {
    let Workload { name: workload, item, classes, .. } = workload;
    let scale = scale(set, workload, &[Measure::Completion]);
    let whole = Column::for_measure(Measure::Completion).called("in all");
    let parts = [Measure::Handshake, Measure::Request, Measure::Reply].map(Column::for_measure);
    let columns = parts.into_iter().chain([whole]).map(|column| column.in_scale(scale));
    let columns: Vec<Column> = columns.collect();
    let mut rows = Vec::new();
    for size in classes.iter().copied().map(Some).chain([None]) {
        let what = Subject { workload, class: size, ..Subject::default() };
        let name = Label::from(size.unwrap_or("all"));
        rows.extend(rows_of_cases(set, &[name], &columns, &what, |summary| {
            has_class(summary, workload, size)
        }));
    }
    let item = item.singular();
    let title = format!("{workload}: where the mean {item}'s time goes, in {}", scale.name());
    let unfinished: u64 = set
        .summaries()
        .filter_map(|summary| Some(summary.workload(workload)?.all.unfinished))
        .sum();
    let note = (unfinished > 0).then(|| {
        "The parts are those of completed ones; incomplete ones would lengthen them.".to_owned()
    });
    Table { note, ..Table::of_cases(set, title, &["size"], columns, rows) }
}

/// The shares over each limit of these workloads, by size where `sizes`; none when there is no
/// limit.
pub(super) fn over_limits(
    set: &RunSet<'_>,
    workloads: &[&Workload<'_>],
    sizes: bool,
) -> Option<Table> {
    let limits: Vec<f64> = set
        .summaries()
        .flat_map(|summary| &summary.workloads)
        .map(|workload| workload.all.over.iter().map(|over| over.limit).collect::<Vec<_>>())
        .find(|limits| !limits.is_empty())?;
    let mut rows: Vec<Row> = Vec::new();
    for Workload { name: workload, classes, .. } in workloads {
        let mut of_workload = Vec::new();
        let named = if sizes { classes.as_slice() } else { &[] };
        for size in named.iter().copied().map(Some).chain([None]) {
            for_each_case(set, |names, point, _| {
                if !has_class(&point.summary, workload, size) && point.failure.is_none() {
                    return;
                }
                let share = |limit: &f64| {
                    let limit = Some(*limit);
                    let what = Subject { workload, class: size, limit, ..Subject::default() };
                    cell(&Column::for_measure(Measure::ShareOver), point, &what)
                };
                let head = [workload, size.unwrap_or("all")].map(Label::from);
                let head = head.into_iter().take(if sizes { 2 } else { 1 });
                of_workload.push(Row {
                    labels: head.chain(names.iter().cloned()).collect(),
                    cells: limits.iter().map(share).collect(),
                    starts_group: of_workload.is_empty(),
                });
            });
        }
        rows.extend(of_workload);
    }
    let column =
        |limit: &f64| Column::for_measure(Measure::ShareOver).called(format!("over {limit} s"));
    let title = "Share that took longer; incomplete ones count as in progress up to their age";
    let labels: &[&str] = if sizes { &["workload", "size"] } else { &["workload"] };
    Some(Table::of_cases(set, title, labels, limits.iter().map(column).collect(), rows))
}

fn has_class(summary: &crate::Summary, workload: &str, size: Option<&str>) -> bool {
    let found = summary.workload(workload);
    found.is_some_and(|workload| crate::cases::class(workload, size).is_some())
}

/// What suits the times of a workload in all runs.
fn scale(set: &RunSet<'_>, workload: &str, measures: &[Measure]) -> Scale {
    let mut longest: f64 = 0.0;
    for summary in set.summaries() {
        let Some(found) = summary.workload(workload) else { continue };
        let sizes = found.classes.iter().map(|class| Some(class.label.as_str()));
        for class in sizes.chain([None]) {
            let what = Subject { workload, class, ..Subject::default() };
            let times = measures.iter().filter_map(|measure| measure.estimate(summary, &what));
            longest = times.map(|time| time.mean).fold(longest, f64::max);
        }
    }
    Scale::of_times_up_to(longest)
}

/// What the column is called that holds a case against its reference.
fn gain_head(set: &RunSet<'_>) -> String {
    match set.has_model {
        true if set.has_several_engines() => format!("× {}", done_by(set.engines[0])),
        true => "× reference".to_owned(),
        false => "gain".to_owned(),
    }
}

/// What intervals are, over how many replicas; and what gains are, where there are some.
fn interval_note(
    set: &RunSet<'_>,
    has_gains: bool,
    (columns, rows): (&[Column], &[Row]),
) -> Option<String> {
    // A prediction has means and no replicas: there is nothing to run more of.
    let runs = set.runs;
    if runs.iter().flat_map(|run| &run.points).all(Point::is_of_model) {
        return None;
    }
    let replicas = set.summaries().map(|summary| summary.replicas).max()?;
    let paired = match runs {
        [_] => String::new(),
        _ if !has_gains => String::new(),
        [first, ..] if set.has_model => format!(
            "\n× {0}: ratio to the mean {0}, which has no replicas.",
            done_by(&first.manifest.engine)
        ),
        [first, ..] if set.has_several_engines() => format!(
            "\nA gain is relative to the mean {}, over pairs of replicas that had the same \
                arrivals.",
            done_by(&first.manifest.engine)
        ),
        _ => {
            "\nA gain is in the mean, over pairs of replicas that had the same arrivals.".to_owned()
        }
    };
    Some(match replicas {
        1 => "One replica only: no intervals. Run more for ± figures.".into(),
        n => {
            let fewer = fewer_replicas(n, columns, rows);
            format!("Over {n} replicas{fewer}; ± is half the 95 % Student interval.{paired}")
        }
    })
}

/// Which figures rest on fewer than `max` replicas, because no others had such a transfer.
fn fewer_replicas(max: u32, columns: &[Column], rows: &[Row]) -> String {
    let mut fewer: Vec<String> = Vec::new();
    for row in rows {
        let labels = row.labels.iter().filter_map(|label| match label {
            Label::Name(name) => Some(name.as_str()),
            Label::Rate(_) => None,
        });
        let name = labels.collect::<Vec<_>>().join(", ");
        let numbers = columns.iter().zip(&row.cells).filter_map(|(column, cell)| match cell {
            Cell::Figure(found) | Cell::Gain(found) => Some((&column.head, found.n)),
            _ => None,
        });
        let numbers: Vec<(&String, u32)> = numbers.collect();
        let is_one = numbers.iter().all(|(_, n)| *n == numbers[0].1);
        let shown_parts = numbers.iter().filter(|(_, n)| *n < max);
        fewer.extend(shown_parts.take(if is_one { 1 } else { usize::MAX }).map(|(head, n)| {
            match is_one {
                true => format!("{n} for {name}"),
                false => format!("{n} for {head} of {name}"),
            }
        }));
    }
    match fewer.len() {
        0 => String::new(),
        n if n > MAX_NUMBERS => {
            let (shown, more) = (fewer[..MAX_NUMBERS].join(", "), n - MAX_NUMBERS);
            format!(" (fewer had such transfers: {shown}, and {more} other figures)")
        }
        _ => format!(" (fewer had such transfers: {})", fewer.join(", ")),
    }
}

/// The maximum number of listed exceptions; JSON has all of them.
const MAX_NUMBERS: usize = 6;
