//! Compares transfers with the same transfers of another run, one by one.
//!
//! If one run replays the requests of the other, both request the same bytes at the same times. The mean of a few
//! large transfers is dominated by the largest. But for each of them it is known which run was faster, whatever its
//! size, and mostly even if one of them was open at the end.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shortflow_measure::results::{Error, Folder};
use shortflow_measure::{Replica, RowNames, TransferSink};
use shortflow_scenario::Scenario;

use super::distribution::Distribution;

/// A transfer, a page or whatever else is timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Its number in its own run.
    id: u64,
    /// Who asked for it.
    client: String,
    /// When, in seconds.
    start: f64,
    /// How large it is.
    bytes: u64,
    /// How long it took; how old it was at the end, where it was not complete.
    seconds: f64,
    is_complete: bool,
}

impl Item {
    /// What it is known by in every run: who asked, when to the nanosecond, and for how much.
    fn key(&self) -> (&str, u64, u64) {
        (&self.client, (self.start * 1e9).round() as u64, self.bytes)
    }

    /// Whether it took longer than `other`, where that is known.
    fn is_slower(&self, other: &Item) -> Option<bool> {
        match (self.is_complete, other.is_complete) {
            (true, true) => Some(self.seconds > other.seconds),
            (false, _) if self.seconds >= other.seconds && other.is_complete => Some(true),
            (_, false) if other.seconds >= self.seconds && self.is_complete => Some(false),
            _ => None,
        }
    }
}

/// What share of the items in both lists is slower in `ours`: at least, and at most, since of some it may
/// not be known. `None` where they have nothing in common.
pub(crate) fn share_slower(ours: &[Item], theirs: &[Item]) -> Option<(f64, f64)> {
    let (ours, mut theirs) = (by_key(ours), by_key(theirs));
    let slower: Vec<Option<bool>> = ours
        .into_iter()
        .flat_map(|(key, ours)| ours.into_iter().zip(theirs.remove(&key).unwrap_or_default()))
        .map(|(ours, theirs)| ours.is_slower(theirs))
        .collect();
    let share = |may_be: fn(&Option<bool>) -> bool| {
        slower.iter().filter(|slower| may_be(slower)).count() as f64 / slower.len() as f64
    };
    let (is_slower, may_be_slower) = (|is: &_| *is == Some(true), |is: &_| *is != Some(false));
    (!slower.is_empty()).then(|| (share(is_slower), share(may_be_slower)))
}

/// Items by what they are known by. Several of one client that began at once and are as large are told
/// apart by the order of their numbers.
fn by_key(items: &[Item]) -> HashMap<(&str, u64, u64), Vec<&Item>> {
    let mut by_key: HashMap<_, Vec<&Item>> = HashMap::new();
    for item in items {
        by_key.entry(item.key()).or_default().push(item);
    }
    by_key.values_mut().for_each(|same| same.sort_by_key(|item| item.id));
    by_key
}

/// Where a replica's transfers are written while it runs, among those of other points.
pub(crate) fn sink(
    folder: &Path,
    scenario: &Scenario,
    point: usize,
    replica: u32,
) -> Result<TransferSink, Error> {
    let rows = scenario.result_rows();
    let names = RowNames {
        labels: rows.iter().map(|_| String::new()).collect(),
        workloads: rows.into_iter().map(|row| row.name).collect(),
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
        ..RowNames::default()
    };
    TransferSink::create(&Folder::open(folder), point, replica, names)
}

/// A row as a sink writes it.
#[derive(Deserialize)]
struct Row {
    workload: String,
    id: u64,
    start_s: f64,
    reply_bytes: u64,
    counted: bool,
    state: String,
    age_s: f64,
    client: String,
}

/// The items of these classes among those that a sink wrote, which it removes.
pub(crate) fn take(
    folder: &Path,
    point: usize,
    number: u32,
    wanted: &[Distribution],
    replica: &Replica,
) -> Result<Vec<(Distribution, Vec<Item>)>, Error> {
    let path = folder.join(format!("transfers-{point:03}-{number:03}.csv"));
    let mut items: Vec<(Distribution, Vec<Item>)> =
        wanted.iter().map(|class| (class.clone(), Vec::new())).collect();
    read(&path, |row| {
        for (class, items) in &mut items {
            if row.counted && class.has(replica, &row.workload, row.reply_bytes) {
                items.push(Item {
                    id: row.id,
                    client: row.client.clone(),
                    start: row.start_s,
                    bytes: row.reply_bytes,
                    seconds: row.age_s,
                    is_complete: row.state == "completed",
                });
            }
        }
    })
    .map_err(|error| Error::Malformed { path, reason: error.to_string() })?;
    TransferSink::remove(&Folder::open(folder), point, number)?;
    Ok(items)
}

fn read(path: &Path, mut each: impl FnMut(Row)) -> csv::Result<()> {
    for row in csv::Reader::from_path(path)?.deserialize() {
        each(row?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(client: &str, start: f64, seconds: f64, is_complete: bool) -> Item {
        Item { id: 0, client: client.to_owned(), start, bytes: 5_000_000, seconds, is_complete }
    }

    #[test]
    fn each_item_is_held_against_itself_and_what_only_one_run_has_counts_not() {
        let ours =
            [item("a", 1.5, 9.0, true), item("b", 1.5, 3.0, true), item("b", 2.5, 7.0, true)];
        let theirs = [item("b", 1.5, 4.0, true), item("a", 1.5, 8.0, true)];
        assert_eq!(share_slower(&ours, &theirs), Some((0.5, 0.5)));
        assert_eq!(share_slower(&theirs, &ours), Some((0.5, 0.5)));
        assert_eq!(share_slower(&ours, &[]), None);
    }

    #[test]
    fn what_is_open_took_longer_than_its_age() {
        let slower = |ours: (f64, bool), theirs: (f64, bool)| {
            item("a", 1.0, ours.0, ours.1).is_slower(&item("a", 1.0, theirs.0, theirs.1))
        };
        assert_eq!(slower((30.0, false), (20.0, true)), Some(true));
        assert_eq!(slower((10.0, false), (20.0, true)), None, "it may yet be faster");
        assert_eq!(slower((20.0, true), (30.0, false)), Some(false));
        assert_eq!(slower((40.0, true), (30.0, false)), None);
        assert_eq!(slower((30.0, false), (30.0, false)), None);
        let (open, done) = (item("a", 1.0, 30.0, false), item("b", 1.0, 30.0, true));
        let other = [item("a", 1.0, 40.0, true), item("b", 1.0, 20.0, true)];
        assert_eq!(share_slower(&[open, done], &other), Some((0.5, 1.0)));
    }

    #[test]
    fn items_that_only_their_numbers_tell_apart_are_paired_in_order() {
        let all = |seconds: [f64; 3]| {
            let numbered = |(id, seconds)| Item { id, ..item("a", 0.0, seconds, true) };
            (7..).zip(seconds).map(numbered).collect::<Vec<_>>()
        };
        let (ours, theirs) = (all([1.0, 2.0, 3.0]), all([0.5, 2.5, 2.0]));
        let (low, high) = share_slower(&ours, &theirs).unwrap();
        assert_eq!((low * 3.0, high * 3.0), (2.0, 2.0));
    }
}
