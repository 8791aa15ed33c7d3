//! What of a scenario has a closed form.

use shortflow_elements::dropper::LossParams;
use shortflow_policy::QueuePlan;
use shortflow_run::{Refusal, port_name, ports, role_at};
use shortflow_scenario::{Direction, Scenario, Workload, WorkloadKind};
use shortflow_tcp::Algorithm;

/// Refuses what has none, and says what.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Refusal> {
    scenario.workloads.iter().try_for_each(workload)?;
    for (from, to, line) in ports(scenario) {
        let place = port_name(scenario, from, to);
        if let Some(LossParams::GilbertElliott(_)) = line.loss {
            return Err(none(&format!("losses in bursts, as at {place}")));
        }
        let roles = [
            role_at(scenario, from, Direction::To(to)),
            role_at(scenario, to, Direction::From(from)),
        ];
        for role in roles.into_iter().flatten() {
            if role.conditions() {
                return Err(none(&format!(
                    "what the role `{}` does to packets at {place}",
                    role.name
                )));
            }
            match &role.queue {
                None | Some(QueuePlan::Fifo(_)) => {}
                Some(QueuePlan::Red(red)) if red.spare_below() == 0 && !red.byte_mode() => {}
                Some(_) => {
                    let what = format!("the queue of the role `{}` at {place}", role.name);
                    return Err(none(&what));
                }
            }
        }
    }
    Ok(())
}

fn workload(workload: &Workload) -> Result<(), Refusal> {
    let name = &workload.name;
    match &workload.kind {
        WorkloadKind::Cbr(_) | WorkloadKind::Poisson(_) => return Ok(()),
        WorkloadKind::Transfers(_) => {}
        WorkloadKind::Bulk(bulk) if bulk.size.is_none() => {}
        WorkloadKind::Bulk(_) => {
            return Err(none(&format!("flows of one size that begin together, as in `{name}`")));
        }
        WorkloadKind::Web(_) | WorkloadKind::Telnet(_) | WorkloadKind::Ftp(_) => {
            return Err(none(&format!("the `{}` sessions of `{name}`", workload.kind.name())));
        }
    }
    let tcp = &workload.tcp;
    if !matches!(tcp.congestion, Algorithm::Reno | Algorithm::Cubic) {
        return Err(none(&format!("the congestion control of `{name}`")));
    }
    if tcp.window_rate.is_some() || tcp.pacing {
        return Err(none(&format!("paced or rate-limited senders, as in `{name}`")));
    }
    Ok(())
}

/// There is none for `what`.
pub(crate) fn none(what: &str) -> Refusal {
    Refusal(format!("no closed form for {what}\nsimulate it"))
}
