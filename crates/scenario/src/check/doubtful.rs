//! What is allowed in a scenario, but hardly meant.

use shortflow_policy::Policy;
use shortflow_tcp::EchoRule;
use shortflow_text::Document;
use shortflow_units::Probability;
use shortflow_workloads::Sizes;

use super::topology::LEAST_PACKET;
use crate::file::ScenarioFile;
use crate::loss::LossFile;
use crate::model::{Binding, Workload};
use crate::workloads::WorkloadKind;

/// Warns of links that lose everything, of packets that are too small for their headers, and of TCP
/// that waits for marks which no queue makes.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    bindings: &[Binding],
    policy: Option<&Policy>,
    workloads: &[Workload],
) {
    for (name, link) in file.links.iter() {
        if link.loss.as_ref().is_some_and(loses_all) {
            let help = "write a share of packets from 0 to 1, such as 0.01 for one in a hundred";
            let message = format!("the link `{name}` loses every packet");
            document.warning(&format!("links.{name}.loss"), message, help);
        }
    }
    for workload in workloads {
        small_packets(document, workload);
    }
    let marks = |binding: &Binding| {
        policy.and_then(|policy| policy.role(&binding.role)).is_some_and(|role| role.marks())
    };
    if !bindings.iter().any(marks) {
        unmarked(document, file, workloads);
    }
}

/// Whether no packet gets through in one of the directions.
fn loses_all(loss: &LossFile) -> bool {
    match loss {
        LossFile::Always(probability) => *probability == Probability::ONE,
        LossFile::Table(table) => ["forward", "back"].iter().filter_map(|way| table.get(way)).any(
            |way| matches!(way, LossFile::Always(probability) if *probability == Probability::ONE),
        ),
    }
}

/// A packet of datagrams has headers of UDP and IPv4.
fn small_packets(document: &mut Document, workload: &Workload) {
    let (key, size) = match &workload.kind {
        WorkloadKind::Cbr(cbr) => ("cbr.packet", u64::from(cbr.packet)),
        WorkloadKind::Poisson(poisson) => match &poisson.size {
            Sizes::Constant(size) => ("poisson.size.constant", size.0),
            _ => return,
        },
        _ => return,
    };
    if size < u64::from(LEAST_PACKET) {
        let message = format!(
            "a packet of {size} B is smaller than its headers: UDP and IPv4 take {LEAST_PACKET} B"
        );
        let help = "sizes of packets include the headers";
        document.warning(&format!("workloads.{}.{key}", workload.name), message, help);
    }
}

/// Controls that react to marks only, where no queue that is bound makes any.
fn unmarked(document: &mut Document, file: &ScenarioFile, workloads: &[Workload]) {
    let waits = |workload: &&Workload| {
        let sends = workload.kind.traffic().datagrams().is_none();
        sends && workload.tcp.congestion.echo() == EchoRule::Exact
    };
    let Some(workload) = workloads.iter().find(waits) else { return };
    let path = match file.tcp.congestion {
        Some(_) => "tcp.congestion".to_owned(),
        None => format!("workloads.{}", workload.name),
    };
    let message = format!(
        "{} reacts to ECN marks, and no queue of this scenario marks packets",
        workload.tcp.congestion.title()
    );
    let help = "bind a queue that marks, such as `fq-codel`, or `red` with `ecn = true`, or choose \
                another congestion control";
    document.warning(&path, message, help);
}
