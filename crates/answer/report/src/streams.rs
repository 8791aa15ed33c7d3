//! Streams of datagrams one by one: a figure of delay against rate.

use shortflow_measure::{Estimate, Run, RunSet, StreamSummary};

use crate::format;
use crate::line::{Axis, LineFigure, Mark, Series};

/// Delay against rate, a figure for each workload with several rates; for one point only.
pub(crate) fn delay_by_rate(set: &RunSet<'_>) -> Vec<LineFigure> {
    if set.sweep.is_some() {
        return Vec::new();
    }
    let workloads = set.workloads.iter().enumerate();
    workloads.filter_map(|(at, workload)| figure(set.runs, workload.name, at)).collect()
}

fn figure(runs: &[Run], workload: &str, at: usize) -> Option<LineFigure> {
    let fastest = streams(runs, workload).flatten().map(|stream| stream.rate).max()?;
    let (unit, factor) = format::rate_unit(fastest as f64);
    let mut series = Vec::new();
    for run in runs {
        let Some(found) = run.points[0].summary.workload(workload) else { continue };
        let prefix = if runs.len() > 1 { format!("{}, ", run.label) } else { String::new() };
        let curve = |label: &str, dashed, time: fn(&StreamSummary) -> Option<Estimate>| {
            let mark = |stream: &StreamSummary| {
                Some(Mark::from_estimate(stream.rate as f64 * factor, &time(stream)?))
            };
            let mut points: Vec<Mark> = found.streams.iter().filter_map(mark).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series { label: format!("{prefix}{label}"), points, dashed, ..Default::default() }
        };
        series.push(curve("mean", false, |stream| stream.delay));
        series.push(curve("longest", true, |stream| stream.delay_max));
    }
    Some(LineFigure {
        name: format!("streams-{at}"),
        title: format!("{workload}: delay against rate"),
        caption: "Mean and longest delay of each stream of datagrams against its rate, with 95 % \
                  intervals over replicas."
            .into(),
        x_label: format!("rate, {unit}"),
        y_label: "delay".into(),
        y_axis: Axis::Seconds,
        series,
        zero_based: true,
        ..Default::default()
    })
}

/// The streams of a workload in each run, if they are reported separately.
fn streams<'r>(runs: &'r [Run], workload: &'r str) -> impl Iterator<Item = &'r Vec<StreamSummary>> {
    let found = move |run: &'r Run| Some(&run.points.first()?.summary.workload(workload)?.streams);
    runs.iter().filter_map(found).filter(|streams| !streams.is_empty())
}
