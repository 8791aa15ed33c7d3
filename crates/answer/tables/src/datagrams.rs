//! Datagrams, by workload and stream.

use shortflow_measure::{DatagramResult, DelayPercentiles, Run, StreamResult};

use crate::batch::{Cell, Fixed, Rows, bits_per_second, integer, number, seconds, text};
use crate::case::{Cases, replicas};
use crate::measures::ALL;

pub(crate) const COLUMNS: [Fixed; 17] = [
    text("workload"),
    text("stream"),
    bits_per_second("sending_bits_per_s"),
    integer("sent"),
    integer("dropped"),
    integer("delivered"),
    number("loss"),
    seconds("delay_mean_s"),
    seconds("delay_median_s"),
    seconds("delay_p95_s"),
    seconds("delay_p99_s"),
    seconds("delay_max_s"),
    seconds("delay_deviation_s"),
    seconds("jitter_mean_s"),
    seconds("jitter_median_s"),
    seconds("jitter_p95_s"),
    seconds("jitter_p99_s"),
];

pub(crate) fn fill(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, point, replica) in replicas(runs) {
        let case = cases.replica(run, point, replica.number);
        for workload in &replica.workloads {
            if let Some(all) = &workload.datagrams {
                rows.push(&case, &of_workload(&workload.name, all));
            }
            for stream in &workload.streams {
                rows.push(&case, &of_stream(&workload.name, stream));
            }
        }
    }
}

fn of_workload<'r>(name: &'r str, all: &DatagramResult) -> [Cell<'r>; 17] {
    let DelayPercentiles { delay_median, delay_p95, delay_p99 } = all.percentiles;
    let jitter = all.jitter_percentiles;
    [
        name.into(),
        ALL.into(),
        Cell::Nothing,
        all.sent.into(),
        all.dropped.into(),
        all.delivered.into(),
        all.loss().into(),
        all.delay.into(),
        delay_median.into(),
        delay_p95.into(),
        delay_p99.into(),
        all.delay_max.into(),
        all.delay_deviation.into(),
        all.jitter.into(),
        jitter.jitter_median.into(),
        jitter.jitter_p95.into(),
        jitter.jitter_p99.into(),
    ]
}

/// Deviation and jitter are kept of whole workloads.
fn of_stream<'r>(workload: &'r str, stream: &'r StreamResult) -> [Cell<'r>; 17] {
    let DelayPercentiles { delay_median, delay_p95, delay_p99 } = stream.percentiles;
    let mut cells = [Cell::Nothing; 17];
    let known: [Cell<'r>; 12] = [
        workload.into(),
        stream.name.as_str().into(),
        (stream.rate as f64).into(),
        stream.sent.into(),
        stream.dropped.into(),
        stream.delivered.into(),
        stream.loss().into(),
        stream.delay.into(),
        delay_median.into(),
        delay_p95.into(),
        delay_p99.into(),
        stream.delay_max.into(),
    ];
    cells[..known.len()].copy_from_slice(&known);
    cells
}
