//! Points without results.

use shortflow_measure::Run;

use crate::batch::{Fixed, Rows, text};
use crate::case::Cases;

pub(crate) const COLUMNS: [Fixed; 2] = [text("failure"), text("reason")];

pub(crate) fn fill(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, found) in runs.iter().enumerate() {
        for (at, point) in found.points.iter().enumerate() {
            let Some(reason) = &point.failure else { continue };
            let kind = if point.has_failed() { "failed" } else { "interrupted" };
            rows.push(&cases.cells(run, at), &[kind.into(), reason.as_str().into()]);
        }
    }
}
