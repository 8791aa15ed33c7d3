//! What share of transfers took longer than given limits.

use shortflow_measure::WorkloadSummary;

use crate::format;
use crate::table::{Row, Table};
use crate::tables::{for_each_case, table_of_cases};
use shortflow_measure::Run;
use shortflow_measure::cases;

/// The shares over each limit of these workloads, by size where `sizes`; none when there is no
/// limit.
pub(crate) fn over_limits(runs: &[Run], workloads: &[&str], sizes: bool) -> Option<Table> {
    let limits: Vec<f64> = cases::summaries(runs)
        .flat_map(|summary| &summary.workloads)
        .map(|workload| workload.all.over.iter().map(|over| over.limit).collect::<Vec<_>>())
        .find(|limits| !limits.is_empty())?;
    let mut rows = Vec::new();
    for &workload in workloads {
        let mut first_of_workload = true;
        let labels = if sizes { cases::classes(runs, workload) } else { Vec::new() };
        let labels = labels.into_iter().map(Some).chain([None]);
        for label in labels {
            let mut first_of_class = true;
            for_each_case(runs, |names, summary, _| {
                let found = summary.workload(workload);
                let Some(cells) = found.and_then(|w| shares(w, label)) else { return };
                let name = if first_of_workload { workload } else { "" };
                let size = if first_of_class { label.unwrap_or("all") } else { "" };
                let head = [name, size].into_iter().take(if sizes { 2 } else { 1 });
                let cells =
                    head.map(str::to_owned).chain(names.iter().cloned()).chain(cells).collect();
                rows.push(Row { cells, starts_group: first_of_workload });
                first_of_workload = false;
                first_of_class = false;
            });
        }
    }
    let measures: Vec<String> =
        limits.iter().map(|limit| format!("over {} s", format::plain(*limit))).collect();
    let measures: Vec<&str> = measures.iter().map(String::as_str).collect();
    let title = "What share took longer; open at the end counts once it is older than the limit";
    let labels: &[&str] = if sizes { &["workload", "size"] } else { &["workload"] };
    Some(table_of_cases(runs, title, labels, &measures, rows))
}

fn shares(workload: &WorkloadSummary, label: Option<&str>) -> Option<Vec<String>> {
    let class = cases::class(workload, label)?;
    Some(class.over.iter().map(|over| format::share(&over.share)).collect())
}
