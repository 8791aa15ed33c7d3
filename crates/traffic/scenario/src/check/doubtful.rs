//! Warns of settings that are allowed but probably a mistake.

use shortflow_tcp::EchoRule;
use shortflow_text::Document;
use shortflow_units::Probability;
use shortflow_workloads::Sizes;

use super::topology::MIN_PACKET;
use crate::file::ScenarioFile;
use crate::loss::LossFile;
use crate::model::{Binding, Direction, Link, NodeId, Scenario, Workload};
use crate::workloads::WorkloadKind;

/// Warns of links that lose all packets, and of packets that are smaller than their headers.
pub(super) fn of_file(document: &mut Document, file: &ScenarioFile, workloads: &[Workload]) {
    for (name, link) in file.links.iter() {
        if link.loss.as_ref().is_some_and(loses_all) {
            let help = "write a probability from 0 to 1, such as 0.01 for 1 % of packets";
            let message = format!("the link `{name}` loses every packet");
            document.warning(&format!("links.{name}.loss"), message, help);
        }
    }
    for workload in workloads {
        small_packets(document, workload);
    }
}

/// Whether all packets in one of the directions are lost.
fn loses_all(loss: &LossFile) -> bool {
    match loss {
        LossFile::Always(probability) => *probability == Probability::ONE,
        LossFile::Table(table) => ["forward", "back"].iter().filter_map(|way| table.get(way)).any(
            |way| matches!(way, LossFile::Always(probability) if *probability == Probability::ONE),
        ),
    }
}

/// A packet with datagrams has UDP and IP headers.
fn small_packets(document: &mut Document, workload: &Workload) {
    let (key, size) = match &workload.kind {
        WorkloadKind::Cbr(cbr) => ("cbr.packet", u64::from(cbr.packet)),
        WorkloadKind::Poisson(poisson) => match &poisson.size {
            Sizes::Constant(size) => ("poisson.size.constant", size.0),
            _ => return,
        },
        _ => return,
    };
    let min = MIN_PACKET + workload.ip.more();
    if size < u64::from(min) {
        let message = format!(
            "a packet of {size} B is smaller than its headers: UDP and {} take {min} B",
            workload.ip.name()
        );
        let help = "sizes of packets include the headers";
        document.warning(&format!("workloads.{}.{key}", workload.name), message, help);
    }
}

/// Warns of the first workload whose TCP reacts only to marks, and whose packets pass no queue that marks.
/// `is_tcp_of_all` is whether the congestion control is set in `[tcp]`.
pub(super) fn unmarked(document: &mut Document, scenario: &Scenario, is_tcp_of_all: bool) {
    let marks = |&(at, to): &(NodeId, NodeId)| {
        let here = |binding: &&Binding| binding.at == at && binding.direction == Direction::To(to);
        let role = scenario.bindings.iter().find(here).map(|binding| binding.role.as_str());
        let policy = scenario.policy.as_ref();
        role.and_then(|role| policy?.role(role)).is_some_and(|role| role.marks())
    };
    let waits = |&(index, workload): &(usize, &Workload)| {
        workload.kind.traffic().datagrams().is_none()
            && workload.tcp.congestion.echo() == EchoRule::Exact
            && !scenario.ports_of(index).iter().any(marks)
    };
    let Some((_, workload)) = scenario.workloads.iter().enumerate().find(waits) else { return };
    let path = match is_tcp_of_all {
        true => "tcp.congestion".to_owned(),
        false => format!("workloads.{}", workload.name),
    };
    let message = format!(
        "{} reacts to ECN marks, but no queue on the path of `{}` marks packets",
        workload.tcp.congestion.title(),
        workload.name
    );
    let help = "bind a queue that marks, such as `fq-codel`, or `red` with `ecn = true`, or choose \
                another congestion control";
    document.warning(&path, message, help);
}

/// Warns of the link with the highest load, if the load exceeds its rate.
pub(super) fn overloaded(document: &mut Document, scenario: &Scenario) {
    let load = scenario.offered_load();
    let lines = load.lines.iter().enumerate();
    let heaviest = lines.max_by(|(_, one), (_, other)| one.share().total_cmp(&other.share()));
    let Some((at, line)) = heaviest.filter(|(_, line)| line.share() > 1.0) else { return };
    let node = |node: NodeId| &scenario.nodes[node.index()].name;
    let message = format!(
        "the load offered from {} to {} is {:.0} % of the link's rate",
        node(line.from),
        node(line.to),
        100.0 * line.share()
    );
    let help = "while all workloads are active, open transfers accumulate, and times depend on the length of the run; \
                `shortflow check` shows the load of each link";
    // Each link has two lines.
    document.warning(&format!("links.{}", group_of(&scenario.links[at / 2])), message, help);
}

/// Warns of the first link on which no packet arrives before the run ends.
pub(super) fn late(document: &mut Document, scenario: &Scenario) {
    let end = scenario.duration + scenario.drain;
    let is_late = |link: &&Link| link.forward.delay.max(link.back.delay) >= end;
    let Some(link) = scenario.links.iter().find(is_late) else { return };
    let message = format!(
        "no packet arrives over the link `{}`: its delay is {}, and the run ends after {end}",
        link.name,
        link.forward.delay.max(link.back.delay)
    );
    let help = "shorten the delay, or lengthen the run";
    document.warning(&format!("links.{}.delay", group_of(link)), message, help);
}

/// The name of a link in the text, without an index.
fn group_of(link: &Link) -> &str {
    link.name.split('[').next().unwrap_or(&link.name)
}
