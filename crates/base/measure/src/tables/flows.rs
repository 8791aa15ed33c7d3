//! Tables of throughput: traffic, long flows over time, datagrams and their streams.

use super::{Column, Label, Row, Scale, Table, rows_of_cases};
use crate::cases::distinct;
use crate::measures::{Measure, Subject};
use crate::prediction_error::is_model;
use crate::summary::WorkloadSummary;
use crate::view::{RunSet, Workload};

/// What each of these workloads got through; none when none of them carries data.
pub(super) fn traffic(set: &RunSet<'_>, workloads: &[&Workload<'_>]) -> Option<Table> {
    let goodput = |workload: &&Workload<'_>| {
        let what = Subject { workload: workload.name, ..Subject::default() };
        let found = set.summaries();
        found
            .filter_map(move |summary| Measure::DataGoodput.estimate(summary, &what))
            .collect::<Vec<_>>()
    };
    let found = workloads.iter().flat_map(goodput);
    let max = found.map(|goodput| goodput.mean).fold(0.0, f64::max);
    let scale = Scale::of_rates_up_to(max);
    let others = [
        Measure::Completed,
        Measure::Open,
        Measure::Retransmissions,
        Measure::Timeouts,
        Measure::Fairness,
    ];
    let rates = [
        Measure::OfferedLoad,
        Measure::RealisedLoad,
        Measure::DataGoodput,
        Measure::RequestGoodput,
    ];
    let rates = rates.map(|measure| Column::for_measure(measure).in_scale(scale)).into_iter();
    let columns: Vec<Column> = rates.chain(others.map(Column::for_measure)).collect();
    let has = |w: &WorkloadSummary| w.goodput.is_some() || w.completed + w.open > 0;
    let mut table = by_workload(set, workloads, String::new(), columns, has)?;
    let shows = |measure: Measure| table.columns.iter().any(|one| one.measure == Some(measure));
    let load = if shows(Measure::OfferedLoad) { "load and goodput" } else { "goodput" };
    let more = match (shows(Measure::Completed), shows(Measure::Retransmissions)) {
        (true, true) => ", what was completed, and what each sent again on average",
        (true, false) => ", and what was completed",
        (false, true) => ", and what each sent again on average",
        (false, false) => "",
    };
    table.title = format!("Traffic: {load} in {}{more}", scale.name());
    Some(table)
}

/// The variation of long flows' throughput over time; `None` if it was not sampled.
pub(super) fn throughput(set: &RunSet<'_>) -> Option<Table> {
    let title = "Long flows over time: variation of throughput, and intervals without delivery";
    let columns = [Measure::ThroughputVariation, Measure::IdleSamples].map(Column::for_measure);
    let was_sampled = |w: &WorkloadSummary| w.idle_samples.is_some();
    by_workload(set, &all(set), title.to_owned(), columns.into(), was_sampled)
}

/// Delay and loss of datagrams; none when there were none.
pub(super) fn datagrams(set: &RunSet<'_>) -> Option<Table> {
    let columns = vec![
        Column::for_measure(Measure::Sent),
        Column::for_measure(Measure::Delay).with_unit(),
        Column::for_measure(Measure::DelayMedian),
        Column::for_measure(Measure::DelayP95),
        Column::for_measure(Measure::DelayP99),
        Column::for_measure(Measure::DelayDeviation),
        Column::for_measure(Measure::DatagramLoss),
    ];
    let title = "Datagrams: delay and loss".to_owned();
    by_workload(set, &all(set), title, columns, |w| w.datagrams.is_some())
}

/// Jitter of datagrams; none when there were no two of a stream.
pub(super) fn jitter(set: &RunSet<'_>) -> Option<Table> {
    let title = "Datagrams: jitter, the difference of consecutive delays, in ms".to_owned();
    let columns = vec![
        Column::for_measure(Measure::Jitter).called("mean"),
        Column::for_measure(Measure::JitterMedian),
        Column::for_measure(Measure::JitterP95),
        Column::for_measure(Measure::JitterP99),
    ];
    let has = |w: &WorkloadSummary| w.datagrams.as_ref().is_some_and(|d| d.jitter.is_some());
    by_workload(set, &all(set), title, columns, has)
}

/// What load does to datagrams: the delay that it adds, as a figure and as a grade, and the quality of calls over them.
pub(super) fn under_load(set: &RunSet<'_>) -> Option<Table> {
    let title = "Datagrams under load: added mean delay, bufferbloat grade, call quality (ITU-T G.107, G.711)";
    let added = Column::for_measure(Measure::DelayAdded);
    let columns = vec![
        added.clone().with_unit(),
        added.in_scale(Scale::Grade).called("grade"),
        Column::for_measure(Measure::RFactor),
        Column::for_measure(Measure::OpinionScore),
    ];
    let has = |w: &WorkloadSummary| {
        let found = w.datagrams.as_ref();
        found.is_some_and(|d| d.added_delay.is_some() || d.call.mos.is_some())
    };
    by_workload(set, &all(set), title.to_owned(), columns, has)
}

/// A table with a group of rows for each workload; `None` if no case `has` such values.
fn by_workload(
    set: &RunSet<'_>,
    workloads: &[&Workload<'_>],
    title: String,
    columns: Vec<Column>,
    has: impl Fn(&WorkloadSummary) -> bool,
) -> Option<Table> {
    let rows_of = |workload: &&Workload<'_>| {
        let workload = workload.name;
        let what = Subject { workload, ..Subject::default() };
        let name = [Label::from(workload)];
        rows_of_cases(set, &name, &columns, &what, |s| s.workload(workload).is_some_and(&has))
    };
    let rows: Vec<Row> = workloads.iter().flat_map(rows_of).collect();
    if rows.is_empty() {
        return None;
    }
    let note = numbers_note(set, &columns);
    Some(Table { note, ..Table::of_cases(set, title, &["workload"], columns, rows) })
}

fn all<'s, 'r>(set: &'s RunSet<'r>) -> Vec<&'s Workload<'r>> {
    set.workloads.iter().collect()
}

/// What numbers of things are numbers of, where that is not the same in all runs.
fn numbers_note(set: &RunSet<'_>, columns: &[Column]) -> Option<String> {
    let counts =
        columns.iter().any(|c| matches!(c.measure, Some(Measure::Completed | Measure::Sent)));
    let replicas = set.summaries().map(|summary| summary.replicas).max()?;
    (counts && replicas > 1 && set.has_model && !set.runs.iter().all(is_model)).then(|| {
        format!(
            "Predicted numbers are for one replica; the others are totals over all {replicas} \
            replicas."
        )
    })
}

/// Delay and loss of each stream, a table for each workload whose streams are reported separately.
pub(super) fn streams(set: &RunSet<'_>) -> Vec<Table> {
    set.workloads.iter().filter_map(|workload| streams_of(set, workload.name)).collect()
}

fn streams_of(set: &RunSet<'_>, workload: &str) -> Option<Table> {
    let columns = vec![
        Column::for_measure(Measure::Sent),
        Column::for_measure(Measure::Delay).called("mean delay").with_unit(),
        Column::for_measure(Measure::DelayP95),
        Column::for_measure(Measure::DelayP99),
        Column::for_measure(Measure::DelayMax).with_unit(),
        Column::for_measure(Measure::DatagramLoss),
    ];
    let all = || set.summaries().filter_map(|s| s.workload(workload)).flat_map(|w| &w.streams);
    let mut rows = Vec::new();
    for name in distinct(all().map(|stream| stream.name.as_str())) {
        let rate = all().find(|stream| stream.name == name)?.rate;
        let what = Subject { workload, stream: Some(name), ..Subject::default() };
        let labels = [Label::from(name), Label::Rate(rate)];
        rows.extend(rows_of_cases(set, &labels, &columns, &what, |summary| {
            let found = summary.workload(workload);
            found.is_some_and(|w| w.streams.iter().any(|stream| stream.name == name))
        }));
    }
    // Streams of one run have a row each, and need no space between them.
    rows.iter_mut().for_each(|row| row.starts_group &= set.is_comparison());
    let title = format!("{workload}: delay and loss by stream");
    let labels = ["stream", "rate"];
    (!rows.is_empty()).then(|| Table::of_cases(set, title, &labels, columns, rows))
}
