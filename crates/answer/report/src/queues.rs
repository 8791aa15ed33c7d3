//! Queues over time, in units of their sending time.

use shortflow_measure::Run;
use shortflow_measure::cases;
use shortflow_measure::results::SeriesRow;

use crate::line::{LineFigure, Mark, Series, Stroke};
use crate::thin;

/// How many points a curve over time keeps.
const MAX_SAMPLES: usize = 600;

/// The queue of each sampled port over time, in the first replica of the first point: a figure for
/// each port and run, all on one scale.
pub(crate) fn queues(runs: &[Run]) -> Vec<LineFigure> {
    let mut figures = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let names = cases::distinct(sampled(run).map(|row| row.port.as_str()));
        let numbered = names.iter().enumerate();
        figures.extend(numbered.filter_map(|(number, port)| {
            let of_run = if runs.len() > 1 { format!(", {}", run.label) } else { String::new() };
            Some(LineFigure {
                name: format!("queue-{at}-{number}"),
                title: format!("Queue at {port}{of_run}"),
                series: curves(run, port)?,
                ..queue_figure()
            })
        }));
    }
    let marks = figures.iter().flat_map(|figure| &figure.series).flat_map(|s| &s.points);
    let max = marks.map(|mark| mark.y).fold(0.0, f64::max);
    figures.iter_mut().for_each(|figure| figure.reach = Some(max));
    figures
}

fn queue_figure() -> LineFigure {
    LineFigure {
        caption: "The time that the link needs to send what is in the queue, sampled in the first replica; and the \
             average that the queue management keeps, if any. All ports and policies have the same scale."
            .into(),
        x_label: "time, s".into(),
        y_label: "queue, ms".into(),
        zero_based: true,
        ..Default::default()
    }
}

fn sampled(run: &Run) -> impl Iterator<Item = &SeriesRow> {
    let first = run.series.first().map(|row| row.replica);
    run.series.iter().filter(move |row| row.point == 0 && Some(row.replica) == first)
}

/// The queue and its average; `None` if the port sent nothing, so that its rate is unknown.
fn curves(run: &Run, port: &str) -> Option<Vec<Series>> {
    let millis_per_byte = 8e3 / rate(run, port)?;
    let of_port = || sampled(run).filter(|row| row.port == port);
    let mark = |x, y| Mark { x, y, ..Default::default() };
    let now = of_port().map(|row| mark(row.time_s, row.queue_bytes as f64 * millis_per_byte));
    // RED averages packets: here they have the mean size of those that were in the queue.
    let (packets, bytes) = of_port().fold((0, 0), |(packets, bytes), row| {
        (packets + u64::from(row.queue_packets), bytes + row.queue_bytes)
    });
    let per_packet = millis_per_byte * bytes as f64 / packets.max(1) as f64;
    let average = of_port().filter_map(|row| Some(mark(row.time_s, row.average? * per_packet)));
    let line = |label: &str, points: Vec<Mark>, stroke| Series {
        label: label.into(),
        points: thin::every_nth(points, MAX_SAMPLES),
        stroke,
        ..Default::default()
    };
    let mut series = vec![
        line("queue", now.collect(), Stroke::Thin),
        line("average", average.collect(), Stroke::Plain),
    ];
    series.retain(|series| !series.points.is_empty());
    Some(series)
}

/// The rate of a port's link in bits per second: what went out over the time in which it sent.
fn rate(run: &Run, port: &str) -> Option<f64> {
    let replica = run.points.first()?.replicas.first()?;
    let found = replica.port(port)?;
    let bytes: u64 = found.code_points.iter().map(|counts| counts.forwarded.bytes).sum();
    let busy = found.utilisation * replica.measured;
    (bytes > 0 && busy > 0.0).then(|| bytes as f64 * 8.0 / busy)
}
