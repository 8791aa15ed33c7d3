//! The agreement of engines about the same policies under the same arrivals.

use super::{Cell, Column, Label, Row, Table};
use crate::cases::point_label;
use crate::engines::done_by;
use crate::estimate::Estimate;
use crate::gains::Gain;
use crate::measures::{Measure, Subject};
use crate::prediction_error::MIN_LOSS;
use crate::results::{Point, Run};
use crate::summary::Summary;
use crate::view::RunSet;

/// The columns: a title and a list of measures; a cell shows the first measure that a workload has.
const COLUMNS: [(&str, &[Measure]); 6] = [
    ("mean", &[Measure::Completion, Measure::Delay]),
    ("median", &[Measure::CompletionMedian, Measure::DelayMedian]),
    ("p95", &[Measure::CompletionP95, Measure::DelayP95]),
    ("p99", &[Measure::CompletionP99, Measure::DelayP99]),
    ("goodput", &[Measure::Goodput]),
    ("lost", &[Measure::DatagramLoss, Measure::PacketLoss]),
];

const NOTE: &str = "Mean, median, p95 and p99 are of completion times, or of the delay of datagrams. Ratios are taken pair\n\
    by pair over replicas that had the same arrivals: their geometric mean, ± half its 95 % interval. A dash\n\
    stands where one side has nothing of the kind, or too little to tell.";

/// The same where a side has no replicas.
const NOTE_OF_MEANS: &str = "Mean, median, p95 and p99 are of completion times, or of the delay of datagrams. A prediction has no\n\
    replicas to pair: ratios are of the means, ± half the 95 % interval of the other side. A dash stands where\n\
    one side has nothing of the kind, too little to tell, or a loss below 0.5 %.";

/// The ratio of each engine's figures to those of the first, under each policy, for each workload; `None` if all runs
/// are of one engine.
pub(super) fn agreement(set: &RunSet<'_>) -> Option<Table> {
    if !set.has_several_engines() {
        return None;
    }
    let (runs, swept) = (set.runs, set.swept_key());
    let mut rows = Vec::new();
    for pair in (0..runs.len()).filter_map(|at| set.pair_of(at)) {
        let (reference, ours) = (&runs[pair.reference], &runs[pair.ours]);
        for (point, found) in pair.points.iter().enumerate() {
            let Some(found) = found else { continue };
            let (a, b) = (&reference.points[point], &ours.points[point]);
            let whole = a.summary.workloads.iter().map(|w| w.name.as_str());
            let mut starts_group = true;
            for workload in whole.filter(|name| !name.contains('/')) {
                let what = Subject { workload, ..Subject::default() };
                let has_means = a.is_of_model() || b.is_of_model();
                let cells = COLUMNS.map(|(_, measures)| match has_means {
                    true => ratio_of_means(&a.summary, &b.summary, &what, measures),
                    false => ratio(&found.gains, workload, measures),
                });
                if cells.iter().all(|cell| *cell == Cell::Nothing) {
                    continue;
                }
                let run = Label::Name(ours.label.clone());
                let point = swept.is_some().then(|| Label::Name(point_label(ours, point)));
                let labels = [run].into_iter().chain(point).chain([Label::from(workload)]);
                rows.push(Row { labels: labels.collect(), cells: cells.into(), starts_group });
                starts_group = false;
            }
        }
    }
    let labels = ["run".to_owned()]
        .into_iter()
        .chain(swept.map(str::to_owned))
        .chain(["workload".to_owned()]);
    let labels: Vec<String> = labels.collect();
    let first = done_by(&runs[0].manifest.engine);
    let mut table = Table {
        title: format!("How many times as much as {first}"),
        groups: labels.len() - 1,
        labels,
        columns: COLUMNS.map(|(head, _)| Column::called_only(head)).into(),
        rows,
        note: Some(note(runs).to_owned()),
    };
    table.remove_empty_columns();
    (!table.rows.is_empty()).then_some(table)
}

fn note(runs: &[Run]) -> &'static str {
    let mut points = runs.iter().flat_map(|run| &run.points);
    if points.any(Point::is_of_model) { NOTE_OF_MEANS } else { NOTE }
}

fn ratio(gains: &[Gain], workload: &str, measures: &[Measure]) -> Cell {
    let is_meant = |gain: &&Gain| {
        gain.workload == workload
            && measures.contains(&gain.measure)
            && gain.class.as_deref().is_none_or(|class| class == "all")
    };
    let reported: Option<Estimate> = gains.iter().find(is_meant).and_then(|gain| gain.ratio);
    reported.map_or(Cell::Nothing, Cell::Ratio)
}

/// The ratios if one side, such as a prediction, has no replicas to pair: ratios of the means, with the interval of
/// the other side.
pub(super) fn ratio_of_means(
    reference: &Summary,
    ours: &Summary,
    what: &Subject<'_>,
    measures: &[Measure],
) -> Cell {
    let both = measures
        .iter()
        .find_map(|measure| measure.estimate(reference, what).zip(measure.estimate(ours, what)));
    let Some((reference, ours)) = both else { return Cell::Nothing };
    let is_known = !reference.is_bound() && !ours.is_bound() && reference.mean > 0.0;
    let are_losses = measures.contains(&Measure::DatagramLoss);
    if !is_known || are_losses && reference.mean.min(ours.mean) < MIN_LOSS {
        return Cell::Nothing;
    }
    let low = ours.low.map(|low| low / reference.mean);
    let high = ours.high.map(|high| high / reference.mean);
    let (low, high) = match (reference.low, reference.high) {
        (Some(min), Some(max)) if min > 0.0 && low.is_none() => {
            (Some(ours.mean / max), Some(ours.mean / min))
        }
        _ => (low, high),
    };
    let n = reference.n.max(ours.n);
    Cell::Ratio(Estimate { mean: ours.mean / reference.mean, low, high, n, ..ours })
}
