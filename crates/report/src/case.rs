//! What several runs have in common, and how they differ.

use shortflow_measure::{
    ClassResult, ClassSummary, Estimate, Item, Replica, Summary, WorkloadSummary,
    paired_gain_of_readings,
};

use crate::run::Run;

/// The key that the runs were swept over, or the keys, if they have more than one point.
pub(crate) fn swept_key(runs: &[Run]) -> Option<String> {
    let run = runs.iter().find(|run| run.points.len() > 1)?;
    let keys: Vec<&str> = run.points[0].settings.iter().map(|s| s.key.as_str()).collect();
    Some(if keys.is_empty() { "point".into() } else { keys.join(", ") })
}

/// What a point of a sweep is called: the values that it has.
pub(crate) fn point_label(run: &Run, point: usize) -> String {
    let values: Vec<_> = run.points[point].settings.iter().map(|s| s.value.as_str()).collect();
    if values.is_empty() { (point + 1).to_string() } else { values.join(", ") }
}

/// The place of each point on the axis of the swept key: its value, when all values are numbers of
/// one unit; else its rank.
pub(crate) fn positions(run: &Run) -> Positions {
    let values: Vec<String> = (0..run.points.len()).map(|at| point_label(run, at)).collect();
    let split = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_digit() || "._-".contains(c)));
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        Some((number.replace('_', "").parse::<f64>().ok()?, unit.trim().to_owned()))
    };
    let numbers: Option<Vec<_>> = values.iter().map(|value| split(value)).collect();
    match numbers {
        Some(numbers) if numbers.iter().all(|(_, unit)| *unit == numbers[0].1) => {
            let unit = numbers[0].1.clone();
            Positions::Numbers { values: numbers.into_iter().map(|(x, _)| x).collect(), unit }
        }
        _ => Positions::Names(values),
    }
}

/// Where the points of a sweep lie.
#[derive(Debug, PartialEq)]
pub(crate) enum Positions {
    Numbers { values: Vec<f64>, unit: String },
    Names(Vec<String>),
}

impl Positions {
    /// The place of point `at`; the first name is at 1.
    pub(crate) fn x(&self, at: usize) -> f64 {
        match self {
            Positions::Numbers { values, .. } => values[at],
            Positions::Names(_) => at as f64 + 1.0,
        }
    }
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

/// The same without parts of others, as the objects of pages are: `web/objects`.
pub(crate) fn whole_workloads(runs: &[Run]) -> Vec<&str> {
    transfer_workloads(runs).into_iter().filter(|name| !name.contains('/')).collect()
}

/// What is timed in a workload.
pub(crate) fn item<'a>(runs: impl IntoIterator<Item = &'a Run>, workload: &str) -> Item {
    let points = runs.into_iter().flat_map(|run| &run.points);
    let found = points.into_iter().find_map(|point| point.summary.workload(workload));
    found.map(|workload| workload.item).unwrap_or_default()
}

/// What the sizes of this are called, where it has any that differ.
pub(crate) fn by_size(item: Item) -> &'static str {
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

/// At most `most` of `items`, evenly spread, the first and the last among them.
pub(crate) fn spread<T: Copy>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    (0..most).map(|i| items[i * (items.len() - 1) / (most - 1)]).collect()
}

/// The class of this label, or the whole when there is no label.
pub(crate) fn class<'a>(
    workload: &'a WorkloadSummary,
    label: Option<&str>,
) -> Option<&'a ClassSummary> {
    label.map_or(Some(&workload.all), |label| workload.class(label))
}

/// The relative gain in mean completion time of `ours` over `reference` at a point, in percent,
/// over pairs of replicas that had the same arrivals; none when the runs had not, and none where a
/// mean is known to a lower bound only.
pub(crate) fn gain(
    (reference, ours): (&Run, &Run),
    point: usize,
    workload: &str,
    label: Option<&str>,
) -> Option<Estimate> {
    let (a, b) = (reference.points.get(point)?, ours.points.get(point)?);
    let same_arrivals = reference.manifest.seed == ours.manifest.seed
        && a.settings == b.settings
        && a.replicas.len() == b.replicas.len();
    if !same_arrivals {
        return None;
    }
    let mean = |replica: &Replica| class_result(replica, workload, label)?.mean();
    let pairs = a.replicas.iter().zip(&b.replicas).filter_map(|(a, b)| mean(a).zip(mean(b)));
    let (reference, ours): (Vec<_>, Vec<_>) = pairs.unzip();
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
pub(crate) fn summaries(runs: &[Run]) -> impl Iterator<Item = &Summary> {
    runs.iter().flat_map(|run| &run.points).map(|point| &point.summary)
}

/// Each item once, where it first comes.
pub(crate) fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    items.for_each(|item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
    });
    seen
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
