//! Points without results.

use shortflow_measure::Run;

use crate::batch::{Fixed, Rows, integer, text};
use crate::case::Cases;

pub(crate) const COLUMNS: [Fixed; 3] = [integer("replica"), text("failure"), text("reason")];

pub(crate) fn fill(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, found) in runs.iter().enumerate() {
        for (at, point) in found.points.iter().enumerate() {
            let Some(reason) = &point.failure else { continue };
            let kind = match () {
                () if point.was_stopped() => "stopped",
                () if point.has_failed() => "failed",
                () => "interrupted",
            };
            let cells = [point.failed_replica.into(), kind.into(), reason.as_str().into()];
            rows.push(&cases.cells(run, at), &cells);
        }
    }
}
