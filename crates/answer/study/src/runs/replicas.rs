//! The replicas of all runs in one variant: those that exist, and how to make more.

use shortflow_measure::{TransferSink, results};
use shortflow_run::{self as run, Measured, Observer, Outcome, Task, TimingError, run_tasks};

use super::bench::Bench;
use super::data::Data;
use super::distribution::Distribution;
use super::paired_transfers;
use super::points::{Maker, PointOfRun};
use super::replay::replay;
use super::stored_replica::StoredReplica;
use super::wanted::Wanted;
use crate::error::Error;
use crate::spec::{RunSpec, Variant, is_same};

/// All runs in one variant: their points, and what came of them so far.
pub(crate) struct Runs<'s> {
    maker: &'s Maker<'s>,
    variant: Variant,
    points: Vec<PointOfRun>,
    /// The replicas of each point in their order, as many as there are.
    data: Data,
}

impl<'s> Runs<'s> {
    /// No replica yet.
    pub(crate) fn new(maker: &'s Maker<'s>, variant: Variant) -> Runs<'s> {
        Runs { maker, variant, points: Vec::new(), data: Data::default() }
    }

    /// What came of them so far.
    pub(crate) fn data(&self) -> &Data {
        &self.data
    }

    /// The points that were wanted so far.
    pub(crate) fn points(&self) -> &[PointOfRun] {
        &self.points
    }

    /// The most replicas that there can be of any point.
    pub(crate) fn max_replicas(&self) -> u32 {
        self.maker.max_replicas()
    }

    /// The changes under which they are run.
    pub(crate) fn variant(&self) -> &Variant {
        &self.variant
    }

    /// Sees to it that there are as many replicas as wanted: those kept from before, and those run
    /// now, first of the runs that draw their own requests, then of those that replay them. False when
    /// it was interrupted.
    ///
    /// # Errors
    /// When a scenario is mistaken, a replica fails, or results cannot be kept.
    pub(crate) fn raise(&mut self, wanted: &Wanted, bench: &mut Bench<'_>) -> Result<bool, Error> {
        let mut absent = self.absent(wanted, bench)?;
        let count: usize = absent.iter().map(|(_, of_point)| of_point.absent().count()).sum();
        bench.progress.begins(count, bench.finished);
        for replays in [false, true] {
            if replays {
                self.hand_over_requests(&absent)?;
            }
            let is_due = |at: usize| self.points[at].replays.is_some() == replays;
            let due: Vec<(usize, u32)> = absent
                .iter()
                .filter(|(at, _)| is_due(*at))
                .flat_map(|(at, of_point)| of_point.absent().map(|number| (*at, number)))
                .collect();
            let outcomes = self.run(&due, bench)?;
            for (outcome, (at, number)) in outcomes.into_iter().zip(&due) {
                let place = absent.iter_mut().find(|(of, _)| of == at);
                let (_, of_point) = place.expect("it was absent there");
                match outcome {
                    Ok(outcome) => match outcome.measured {
                        Measured::Replica(replica) => {
                            let point = &self.points[*at];
                            let kept = match point.items.is_empty() {
                                true => None,
                                false => bench.cache.read(point, *number),
                            };
                            let found = kept.unwrap_or_else(|| StoredReplica::from(*replica));
                            of_point.found(*number, found);
                        }
                        Measured::Means(_) => {
                            return Err(Error::MeansOnly { engine: bench.engine.name() });
                        }
                    },
                    Err(run::Error::Interrupted) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            // Only what follows without a gap counts: the others are kept and found the next time.
            let mut is_complete = true;
            for (at, of_point) in absent.iter_mut().filter(|(at, _)| is_due(*at)) {
                let point = &self.points[*at];
                is_complete &= of_point.is_complete();
                bench.finished += of_point.finished();
                self.data.extend(&point.run, point.x, of_point.take_prefix());
            }
            if !is_complete {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The points of which more replicas are wanted than there are, and which of these are kept.
    fn absent(
        &mut self,
        wanted: &Wanted,
        bench: &mut Bench<'_>,
    ) -> Result<Vec<(usize, OfPoint)>, Error> {
        let mut all = wanted.clone();
        for (name, x, replicas) in wanted.iter() {
            let Some(accesses) = self.spec(name).and_then(|run| run.accesses.as_ref()) else {
                continue;
            };
            all.add(&accesses.run, accesses.x.unwrap_or(x), replicas);
        }
        let mut absent = Vec::new();
        for run in &self.maker.study.runs {
            for (_, x, replicas) in all.iter().filter(|(name, ..)| *name == run.name) {
                let at = self.place(run, x)?;
                let point = &self.points[at];
                let first =
                    self.data.replicas(&run.name, x).map_or(0, <[StoredReplica]>::len) as u32;
                let max = self.maker.max_replicas().min(run.at_most.unwrap_or(u32::MAX));
                let numbers: Vec<u32> =
                    (first..replicas.min(max)).map(|place| self.maker.number(place)).collect();
                if !numbers.is_empty() {
                    absent.push((at, OfPoint::kept(point, numbers, bench)));
                }
            }
        }
        Ok(absent)
    }

    fn spec(&self, name: &str) -> Option<&'s RunSpec> {
        self.maker.study.run(name)
    }

    /// Where `run` at `x` is among the points, which it is from now on.
    fn place(&mut self, run: &RunSpec, x: f64) -> Result<usize, Error> {
        let is_it = |point: &PointOfRun| point.run == run.name && is_same(point.x, x);
        if let Some(at) = self.points.iter().position(is_it) {
            return Ok(at);
        }
        self.points.push(self.maker.point(run, x, &self.variant)?);
        Ok(self.points.len() - 1)
    }

    /// Gives each point that replays requests, and is still to be run, those that were drawn for it.
    fn hand_over_requests(&mut self, absent: &[(usize, OfPoint)]) -> Result<(), Error> {
        for (at, _) in absent {
            let point = &mut self.points[*at];
            let Some((run, x, busy)) = &point.replays else { continue };
            let drawn = self.data.replicas(run, *x).unwrap_or_default();
            let numbered =
                (0..).zip(drawn).map(|(place, drawn)| (self.maker.number(place), &drawn.replica));
            // Each time anew from the scenario as it is written: there may be more to replay.
            let mut replaying = point.scenario.clone();
            replay(&mut replaying, numbered, (*busy).into())
                .map_err(|message| Error::Requests { run: point.run.clone(), message })?;
            point.replaying = Some(replaying);
        }
        Ok(())
    }

    fn run(
        &self,
        due: &[(usize, u32)],
        bench: &Bench<'_>,
    ) -> Result<Vec<Result<Outcome, run::Error>>, Error> {
        let task =
            |&(at, replica): &(usize, u32)| Task { scenario: self.points[at].to_run(), replica };
        let tasks: Vec<Task<'_>> = due.iter().map(task).collect();
        let keeps_items = due.iter().any(|(at, _)| !self.points[*at].items.is_empty());
        let folder = bench.cache.folder().path();
        let transfers = keeps_items.then(|| tempfile::tempdir_in(folder)).transpose();
        let transfers = transfers.map_err(|source| {
            let path = folder.to_owned();
            results::Error::Io { action: "write", path, source }
        })?;
        let keeper = Keeper { points: &self.points, due, bench, transfers };
        Ok(run_tasks(bench.engine, &tasks, bench.threads, bench.stop, &keeper))
    }
}

/// Replicas of a point with their numbers, of which some are there.
struct OfPoint(Vec<(u32, Option<StoredReplica>)>);

impl OfPoint {
    /// Those of `numbers` that are kept from before.
    fn kept(point: &PointOfRun, numbers: Vec<u32>, bench: &mut Bench<'_>) -> OfPoint {
        let read = |number| {
            let found = bench.cache.read(point, number);
            bench.stale += usize::from(found.is_none() && bench.cache.has(point, number));
            (number, found)
        };
        OfPoint(numbers.into_iter().map(read).collect())
    }

    /// The numbers of those that are not there.
    fn absent(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().filter(|(_, found)| found.is_none()).map(|(number, _)| *number)
    }

    fn found(&mut self, number: u32, replica: StoredReplica) {
        if let Some((_, place)) = self.0.iter_mut().find(|(of, _)| *of == number) {
            *place = Some(replica);
        }
    }

    fn finished(&self) -> usize {
        self.0.iter().filter(|(_, found)| found.is_some()).count()
    }

    fn is_complete(&self) -> bool {
        self.finished() == self.0.len()
    }

    /// Those before the first that is not there.
    fn take_prefix(&mut self) -> Vec<StoredReplica> {
        self.0.iter_mut().map_while(|(_, found)| found.take()).collect()
    }
}

/// Keeps each replica as soon as it is finished.
struct Keeper<'a, 'b> {
    points: &'a [PointOfRun],
    due: &'a [(usize, u32)],
    bench: &'a Bench<'b>,
    /// Where transfers are written that are compared with those of other runs: a folder of this process next to the
    /// replicas, which is removed at the end.
    transfers: Option<tempfile::TempDir>,
}

impl Observer for Keeper<'_, '_> {
    fn transfers(&self, task: usize) -> Result<Option<TransferSink>, run::Error> {
        let (at, number) = self.due[task];
        let point = &self.points[at];
        match &self.transfers {
            Some(folder) if !point.items.is_empty() => {
                Ok(Some(paired_transfers::sink(folder.path(), point.to_run(), at, number)?))
            }
            _ => Ok(None),
        }
    }

    fn advanced(&self, _: usize, share: f64) {
        self.bench.progress.advanced(share);
    }

    fn completed(&self, task: usize, outcome: &mut Outcome) -> Result<(), run::Error> {
        let (at, number) = self.due[task];
        if let Some(late) = outcome.timing.as_ref().and_then(TimingError::warning) {
            return Err(run::Error::Machine(late.message));
        }
        if let Measured::Replica(replica) = &mut outcome.measured {
            let point = &self.points[at];
            let items = match (&self.transfers, point.items.as_slice()) {
                (Some(folder), wanted @ [_, ..]) => {
                    paired_transfers::take(folder.path(), at, number, wanted, replica)?
                }
                _ => Vec::new(),
            };
            self.bench.cache.write(point, number, replica, items)?;
            Distribution::forget_others(&self.points[at].distributions, replica);
        }
        self.bench.progress.completed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use shortflow_measure::results::Folder;
    use shortflow_run::Progress;
    use shortflow_sim::Simulator;

    use super::*;
    use crate::runs::cache::Cache;
    use crate::spec::{Study, StudyFiles};

    const STUDY: &str = r#"
title = "the same pages over a fast and a slow link"
full = { looks = [2], duration = "20 s" }
quick = { looks = [2], duration = "20 s" }

[[runs]]
name = "draw"
scenario = "two.toml"
policy = "none.toml"
sweep = ["parameters.think"]
values = [1, 2]

[[runs]]
name = "slow"
scenario = "two.toml"
policy = "none.toml"
set = ["links.wire.rate=0.1 Mbit/s", "measure.accesses=true"]
sweep = ["parameters.think"]
values = [1, 2]
accesses = { run = "draw" }
"#;

    const SCENARIO: &str = r#"
name = "two hosts"
duration = "20 s"
[parameters]
think = 1
[hosts]
a = {}
b = {}
[links.wire]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "1 ms"
[[bind]]
role = "core"
at = "b"
to = "a"
[workloads.web.web]
client = "a"
server = "b"
sessions = 3
http = "1.0"
request.constant = "300 B"
page.index.exponential = { mean = "3 KB" }
page.objects.uniform = { min = 0, max = 4 }
page.object.exponential = { mean = "5 KB" }
think.exponential = { mean = "= think s" }
"#;

    static FILES: StudyFiles = StudyFiles::new(
        "two",
        &[
            ("study.toml", STUDY),
            ("two.toml", SCENARIO),
            ("none.toml", "name = \"none\"\n[roles.core]\n"),
        ],
    );

    /// Raises the flag after so many replicas.
    struct StopAfter<'a>(AtomicUsize, &'a AtomicBool);

    impl Progress for StopAfter<'_> {
        fn begins(&self, _: usize, _: usize) {}
        fn advanced(&self, _: f64) {}
        fn completed(&self) {
            if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.1.store(true, Ordering::Relaxed);
            }
        }
    }

    /// What came of so many replicas of each point, as `run@x` with its replicas.
    struct Came {
        points: Vec<(String, Vec<StoredReplica>)>,
        finished: usize,
        stale: usize,
    }

    /// By an engine of this identity, two replicas of each point.
    fn run_by(engine: &str, home: &Path, replicas_until_stop: usize) -> Came {
        let study: Study = toml::from_str(STUDY).unwrap();
        let cache = Cache::open(Folder::create(home).unwrap(), engine);
        let maker = Maker::new(&FILES, &study, &study.full.duration, engine);
        let mut runs = Runs::new(&maker, Variant::default());
        let mut wanted = Wanted::default();
        for run in &study.runs {
            run.values.iter().for_each(|x| wanted.add(&run.name, *x, 2));
        }
        let stop = AtomicBool::new(false);
        let progress = StopAfter(replicas_until_stop.into(), &stop);
        let mut bench = Bench {
            engine: &Simulator,
            cache,
            threads: 1,
            stop: &stop,
            progress: &progress,
            finished: 0,
            stale: 0,
        };
        runs.raise(&wanted, &mut bench).unwrap_or_else(|e| panic!("{e}"));
        let of = |point: &PointOfRun| {
            let replicas = runs.data().replicas(&point.run, point.x).unwrap_or_default();
            (format!("{}@{}", point.run, point.x), replicas.to_vec())
        };
        let points = runs.points().iter().map(of).collect();
        Came { points, finished: bench.finished, stale: bench.stale }
    }

    fn run(home: &Path, replicas_until_stop: usize) -> Came {
        run_by("1", home, replicas_until_stop)
    }

    #[test]
    fn a_run_replays_replica_by_replica_what_another_asked_for_at_the_same_point() {
        let home = tempfile::tempdir().unwrap();
        let found = run(home.path(), usize::MAX).points;
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["draw@1", "draw@2", "slow@1", "slow@2"]);
        let asked = |point: usize, replica: usize| &found[point].1[replica].accesses["web"];
        for replica in [0, 1] {
            assert_eq!(asked(0, replica), asked(2, replica));
            assert_eq!(asked(1, replica), asked(3, replica));
            assert!(
                asked(0, replica).len() > asked(1, replica).len(),
                "longer pauses, fewer pages"
            );
        }
        assert_ne!(asked(0, 0), asked(0, 1));
    }

    #[test]
    fn kept_replicas_of_another_engine_are_counted_as_stale() {
        let home = tempfile::tempdir().unwrap();
        let stale = |engine: &str| run_by(engine, home.path(), usize::MAX).stale;
        assert_eq!([stale("1"), stale("1"), stale("2"), stale("2")], [0, 0, 8, 0]);
    }

    #[test]
    fn what_was_interrupted_while_it_drew_goes_on_from_there_to_the_same_result() {
        let home = tempfile::tempdir().unwrap();
        let at_once = run(home.path(), usize::MAX);
        let home = tempfile::tempdir().unwrap();
        for finished in [3, 6, 8] {
            assert_eq!(run(home.path(), 3).finished, finished);
        }
        let resumed = run(home.path(), usize::MAX);
        // All but the distributions, which files leave out.
        let means = |found: &Came| -> Vec<Option<shortflow_measure::Reading>> {
            let all = found.points.iter().flat_map(|(_, replicas)| replicas);
            all.map(|replica| replica.workload("web").unwrap().all.mean()).collect()
        };
        assert_eq!(means(&resumed), means(&at_once));
    }

    #[test]
    fn more_replicas_are_run_and_those_that_there_are_stay() {
        let home = tempfile::tempdir().unwrap();
        let study: Study = toml::from_str(STUDY).unwrap();
        let cache = Cache::open(Folder::create(home.path()).unwrap(), "1");
        let maker = Maker::new(&FILES, &study, &study.full.duration, "1");
        let mut runs = Runs::new(&maker, Variant::default());
        let stop = AtomicBool::new(false);
        let (engine, threads, progress) = (&Simulator, 1, &());
        let mut bench =
            Bench { engine, cache, threads, stop: &stop, progress, finished: 0, stale: 0 };
        let mut raise = |run: &str, replicas| {
            let mut wanted = Wanted::default();
            wanted.add(run, 1.0, replicas);
            assert!(runs.raise(&wanted, &mut bench).unwrap());
            ["draw", "slow"].map(|run| runs.data().replicas(run, 1.0).map_or(0, <[_]>::len))
        };
        assert_eq!(raise("draw", 1), [1, 0]);
        assert_eq!(raise("slow", 1), [1, 1], "what it replays is drawn first");
        assert_eq!(raise("slow", 3), [3, 3]);
        assert_eq!(raise("draw", 1), [3, 3]);
        let asked = |run: &str, replica: usize| {
            runs.data().replicas(run, 1.0).unwrap()[replica].accesses["web"].clone()
        };
        for replica in 0..3 {
            assert_eq!(asked("draw", replica), asked("slow", replica), "of the same number");
        }
    }
}
