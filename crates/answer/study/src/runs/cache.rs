//! Finished replicas on disk, so that an interrupted study can continue.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shortflow_measure::results::{Error, Folder};
use shortflow_measure::{Replica, Sample, Survival};
use shortflow_run::fingerprint;

use super::distribution::Distribution;
use super::paired_transfers::Item;
use super::points::PointOfRun;
use super::stored_replica::StoredReplica;

/// A folder with a file for each finished replica.
pub(crate) struct Cache {
    folder: Folder,
    /// What tells the engine's results from those of another.
    engine: String,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// What the replica was made from; another input makes it worthless.
    fingerprint: String,
    replica: Replica,
    /// What its clients requested, which a replica's own file omits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    accesses: BTreeMap<String, Vec<String>>,
    /// The distributions of completion times that figures show; a replica's own file leaves them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    distributions: Vec<(Distribution, Survival)>,
    /// The transfers that are compared with those of another run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    items: Vec<(Distribution, Vec<Item>)>,
    /// The time series, where the run has any; a replica's own file leaves them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    series: Vec<Sample>,
}

impl Cache {
    /// The replicas in `folder` that an engine of this identity gave.
    pub(crate) fn open(folder: Folder, engine: &str) -> Self {
        Cache { folder, engine: engine.to_owned() }
    }

    /// The replica kept for this place, if it was made from the same inputs and all that is wanted of
    /// it was kept.
    pub(crate) fn read(&self, point: &PointOfRun, number: u32) -> Option<StoredReplica> {
        let folder = self.folder.inside(&point.place);
        let entry: Entry = folder.read_json(&name(point, number)).ok()?;
        // A copy under another name would count twice.
        let is_it = entry.replica.number == number
            && entry.fingerprint == fingerprint(&point.scenario, &self.engine);
        if !is_it {
            return None;
        }
        let (accesses, series) = (entry.accesses, entry.series);
        let mut replica = Replica { accesses, series, ..entry.replica };
        let mut kept = entry.distributions;
        for wanted in &point.distributions {
            let Some(place) = wanted.find_mut(&mut replica) else { continue };
            let at = kept.iter().position(|(distribution, _)| distribution == wanted)?;
            *place = kept.swap_remove(at).1;
        }
        let mut items = entry.items;
        items.retain(|(class, _)| point.items.contains(class));
        (items.len() == point.items.len()).then_some(StoredReplica { replica, items })
    }

    /// Whether a replica is kept for this place, made from whatever inputs.
    pub(crate) fn has(&self, point: &PointOfRun, number: u32) -> bool {
        self.folder.path().join(name(point, number)).exists()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Keeps a finished replica.
    pub(crate) fn write(
        &self,
        point: &PointOfRun,
        number: u32,
        result: &Replica,
        items: Vec<(Distribution, Vec<Item>)>,
    ) -> Result<(), Error> {
        let mut replica = result.clone();
        let distributions = point.distributions.iter().filter_map(|wanted| {
            let histogram = std::mem::take(wanted.find_mut(&mut replica)?);
            Some((wanted.clone(), histogram))
        });
        let entry = Entry {
            fingerprint: fingerprint(&point.scenario, &self.engine),
            distributions: distributions.collect(),
            accesses: result.accesses.clone(),
            items,
            series: result.series.clone(),
            replica,
        };
        self.folder.create_inside(&point.place)?.write_json(&name(point, number), &entry)
    }
}

fn name(point: &PointOfRun, number: u32) -> String {
    format!("{}@{}#{number}.json", point.run, point.x)
}

#[cfg(test)]
mod tests {
    use shortflow_measure::WorkloadResult;

    use super::*;
    use crate::spec::FigureSpec;

    const FIGURE: &str = r#"
name = "pages"
title = "How long pages took"
kind = "distribution"
x = "completion time (s)"
y = "share that took longer"
curves = [{ label = "all", of = { run = "run", x = 0.6, workload = "web" } }]
"#;

    const SCENARIO: &str = r#"
name = "two hosts"
duration = "1 s"
[hosts]
a = {}
b = {}
[links.wire]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "1 ms"
[workloads.call.cbr]
from = "a"
to = "b"
rate = "64 kbit/s"
packet = "200 B"
[workloads.web.transfers]
client = "a"
server = "b"
rate = "20 /s"
request.constant = "300 B"
reply.constant = "2 KB"
[measure]
ports = ["a->b"]
"#;

    fn run(point: &PointOfRun) -> Replica {
        shortflow_sim::run_replica(&point.scenario, 0, None, |_| true).unwrap().replica
    }

    fn point(run: &str, x: f64, set: &[(&str, &str)]) -> PointOfRun {
        let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let overrides = shortflow_scenario::Overrides { set: set.collect(), ..Default::default() };
        let loaded = shortflow_scenario::from_texts(&[("two.toml", SCENARIO)], &overrides).unwrap();
        let scenario = loaded.points()[0].scenario.clone();
        let (run, place, distributions) = (run.to_owned(), String::new(), Vec::new());
        let (replaying, replays, items) = (None, None, Vec::new());
        PointOfRun { run, x, scenario, replaying, place, replays, distributions, items }
    }

    /// What files leave out.
    fn forget_distributions(workload: &mut WorkloadResult) {
        for class in workload.classes.iter_mut().chain([&mut workload.all]) {
            class.times = Survival::default();
        }
    }

    #[test]
    fn a_finished_replica_is_found_again_and_not_under_other_inputs() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Folder::create(home.path()).unwrap(), "engine 1");
        let first = point("run", 0.6, &[("measure.series_interval", "0.25 s")]);
        assert_eq!(cache.read(&first, 0), None);
        let mut replica = run(&first);
        assert!(!replica.series.is_empty());
        cache.write(&first, 0, &replica, Vec::new()).unwrap();
        replica.workloads.iter_mut().for_each(forget_distributions);
        assert_eq!(cache.read(&first, 0), Some(replica.into()));
        assert_eq!(cache.read(&first, 1), None, "another replica");
        let kept = |number| home.path().join(name(&first, number));
        std::fs::copy(kept(0), kept(1)).unwrap();
        assert_eq!(cache.read(&first, 1), None, "a copy of the first");
        assert_eq!(cache.read(&point("run", 0.65, &[]), 0), None, "another point");
        assert_eq!(cache.read(&point("run", 0.6, &[("seed", "2")]), 0), None, "another input");
        let other = Cache::open(Folder::create(home.path()).unwrap(), "engine 2");
        assert_eq!(other.read(&first, 0), None, "another engine");
    }

    #[test]
    fn numbers_come_back_to_the_bit() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::create(home.path()).unwrap();
        let numbers: Vec<f64> = (1..10_000).map(|i| f64::from(i).sqrt() / 3.0).collect();
        folder.write_json("numbers.json", &numbers).unwrap();
        let read: Vec<f64> = folder.read_json("numbers.json").unwrap();
        assert_eq!(read, numbers);
    }

    #[test]
    fn only_the_distributions_that_a_figure_shows_are_kept() {
        let figures: Vec<FigureSpec> = vec![toml::from_str(FIGURE).unwrap()];
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::open(Folder::create(home.path()).unwrap(), "engine 1");
        let plain = point("run", 0.6, &[]);
        let distributions = Distribution::shown(&figures, "run", 0.6);
        let shown = PointOfRun { distributions, ..point("run", 0.6, &[]) };
        let replica = run(&plain);
        let n = |kept: &Replica| {
            let web = kept.workload("web").unwrap();
            (web.all.times.n(), web.classes[0].times.n())
        };
        let all = replica.workload("web").unwrap().all.completion.n();
        assert!(all > 5);

        cache.write(&plain, 0, &replica, Vec::new()).unwrap();
        assert_eq!(cache.read(&plain, 0).map(|kept| n(&kept)), Some((0, 0)));
        assert_eq!(cache.read(&shown, 0), None, "kept before the figure was wanted");
        cache.write(&shown, 0, &replica, Vec::new()).unwrap();
        assert_eq!(cache.read(&shown, 0).map(|kept| n(&kept)), Some((all, 0)));
        let mut finished = replica;
        Distribution::forget_others(&shown.distributions, &mut finished);
        assert_eq!(n(&finished), (all, 0), "in memory too");
        assert!(Distribution::shown(&figures, "run", 0.65).is_empty(), "another point");
        assert!(Distribution::shown(&figures, "other", 0.6).is_empty(), "another run");
    }
}
