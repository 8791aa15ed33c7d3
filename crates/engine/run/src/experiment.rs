//! An experiment: all replicas of all points of all cases.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use shortflow_measure::results::{Ended, Folder, Kept, Store};
use shortflow_measure::{RowNames, Run, TcpSample, TcpSink, TransferSink};
use shortflow_scenario::Scenario;
use shortflow_units::Duration;

use crate::case::Case;
use crate::engine::{Error, Job, Outcome, Task, TcpInfoLog};
use crate::observe::{Observer, Progress};
use crate::output::OutputFolder;
use crate::parallel::run_jobs;
use crate::replicas::ReplicaNumbers;
use crate::results::{Results, TaskIndex, gather};
use crate::tap::Tap;

/// Starts to observe the packets of a run.
pub type StartTap<'e> = dyn Fn(&Scenario) -> Result<Box<dyn Tap>, Error> + Sync + 'e;

/// When the state of TCP senders is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpInfoTimes {
    /// At the end of each transfer.
    Ends,
    /// Also at this interval.
    Every(Duration),
}

impl fmt::Display for TcpInfoTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpInfoTimes::Ends => f.write_str("end"),
            TcpInfoTimes::Every(interval) => interval.fmt(f),
        }
    }
}

/// The settings of an experiment. All cases have the same scenario file.
pub struct Experiment<'e> {
    /// The cases, with their engines.
    pub cases: &'e [Case<'e>],
    /// Which replicas run, under each case.
    pub numbers: &'e ReplicaNumbers,
    /// The number of threads; 0 is one per core.
    pub threads: usize,
    /// Whether single transfers are recorded.
    pub keeps_transfers: bool,
    /// Whether the state of TCP senders is recorded, and when.
    pub tcp_info: Option<TcpInfoTimes>,
    /// Observes packets. Then there must be only one task.
    pub tap: Option<&'e StartTap<'e>>,
    /// What produces the results, for the manifest.
    pub origin: Origin<'e>,
}

/// What ends a replica early, and what an error of one does to the others.
#[derive(Clone, Copy, Default)]
pub struct Limits<'l> {
    /// The longest time for a replica.
    pub time: Option<TimeLimit<'l>>,
    /// The time from the first replica on after which no other begins: the run ends as if interrupted, with those complete that have
    /// begun.
    pub pause: Option<TimeLimit<'l>>,
    /// Whether any error of a replica is recorded as a failure of its point, and the others run; else errors of the machine end all.
    pub records_errors: bool,
}

/// A limit of time.
#[derive(Clone, Copy)]
pub struct TimeLimit<'l> {
    /// How long something may take, of the machine's time.
    pub most: Duration,
    /// The machine's time since some instant.
    pub clock: &'l (dyn Fn() -> Duration + Sync),
}

/// The results of an experiment without files.
#[derive(Debug)]
pub struct InMemory {
    /// The results.
    pub results: Results,
    /// The single transfers of each case; none unless they are recorded.
    pub transfers: Vec<Vec<Kept<Ended>>>,
    /// The states of TCP senders in each case; none unless they are recorded.
    pub tcp_info: Vec<Vec<Kept<TcpSample>>>,
}

/// What produces results: a program, and the command line that it was given.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'e> {
    /// The version of the program, with its commit if it is known.
    pub version: &'e str,
    /// The command line.
    pub command: &'e str,
}

impl Experiment<'_> {
    /// Runs all tasks until `stop` is true, and writes results and their files into `output`. Other files,
    /// such as a report, can be added before it is published.
    ///
    /// # Errors
    /// The first error of a task; [`Error::Interrupted`] if nothing is complete.
    pub fn run(
        &self,
        output: &OutputFolder,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Results, Error> {
        self.run_within(Limits::default(), output, stop, progress)
    }

    /// The same within limits.
    ///
    /// # Errors
    /// As [`run`](Self::run), except for errors that are recorded.
    pub fn run_within(
        &self,
        limits: Limits<'_>,
        output: &OutputFolder,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<Results, Error> {
        let folders = self.cases.iter().map(|case| output.folder(case.folder.as_deref()));
        let files = Rows::Files(folders.collect::<Result<_, _>>()?);
        let (results, places, ends) = self.run_into(&files, limits, stop, progress)?;
        files.remove_orphans(&places, &ends)?;
        Ok(results)
    }

    /// The same without any file: transfers and states of TCP senders are kept in memory.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in_memory(
        &self,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<InMemory, Error> {
        self.run_in_memory_within(Limits::default(), stop, progress)
    }

    /// The same within limits.
    ///
    /// # Errors
    /// As [`run_within`](Self::run_within).
    pub fn run_in_memory_within(
        &self,
        limits: Limits<'_>,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<InMemory, Error> {
        let stores: Vec<(Store<Ended>, Store<TcpSample>)> =
            self.cases.iter().map(|_| Default::default()).collect();
        let rows = Rows::Memory(stores.clone());
        let (results, ..) = self.run_into(&rows, limits, stop, progress)?;
        let kept = stores.iter().zip(&results.runs);
        let kept =
            kept.map(|(stores, run)| (of_results(&stores.0, run), of_results(&stores.1, run)));
        let (transfers, tcp_info) = kept.unzip();
        Ok(InMemory { results, transfers, tcp_info })
    }

    /// Runs all tasks, and says how they ended.
    fn run_into(
        &self,
        rows: &Rows,
        limits: Limits<'_>,
        stop: &AtomicBool,
        progress: &dyn Progress,
    ) -> Result<(Results, Vec<TaskIndex>, Vec<End>), Error> {
        let places = places(self.cases.len(), self.numbers);
        let job = |place: &TaskIndex| {
            let case = &self.cases[place.case];
            let scenario = &case.loaded.points()[place.point].scenario;
            Job { engine: case.engine, task: Task { scenario, replica: place.replica } }
        };
        let jobs: Vec<Job<'_>> = places.iter().map(job).collect();
        let watch = Watch {
            progress,
            rows,
            limits,
            has_begun: AtomicBool::new(false),
            begun: OnceLock::new(),
            paused: jobs.iter().map(|_| OnceLock::new()).collect(),
            started: jobs.iter().map(|_| OnceLock::new()).collect(),
            keeps_transfers: self.keeps_transfers,
            tcp_info: self.tcp_info,
            tap: self.tap,
            cases: self.cases,
            places: &places,
            jobs: &jobs,
        };
        progress.begins(jobs.len(), 0);
        let outcomes = run_jobs(&jobs, self.threads, stop, &watch);
        // Nothing begins where an engine refuses a scenario: the reason is the result, and nothing is left to be resumed.
        let refused = outcomes.iter().find_map(|outcome| match outcome {
            Err(Error::Refused(why)) => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = refused.filter(|_| !watch.has_begun.load(Ordering::Relaxed)) {
            return Err(Error::Refused(why));
        }
        let records = limits.records_errors;
        let ends = outcomes.iter().map(|outcome| End::from_outcome(outcome, records));
        let ends: Vec<End> = ends.collect();
        let results = gather(self.cases, self.numbers, &places, outcomes, self.origin, records)?;
        Ok((results, places, ends))
    }
}

/// The records of those replicas that are in the results.
fn of_results<T>(store: &Store<T>, run: &Run) -> Vec<Kept<T>> {
    let mut kept = store.take();
    kept.retain(|one| {
        let replicas = &run.points[one.point].replicas;
        replicas.iter().any(|replica| replica.number == one.replica)
    });
    kept
}

/// All replicas: each replica of each point under all cases in turn. After an interruption the complete ones
/// can then be compared.
fn places(cases: usize, numbers: &[Vec<u32>]) -> Vec<TaskIndex> {
    let most = numbers.iter().map(Vec::len).max().unwrap_or(0);
    let mut places = Vec::new();
    for at in 0..most {
        for (point, numbers) in numbers.iter().enumerate() {
            let Some(&replica) = numbers.get(at) else { continue };
            places.extend((0..cases).map(|case| TaskIndex { case, point, replica, at }));
        }
    }
    places
}

/// Where the rows of transfers and connections are kept, for each case.
enum Rows {
    /// In files of these folders.
    Files(Vec<Folder>),
    /// In memory.
    Memory(Vec<(Store<Ended>, Store<TcpSample>)>),
}

impl Rows {
    /// Removes the rows of transfers and connections of replicas without results: those that an interruption
    /// left complete in only some cases, and those of points that failed.
    fn remove_orphans(&self, places: &[TaskIndex], ends: &[End]) -> Result<(), Error> {
        let Rows::Files(folders) = self else { return Ok(()) };
        let tasks = || places.iter().zip(ends);
        let failed: BTreeSet<(usize, usize)> = tasks()
            .filter(|(_, end)| **end == End::Failed)
            .map(|(p, _)| (p.case, p.point))
            .collect();
        let has_failed = |place: &TaskIndex| failed.contains(&(place.case, place.point));
        let lacking: BTreeSet<(usize, u32)> = tasks()
            .filter(|(place, end)| **end != End::Complete && !has_failed(place))
            .map(|(place, _)| (place.point, place.replica))
            .collect();
        for (place, _) in tasks().filter(|(_, end)| **end == End::Complete) {
            if has_failed(place) || lacking.contains(&(place.point, place.replica)) {
                let folder = &folders[place.case];
                TransferSink::remove(folder, place.point, place.replica)?;
                TcpSink::remove(folder, place.point, place.replica)?;
            }
        }
        Ok(())
    }
}

/// Handles events of running replicas.
struct Watch<'w> {
    progress: &'w dyn Progress,
    rows: &'w Rows,
    limits: Limits<'w>,
    /// Whether a task has begun.
    has_begun: AtomicBool,
    /// When the first replica began, by the clock of the pause.
    begun: OnceLock<Duration>,
    /// Whether the pause had begun before the replica of each task, at its first task.
    paused: Vec<OnceLock<bool>>,
    /// When each task began, by the clock of the time limit.
    started: Vec<OnceLock<Duration>>,
    keeps_transfers: bool,
    tcp_info: Option<TcpInfoTimes>,
    tap: Option<&'w StartTap<'w>>,
    cases: &'w [Case<'w>],
    places: &'w [TaskIndex],
    jobs: &'w [Job<'w>],
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// The engine found something in the scenario that it cannot do.
    Failed,
    /// It was interrupted, or the machine failed.
    Stopped,
}

impl End {
    fn from_outcome(outcome: &Result<Outcome, Error>, records_errors: bool) -> End {
        match outcome {
            Ok(_) => End::Complete,
            Err(Error::Refused(_) | Error::TimeLimit(_)) => End::Failed,
            Err(Error::Interrupted) => End::Stopped,
            Err(_) if records_errors => End::Failed,
            Err(_) => End::Stopped,
        }
    }
}

impl Observer for Watch<'_> {
    fn transfers(&self, task: usize) -> Result<Option<TransferSink>, Error> {
        if !self.keeps_transfers {
            return Ok(None);
        }
        let TaskIndex { case, point, replica, .. } = self.places[task];
        let names = row_names(self.jobs[task].task.scenario, &self.cases[case].label);
        Ok(Some(match self.rows {
            Rows::Files(folders) => TransferSink::create(&folders[case], point, replica, names)?,
            Rows::Memory(stores) => TransferSink::in_memory(&stores[case].0, point, replica, names),
        }))
    }

    fn tcp_info(&self, task: usize) -> Result<Option<TcpInfoLog>, Error> {
        let Some(times) = self.tcp_info else { return Ok(None) };
        let TaskIndex { case, point, replica, .. } = self.places[task];
        let names = row_names(self.jobs[task].task.scenario, &self.cases[case].label);
        let sink = match self.rows {
            Rows::Files(folders) => TcpSink::create(&folders[case], point, replica, names)?,
            Rows::Memory(stores) => TcpSink::in_memory(&stores[case].1, point, replica, names),
        };
        let every = match times {
            TcpInfoTimes::Ends => None,
            TcpInfoTimes::Every(interval) => Some(interval),
        };
        Ok(Some(TcpInfoLog { sink, every }))
    }

    fn tap(&self, task: usize) -> Result<Option<Box<dyn Tap>>, Error> {
        self.tap.map(|start| start(self.jobs[task].task.scenario)).transpose()
    }

    fn check(&self, task: usize) -> Result<(), Error> {
        self.has_begun.store(true, Ordering::Relaxed);
        if let Some(TimeLimit { most, clock }) = self.limits.pause {
            // The tasks of a replica under all cases stand one after another: all run, or none.
            let first = task - self.places[task].case;
            // Time counts from the first replica on, so that one runs however short the time and busy the machine.
            let now = clock();
            let begun = *self.begun.get_or_init(|| now);
            if *self.paused[first].get_or_init(|| now.saturating_sub(begun) > most) {
                return Err(Error::Interrupted);
            }
        }
        let Some(TimeLimit { most, clock }) = self.limits.time else { return Ok(()) };
        let now = clock();
        let started = *self.started[task].get_or_init(|| now);
        if now.saturating_sub(started) <= most {
            return Ok(());
        }
        Err(Error::TimeLimit(format!("it took longer than the time limit of {most}")))
    }

    fn ends_all(&self, error: &Error) -> bool {
        let is_ours = matches!(error, Error::Interrupted | Error::Refused(_) | Error::TimeLimit(_));
        !is_ours && !self.limits.records_errors
    }

    fn advanced(&self, _: usize, share: f64) {
        self.progress.advanced(share);
    }

    fn completed(&self, _: usize, _: &mut Outcome) -> Result<(), Error> {
        self.progress.completed();
        Ok(())
    }
}

/// The names in the rows of `transfers-*.csv`.
fn row_names(scenario: &Scenario, policy: &str) -> RowNames {
    let rows = scenario.result_rows();
    RowNames {
        policy: policy.to_owned(),
        labels: rows.iter().map(|row| scenario.workloads[row.workload].label.clone()).collect(),
        workloads: rows.into_iter().map(|row| row.name).collect(),
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
    }
}
