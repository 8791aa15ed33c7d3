//! The common and the different parts of several runs.

use std::collections::BTreeSet;

use crate::estimate::{Estimate, paired_gain_of_readings};
use crate::gains::pairs_of;
use crate::item::Item;
use crate::replica::{ClassResult, Replica};
use crate::results::{Run, Setting};
use crate::summary::{ClassSummary, Summary, WorkloadSummary};

/// The key that the runs were swept over, or the keys, if they have more than one point.
pub fn swept_key(runs: &[Run]) -> Option<String> {
    let run = runs.iter().find(|run| run.points.len() > 1)?;
    let keys: Vec<&str> = run.points[0].settings.iter().map(|s| s.key.as_str()).collect();
    Some(if keys.is_empty() { "point".into() } else { keys.join(", ") })
}

/// What a point of a sweep is called: the values that it has.
pub fn point_label(run: &Run, point: usize) -> String {
    values_label(&run.points[point].settings, point)
}

/// The same from what the sweep sets at the point.
pub(crate) fn values_label(settings: &[Setting], point: usize) -> String {
    let values: Vec<&str> = settings.iter().map(|setting| setting.value.as_str()).collect();
    if values.is_empty() { (point + 1).to_string() } else { values.join(", ") }
}

/// Every workload's name, in the order in which runs bring them.
pub fn workloads(runs: &[Run]) -> Vec<&str> {
    let all = summaries(runs).flat_map(|summary| &summary.workloads);
    distinct(all.map(|workload| workload.name.as_str()))
}

/// The workloads that completed transfers.
pub fn transfer_workloads(runs: &[Run]) -> Vec<&str> {
    let completes = |name: &str| {
        summaries(runs).filter_map(|s| s.workload(name)).any(|workload| workload.completed > 0)
    };
    workloads(runs).into_iter().filter(|name| completes(name)).collect()
}

/// The same without parts of others, as the objects of pages are: `web/objects`.
pub fn whole_workloads(runs: &[Run]) -> Vec<&str> {
    transfer_workloads(runs).into_iter().filter(|name| !name.contains('/')).collect()
}

/// What is timed in a workload.
pub fn item<'a>(runs: impl IntoIterator<Item = &'a Run>, workload: &str) -> Item {
    let points = runs.into_iter().flat_map(|run| &run.points);
    let found = points.into_iter().find_map(|point| point.summary.workload(workload));
    found.map(|workload| workload.item).unwrap_or_default()
}

/// What the sizes of this are called, where it has any that differ.
pub fn by_size(item: Item) -> &'static str {
    match item {
        Item::Transfer => " by reply size",
        Item::Page => " by page size",
        Item::Object => " by object size",
        Item::File => " by file size",
        Item::Echo => "",
    }
}

/// The labels of a workload's size classes in which some run completed a transfer.
pub fn classes<'a>(runs: &'a [Run], workload: &str) -> Vec<&'a str> {
    let of = summaries(runs).filter_map(|summary| summary.workload(workload));
    let used = of.flat_map(|w| &w.classes).filter(|class| class.n > 0);
    let mut labels = distinct(used.map(|class| class.label.as_str()));
    // A run may lack a class that another has; the plan's order holds for all.
    let order: Vec<&str> = summaries(runs)
        .filter_map(|summary| summary.workload(workload))
        .flat_map(|w| w.classes.iter().map(|class| class.label.as_str()))
        .collect();
    labels.sort_by_key(|label| order.iter().position(|other| other == label));
    labels
}

/// At most `max` of `items`, evenly spread, the first and the last among them.
pub fn spread<T: Copy>(items: &[T], max: usize) -> Vec<T> {
    if items.len() <= max {
        return items.to_vec();
    }
    (0..max).map(|i| items[i * (items.len() - 1) / (max - 1)]).collect()
}

/// The class of this label, or the whole when there is no label.
pub fn class<'a>(workload: &'a WorkloadSummary, label: Option<&str>) -> Option<&'a ClassSummary> {
    label.map_or(Some(&workload.all), |label| workload.class(label))
}

/// The relative gain in mean completion time of `ours` over `reference` at a point, in percent, over pairs of
/// replicas with the same arrivals. `None` if the arrivals differ, or if a mean is only a lower bound.
pub fn gain(
    (reference, ours): (&Run, &Run),
    point: usize,
    workload: &str,
    label: Option<&str>,
) -> Option<Estimate> {
    let (a, b) = (reference.points.get(point)?, ours.points.get(point)?);
    if a.settings != b.settings || !reference.manifest.has_arrivals_of(&ours.manifest) {
        return None;
    }
    let mean = |replica: &Replica| class_result(replica, workload, label)?.mean();
    let pairs = pairs_of(a, b).into_iter();
    let (reference, ours): (Vec<_>, Vec<_>) =
        pairs.filter_map(|(a, b)| mean(a).zip(mean(b))).unzip();
    paired_gain_of_readings(&reference, &ours)
}

fn class_result<'a>(
    replica: &'a Replica,
    workload: &str,
    label: Option<&str>,
) -> Option<&'a ClassResult> {
    let workload = replica.workload(workload)?;
    label.map_or(Some(&workload.all), |label| workload.class(label))
}

/// The summaries of all points of all runs.
pub fn summaries(runs: &[Run]) -> impl Iterator<Item = &Summary> {
    runs.iter().flat_map(|run| &run.points).map(|point| &point.summary)
}

/// Each item once, where it first comes.
pub fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    items.filter(|item| seen.insert(*item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_keeps_both_ends() {
        assert_eq!(spread(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 4), [1, 4, 7, 10]);
        assert_eq!(spread(&[1, 2], 4), [1, 2]);
    }
}
