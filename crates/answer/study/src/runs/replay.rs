//! Requests that one run draws and others replay: the same users request the same pages at the same times under every
//! scheme, so that a difference between two schemes is caused by the schemes.

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
/// replicas of another run with their numbers. Replicas of other numbers have nothing to replay.
pub(crate) fn replay<'r>(
    scenario: &mut Scenario,
    drawn: impl Iterator<Item = (u32, &'r Replica)> + Clone,
    busy: Busy,
) -> Result<(), String> {
    for workload in &mut scenario.workloads {
        let WorkloadKind::Web(web) = &mut workload.kind else { continue };
        if matches!(web.visits, Visits::Replay { .. }) {
            continue;
        }
        let name = &workload.name;
        let mut logs: Vec<Arc<[Access]>> = Vec::new();
        for (number, replica) in drawn.clone() {
            let number = number as usize;
            logs.resize(logs.len().max(number + 1), Arc::default());
            logs[number] = log(replica, name, web)?;
        }
        web.visits = Visits::Replay { logs, busy };
    }
    Ok(())
}

fn log<N>(drawn: &Replica, workload: &str, web: &Web<N>) -> Result<Arc<[Access]>, String> {
    let lines = drawn
        .accesses
        .get(workload)
        .ok_or_else(|| format!("no requests in workload {workload}"))?;
    let accesses = parse_accesses(&lines.join("\n"), web.sessions.count)
        .map_err(|error| format!("the requests of workload {workload}, {error}"))?;
    Ok(accesses.into())
}
