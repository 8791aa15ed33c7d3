//! The common and the different parts of several runs.

use std::collections::BTreeSet;

use crate::item::Item;
use crate::results::{Run, Setting};
use crate::summary::{ClassSummary, Summary, WorkloadSummary};

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
pub(crate) fn workloads(runs: &[Run]) -> Vec<&str> {
    let all = summaries(runs).flat_map(|summary| &summary.workloads);
    distinct(all.map(|workload| workload.name.as_str()))
}

/// The workloads that completed transfers.
pub(crate) fn transfer_workloads(runs: &[Run]) -> Vec<&str> {
    let completes = |name: &str| {
        summaries(runs).filter_map(|s| s.workload(name)).any(|workload| workload.completed > 0)
    };
    workloads(runs).into_iter().filter(|name| completes(name)).collect()
}

/// What is timed in a workload.
pub(crate) fn item(runs: &[Run], workload: &str) -> Item {
    let found = summaries(runs).find_map(|summary| summary.workload(workload));
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
pub(crate) fn classes<'a>(runs: &'a [Run], workload: &str) -> Vec<&'a str> {
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

/// The summaries of all points of all runs.
pub(crate) fn summaries(runs: &[Run]) -> impl Iterator<Item = &Summary> {
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
