//! The size limits of datagrams: the minimum carries the send time, and the maximum fits into one packet of the
//! device. A scenario defines packets, and to every queue a fragment would be another packet.

use shortflow_measure::{DatagramResult, Replica};
use shortflow_run::Refusal;
use shortflow_scenario::{IpVersion, Scenario, Workload, WorkloadKind};
use shortflow_units::Bytes;

use crate::ip::spoken;
use crate::traffic::{LARGEST_DATAGRAM, min_datagram};

/// Bytes of the smallest and of the largest datagram; `None` without a limit, or without UDP.
fn bounds(kind: &WorkloadKind) -> (Option<Bytes>, Option<Bytes>) {
    match kind {
        WorkloadKind::Cbr(cbr) => {
            let size = Some(Bytes(cbr.packet.into()));
            (size, size)
        }
        WorkloadKind::Poisson(poisson) => poisson.size.bounds(),
        _ => (None, None),
    }
}

/// Bytes of the largest datagram of a workload; none of those that use TCP.
pub(crate) fn largest(kind: &WorkloadKind) -> Option<u32> {
    let max = (!kind.uses_tcp()).then(|| bounds(kind).1.map_or(u64::MAX, |bytes| bytes.0))?;
    Some(max.min(LARGEST_DATAGRAM.into()) as u32)
}

/// Refuses workloads some of whose datagrams are too small by what the scenario says.
pub(crate) fn refuse(scenario: &Scenario, asked: IpVersion) -> Result<(), Refusal> {
    for workload in &scenario.workloads {
        let min = min_datagram(spoken(asked, workload));
        if let Some(size) = bounds(&workload.kind).0.filter(|size| size.0 < min.into()) {
            return Err(Refusal(format!(
                "{}: datagrams of {} bytes are too small to carry their send time\nuse {min} \
                    bytes or more",
                workload.name, size.0
            )));
        }
    }
    Ok(())
}

/// A note on workloads whose random datagram sizes may be too small.
pub(crate) fn size_notes(scenario: &Scenario, asked: IpVersion) -> Vec<String> {
    let by_chance = scenario.workloads.iter().filter(|workload| {
        matches!(workload.kind, WorkloadKind::Poisson(_)) && bounds(&workload.kind).0.is_none()
    });
    let tell = |workload: &Workload| {
        let (name, min) = (&workload.name, min_datagram(spoken(asked, workload)));
        format!(
            "{name}: datagrams below {min} bytes cannot carry their send time; they are sent \
                with {min} bytes."
        )
    };
    by_chance.map(tell).collect()
}

/// A note on datagrams that the network has neither dropped nor delivered.
pub(crate) fn missing_note(found: &Replica) -> Option<String> {
    let all = found.workloads.iter().filter_map(|workload| workload.datagrams.as_ref());
    let missing =
        |found: &DatagramResult| found.sent.saturating_sub(found.dropped + found.delivered);
    let missing: u64 = all.map(missing).sum();
    let message = format!(
        "{missing} datagrams were still under way when the run ended (set `drain` to wait for \
            them), or this machine lost them, not the network: they count as sent, and neither as \
            delivered nor as lost."
    );
    (missing > 0).then_some(message)
}
