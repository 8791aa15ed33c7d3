//! Time series of ports.

use shortflow_measure::Run;

use crate::batch::{Cell, Fixed, Rows, bytes, integer, number, seconds, text};
use crate::case::Cases;

pub(crate) const COLUMNS: [Fixed; 7] = [
    seconds("time_s"),
    text("port"),
    integer("queue_packets"),
    bytes("queue_bytes"),
    number("average_queue"),
    number("link_utilisation"),
    integer("open_transfers"),
];

pub(crate) fn fill(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, found) in runs.iter().enumerate() {
        for row in &found.series {
            let cells: [Cell<'_>; 7] = [
                row.time_s.into(),
                row.port.as_str().into(),
                row.queue_packets.into(),
                row.queue_bytes.into(),
                row.average.into(),
                f64::from(row.utilisation).into(),
                row.open_transfers.into(),
            ];
            rows.push(&cases.replica(run, row.point, row.replica), &cells);
        }
    }
}
