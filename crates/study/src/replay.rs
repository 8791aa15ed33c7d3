//! Requests that one run draws and others replay: the same users ask for the same pages at the same
//! times under every scheme, so that what differs between two schemes is theirs.

use std::sync::Arc;

use shortflow_measure::Replica;
use shortflow_scenario::{Scenario, WorkloadKind};
use shortflow_workloads::{Access, Busy, Visits, Web, parse_accesses};

use crate::spec::BusySpec;

impl From<BusySpec> for Busy {
    fn from(busy: BusySpec) -> Busy {
        match busy {
            BusySpec::Overlap => Busy::Overlap,
            BusySpec::Wait => Busy::Wait,
        }
    }
}

/// Makes every workload of `scenario` that browses replay what it asked for in `drawn`, which holds
/// the replicas of another run in their order.
pub(crate) fn replay(scenario: &mut Scenario, drawn: &[Replica], busy: Busy) -> Result<(), String> {
    for workload in &mut scenario.workloads {
        let WorkloadKind::Web(web) = &mut workload.kind else { continue };
        if matches!(web.visits, Visits::Replay { .. }) {
            continue;
        }
        let name = &workload.name;
        let logs: Result<Vec<_>, String> =
            drawn.iter().map(|replica| log(replica, name, web)).collect();
        web.visits = Visits::Replay { logs: logs?, busy };
    }
    Ok(())
}

fn log<N>(drawn: &Replica, workload: &str, web: &Web<N>) -> Result<Arc<[Access]>, String> {
    let lines = drawn
        .accesses
        .get(workload)
        .ok_or_else(|| format!("nothing was asked for in workload {workload}"))?;
    let accesses = parse_accesses(&lines.join("\n"), web.sessions.count)
        .map_err(|error| format!("the requests of workload {workload}, {error}"))?;
    Ok(accesses.into())
}
