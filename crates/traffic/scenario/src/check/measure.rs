//! Checks what is measured: series of ports, size classes of transfers.

use std::collections::BTreeSet;
use std::sync::Arc;

use shortflow_policy::Policy;
use shortflow_text::Document;
use shortflow_units::{Bytes, Duration, Size};

use super::topology::Topology;
use crate::addresses::IpVersion;
use crate::file::ScenarioFile;
use crate::model::{Binding, Direction, MeasurePlan, NodeId, SizeClass, Workload};
use crate::workloads::ResultSizes;

/// Resolves what is measured.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    topology: &Topology,
    bindings: &[Binding],
    policy: Option<&Policy>,
    workloads: &[Workload],
) -> MeasurePlan {
    let series_interval = file.measure.series_interval;
    if series_interval.is_some_and(|interval| interval.is_zero()) {
        let message = "series_interval must be above zero; found 0 s";
        document.mistake("measure.series_interval", message, "write, for example, \"100 ms\"");
    }
    let flow_samples = flow_samples(document, file);
    let mut ports: Vec<(NodeId, NodeId)> = match &file.measure.ports {
        Some(names) => {
            let each = names.iter().enumerate();
            each.flat_map(|(index, name)| ports(document, index, name, topology)).collect()
        }
        None => queued_ports(bindings, policy),
    };
    let mut seen = BTreeSet::new();
    ports.retain(|port| seen.insert(*port));
    let limits = limits(document, &file.measure.limits);
    let size_classes = size_classes(document, file, workloads);
    let accesses = file.measure.accesses;
    MeasurePlan { series_interval, flow_samples, ports, size_classes, limits, accesses }
}

/// The interval of throughput samples. At least one must fit into the measured time.
fn flow_samples(document: &mut Document, file: &ScenarioFile) -> Option<Duration> {
    let interval = file.measure.flow_samples?;
    let measured = file.duration.saturating_sub(file.warm_up);
    let message = if interval.is_zero() {
        "flow_samples must be above zero; found 0 s".to_owned()
    } else if interval > measured && !measured.is_zero() {
        format!("flow_samples must be at most the measured time, {measured}; found {interval}")
    } else {
        return Some(interval);
    };
    document.mistake("measure.flow_samples", message, "write, for example, \"2 s\"");
    None
}

/// The limits, in rising order.
fn limits(document: &mut Document, limits: &[Duration]) -> Vec<Duration> {
    if let Some(at) = limits.iter().position(|limit| limit.is_zero()) {
        let message = "a limit must be above zero; found 0 s";
        let help = "write, for example, \"10 s\"";
        document.mistake(&format!("measure.limits.{at}"), message, help);
    }
    let sorted: BTreeSet<Duration> = limits.iter().copied().collect();
    sorted.into_iter().collect()
}

/// The ports named `name`, such as `r1->r2`. For groups, the ports of all links between them.
fn ports(
    document: &mut Document,
    index: usize,
    name: &str,
    topology: &Topology,
) -> Vec<(NodeId, NodeId)> {
    let path = format!("measure.ports.{index}");
    let Some((from, to)) = name.split_once("->") else {
        document.mistake(&path, format!("invalid port `{name}`"), "write \"node->neighbour\"");
        return Vec::new();
    };
    let from = topology.find(document, &path, from.trim());
    let to = topology.find(document, &path, to.trim());
    let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
    let found: Vec<(NodeId, NodeId)> = from
        .into_iter()
        .flat_map(|from| topology.neighbours(from).map(move |near| (from, near)))
        .filter(|(_, near)| to.binary_search(near).is_ok())
        .collect();
    if found.is_empty() {
        let help = "name two nodes that a link joins";
        document.mistake(&path, format!("no link leads from {}", name.replace("->", " to ")), help);
    }
    found
}

fn queued_ports(bindings: &[Binding], policy: Option<&Policy>) -> Vec<(NodeId, NodeId)> {
    let queues = |binding: &Binding| {
        policy.and_then(|policy| policy.role(&binding.role)).is_some_and(|role| role.queues())
    };
    bindings
        .iter()
        .filter(|binding| queues(binding))
        .filter_map(|binding| match binding.direction {
            Direction::To(to) => Some((binding.at, to)),
            Direction::From(_) => None,
        })
        .collect()
}

/// The size classes of replies: as written, or one per size if all sizes are listed and few, or one per power
/// of ten.
fn size_classes(
    document: &mut Document,
    file: &ScenarioFile,
    workloads: &[Workload],
) -> Arc<[SizeClass]> {
    if let Some(bounds) = &file.measure.size_classes {
        return written_classes(document, bounds, mss(workloads)).into();
    }
    let sizes = workloads.iter().filter_map(|workload| workload.kind.traffic().sizes());
    let distinct: Option<Vec<Vec<Bytes>>> = sizes
        .map(|sizes| match sizes {
            ResultSizes::Listed(sizes) => Some(sizes),
            ResultSizes::Any => None,
        })
        .collect();
    match distinct {
        Some(sizes) => {
            let sizes: BTreeSet<Bytes> = sizes.into_iter().flatten().collect();
            if sizes.len() <= MAX_SIZES {
                return listed_classes(sizes, in_segments(file).then(|| mss(workloads))).into();
            }
            decades().into()
        }
        None => decades().into(),
    }
}

fn listed_classes(sizes: BTreeSet<Bytes>, mss: Option<u64>) -> Vec<SizeClass> {
    let label = |size: Bytes| match mss {
        Some(mss) if size.0.is_multiple_of(mss) => Size::Segments(size.0 / mss).to_string(),
        _ => size.to_string(),
    };
    sizes.into_iter().map(|size| SizeClass { label: label(size), up_to: size }).collect()
}

fn written_classes(document: &mut Document, bounds: &[Size], mss: u64) -> Vec<SizeClass> {
    if bounds.is_empty() {
        let help = "list the largest reply of each class, or remove the key";
        document.mistake("measure.size_classes", "the list of classes is empty", help);
    }
    let mut classes: Vec<SizeClass> = Vec::new();
    for (index, bound) in bounds.iter().enumerate() {
        let up_to = bound.bytes(mss);
        if index > 0 && classes[index - 1].up_to >= up_to {
            let before = bounds[index - 1];
            let message = format!("{bound} must be above the previous class, {before}");
            let help = "list the classes in rising order";
            document.mistake(&format!("measure.size_classes.{index}"), message, help);
        }
        classes.push(SizeClass { label: format!("up to {bound}"), up_to });
    }
    if let Some(last) = bounds.last() {
        classes.push(SizeClass { label: format!("above {last}"), up_to: Bytes(u64::MAX) });
    }
    classes
}

fn decades() -> Vec<SizeClass> {
    let bounds = [1_000, 10_000, 100_000, 1_000_000].map(Bytes);
    let mut classes: Vec<SizeClass> =
        bounds.iter().map(|&up_to| SizeClass { label: format!("up to {up_to}"), up_to }).collect();
    classes.push(SizeClass { label: "above 1 MB".to_owned(), up_to: Bytes(u64::MAX) });
    classes
}

/// The segment size in which classes are counted: that of the first workload of transfers.
fn mss(workloads: &[Workload]) -> u64 {
    let is_sized = |workload: &&Workload| workload.kind.traffic().sizes().is_some();
    workloads
        .iter()
        .find(is_sized)
        .map_or(1, |workload| u64::from(workload.tcp_over(IpVersion::V4).mss))
}

/// Whether all sizes of replies are in segments.
fn in_segments(file: &ScenarioFile) -> bool {
    file.workloads.iter().all(|(_, workload)| workload.sizes_in_segments())
}

/// A table with more rows is hard to read.
const MAX_SIZES: usize = 20;
