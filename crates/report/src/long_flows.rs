//! How evenly long flows got through.

use crate::format;
use crate::table::{Row, Table};
use crate::tables::{for_each_case, table_of_cases};
use shortflow_measure::Run;
use shortflow_measure::cases::workloads;

/// The variation of long flows' throughput over time; none where it was not sampled.
pub(crate) fn throughput(runs: &[Run]) -> Option<Table> {
    let mut rows = Vec::new();
    for workload in workloads(runs) {
        let mut first_row = true;
        for_each_case(runs, |names, summary, _| {
            let found = summary.workload(workload).filter(|found| found.idle_samples.is_some());
            let Some(found) = found else { return };
            let mut cells = vec![if first_row { workload.to_owned() } else { String::new() }];
            cells.extend(names.iter().cloned());
            cells.push(format::estimate(&found.throughput_variation, 1.0));
            cells.push(format::estimate(&found.idle_samples, 1.0));
            rows.push(Row { cells, starts_group: first_row });
            first_row = false;
        });
    }
    let title = "Long flows over time: variation of each one's throughput, intervals without any";
    let measures = ["variation", "idle"];
    (!rows.is_empty()).then(|| table_of_cases(runs, title, &["workload"], &measures, rows))
}
