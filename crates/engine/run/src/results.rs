//! Combines the results of tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use shortflow_measure::results::{Input, Setting, Sweep, Timing};
use shortflow_measure::{Manifest, Point, Run, Warning, WarningKind, warnings};
use shortflow_scenario::Scenario;
use shortflow_units::Duration;

use crate::case::{Case, folder_name};
use crate::class_use::ClassUse;
use crate::engine::{Error, Measured, Outcome, Refusal, Stalls, TimingError};
use crate::experiment::Origin;
use crate::join::missing_replicas;

/// The index of a task: point, case and replica.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskIndex {
    pub(crate) case: usize,
    pub(crate) point: usize,
    /// Its number.
    pub(crate) replica: u32,
    /// Its position among the replicas that run at this point.
    pub(crate) at: usize,
}

/// The results of an experiment.
#[derive(Debug)]
pub struct Results {
    /// One for each case, in order.
    pub runs: Vec<Run>,
    /// What is complete, if there was an interruption or a failure.
    pub interruption: Option<Interruption>,
    /// The first error of a replica, after which the others did not run.
    pub failure: Option<Error>,
}

impl Results {
    /// The number of points without results because they failed, over all cases.
    pub fn failed_points(&self) -> usize {
        let points = self.runs.iter().flat_map(|run| &run.points);
        points.filter(|point| point.has_failed()).count()
    }

    /// Whether all results are on time, and so can be trusted.
    pub fn are_trusted(&self) -> bool {
        let mut timings = self.runs.iter().filter_map(|run| run.manifest.timing);
        timings.all(|timing| TimingError::from(timing).is_trusted())
    }
}

/// The replicas that are complete after an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// How many are complete in all cases.
    pub kept: usize,
    /// How many were planned.
    pub all: usize,
}

/// Combines the results of tasks. After an interruption or an error, a point keeps the replicas that are
/// complete in all cases, so that they can be compared.
///
/// # Errors
/// If every point failed: the first reason. If nothing is complete: the first error of a task, or
/// [`Error::Interrupted`].
pub(crate) fn gather(
    cases: &[Case<'_>],
    numbers: &[Vec<u32>],
    places: &[TaskIndex],
    outcomes: Vec<Result<Outcome, Error>>,
    origin: Origin<'_>,
    records_errors: bool,
) -> Result<Results, Error> {
    let mut complete = Complete::new(cases.len(), numbers);
    let (mut failure, mut failed) = (None, FailedPoints::new());
    for (place, outcome) in places.iter().zip(outcomes) {
        match outcome {
            Ok(mut outcome) => {
                failure = failure.or(outcome.failure.take());
                complete.put(*place, outcome);
            }
            Err(Error::Interrupted) => {}
            // The reason of the first replica, so that it does not depend on the number of threads.
            Err(error @ (Error::Refused(_) | Error::TimeLimit(_))) => {
                let found = PointFailure::new(place.replica, &error);
                failed.entry((place.case, place.point)).or_insert(found);
            }
            Err(error) if records_errors => {
                let found = PointFailure::new(place.replica, &error);
                failed.entry((place.case, place.point)).or_insert(found);
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(first) = complete.all_failed(&failed)
        && !records_errors
    {
        return Err(failure.unwrap_or_else(|| first.error()));
    }
    let kept = complete.kept(&failed);
    let interruption = match (kept.iter().map(Vec::len).sum(), complete.expected(&failed)) {
        (kept, all) if kept == all => None,
        (0, _) if failed.is_empty() => return Err(failure.unwrap_or(Error::Interrupted)),
        (kept, all) => Some(Interruption { kept, all }),
    };
    let runs = cases.iter().enumerate().map(|(at, case)| {
        let timing = complete.timing(at, &kept);
        let points = complete.take_points(at, case, &kept, &failed);
        let manifest = Manifest { timing, ..manifest(case, &points, origin) };
        let mut run = Run::new(manifest, points);
        run.manifest.warnings = warnings(std::slice::from_ref(&run));
        run
    });
    Ok(Results { runs: runs.collect(), interruption, failure })
}

/// The points that failed, by case and point, with the reason. A point with a failed replica has no results,
/// because the other replicas would be a biased sample.
pub(crate) type FailedPoints = BTreeMap<(usize, usize), PointFailure>;

/// Why a point failed.
#[derive(Debug, Clone)]
pub(crate) struct PointFailure {
    replica: u32,
    kind: WarningKind,
    reason: String,
}

impl PointFailure {
    /// From the error of a replica.
    fn new(replica: u32, error: &Error) -> PointFailure {
        let (kind, reason) = match error {
            Error::Refused(Refusal(why)) => (WarningKind::Failed, why.clone()),
            error => (WarningKind::Stopped, format!("replica {replica}: {error}")),
        };
        PointFailure { replica, kind, reason }
    }

    /// The error of a run in which all points failed, for the first of these reasons.
    fn error(self) -> Error {
        match self.kind {
            WarningKind::Stopped => Error::TimeLimit(self.reason),
            _ => Error::Refused(Refusal(self.reason)),
        }
    }

    /// The point without results.
    fn point(&self, settings: Vec<Setting>) -> Point {
        let failed_replica = Some(self.replica);
        // A warning is one line.
        let reason = self.reason.replace('\n', "; ");
        Point { failed_replica, ..Point::failed(settings, self.kind, reason) }
    }
}

/// The results of each case, by point and replica; incomplete ones are `None`.
struct Complete(Vec<Vec<Vec<Option<Outcome>>>>);

impl Complete {
    fn new(cases: usize, numbers: &[Vec<u32>]) -> Self {
        let room = |numbers: &Vec<u32>| numbers.iter().map(|_| None).collect();
        Complete((0..cases).map(|_| numbers.iter().map(room).collect()).collect())
    }

    fn put(&mut self, place: TaskIndex, outcome: Outcome) {
        self.0[place.case][place.point][place.at] = Some(outcome);
    }

    /// The cases that did not fail at a point.
    fn sound<'c>(
        &'c self,
        point: usize,
        failed: &'c FailedPoints,
    ) -> impl Iterator<Item = &'c Vec<Option<Outcome>>> + 'c {
        let cases = self.0.iter().enumerate();
        cases
            .filter(move |(case, _)| !failed.contains_key(&(*case, point)))
            .map(move |c| &c.1[point])
    }

    /// The first reason, if all cases failed at all points.
    fn all_failed(&self, failed: &FailedPoints) -> Option<PointFailure> {
        let all = self.0.iter().map(Vec::len).sum::<usize>();
        failed.values().next().filter(|_| failed.len() == all).cloned()
    }

    /// The planned number of replicas, over all points where some case did not fail.
    fn expected(&self, failed: &FailedPoints) -> usize {
        let points = 0..self.0[0].len();
        points.map(|point| self.sound(point, failed).next().map_or(0, Vec::len)).sum()
    }

    /// For each point, the replicas that are complete in all cases that did not fail there.
    fn kept(&self, failed: &FailedPoints) -> Vec<Vec<usize>> {
        let at = |point: usize| {
            let count = self.sound(point, failed).next().map_or(0, Vec::len);
            let is_complete = |n: &usize| self.sound(point, failed).all(|c| c[*n].is_some());
            (0..count).filter(is_complete).collect()
        };
        (0..self.0[0].len()).map(at).collect()
    }

    /// The largest delays in the `kept` replicas of a case.
    fn timing(&self, case: usize, kept: &[Vec<usize>]) -> Option<Timing> {
        let outcomes = self.0[case].iter().zip(kept);
        let outcomes =
            outcomes.flat_map(|(all, kept)| kept.iter().filter_map(|&n| all[n].as_ref()));
        worst(outcomes).map(|TimingError { p50, p99, max, stalls: Stalls { share, longest } }| {
            let [p50, p99, max, longest_stall] =
                [p50, p99, max, longest].map(Duration::as_secs_f64);
            Timing { p50, p99, max, stalled: share, longest_stall }
        })
    }

    /// Takes the points of a case, in the order of the sweep: with the `kept` replicas, or with the reason
    /// why there are none.
    fn take_points(
        &mut self,
        case: usize,
        what: &Case<'_>,
        kept: &[Vec<usize>],
        failed: &FailedPoints,
    ) -> Vec<Point> {
        let mut points = Vec::new();
        for (at, (point, kept)) in what.loaded.points().iter().zip(kept).enumerate() {
            let values = what.loaded.axes.iter().zip(&point.values);
            let settings =
                values.map(|(key, v)| Setting { key: key.clone(), value: v.to_string() }).collect();
            if let Some(why) = failed.get(&(case, at)) {
                points.push(why.point(settings));
                continue;
            }
            let asked = self.0[case][at].len();
            if kept.is_empty() {
                let why = format!("interrupted: none of {asked} replicas is complete");
                points.push(Point::failed(settings, WarningKind::Interrupted, why));
                continue;
            }
            let outcomes = kept.iter().filter_map(|&n| self.0[case][at][n].take()).collect();
            let mut outcomes: Vec<Outcome> = outcomes;
            let classes = outcomes.iter_mut().filter_map(|outcome| outcome.classes.take());
            let unmatched = classes
                .reduce(ClassUse::and)
                .map(|classes| classes.warnings(&point.scenario, &what.loaded.unreachable));
            let mut found = point_of(settings, outcomes, what.input_warnings(at));
            found.summary.warnings.extend(unmatched.unwrap_or_default());
            if kept.len() < asked {
                found.summary.warnings.push(missing_replicas(kept.len(), asked));
            }
            points.push(found);
        }
        points
    }
}

/// The largest delays and stalls of all results.
fn worst<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Option<TimingError> {
    outcomes.filter_map(|outcome| outcome.timing).reduce(TimingError::worse)
}

/// A point of a sweep from its results, of which there is at least one.
fn point_of(settings: Vec<Setting>, outcomes: Vec<Outcome>, input: Vec<Warning>) -> Point {
    let late = worst(outcomes.iter()).and_then(|timing| timing.warning());
    let (mut replicas, mut means, mut warnings) = (Vec::new(), None, Vec::new());
    for outcome in outcomes {
        match outcome.measured {
            Measured::Replica(replica) => replicas.push(*replica),
            Measured::Means(summary) => means = Some(summary),
        }
        warnings.extend(outcome.warnings);
    }
    let mut point = match means {
        Some(summary) => {
            Point { settings, summary: *summary, replicas, failure: None, failed_replica: None }
        }
        None => Point::new(settings, replicas),
    };
    for warning in input.into_iter().chain(warnings).chain(late) {
        if !point.summary.warnings.contains(&warning) {
            point.summary.warnings.push(warning);
        }
    }
    point
}

/// The TCPs of these scenarios, each once; empty if no scenario uses TCP.
pub fn which_tcp<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> String {
    let mut names: Vec<String> = scenarios.map(Scenario::tcp_description).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.join(" | ")
}

/// The name in the folder of results of data file number `at`, which was read as `name`.
pub(crate) fn data_file(at: usize, name: &str) -> String {
    let stem = Path::new(name).file_stem().unwrap_or_default();
    format!("{INPUT}{}-{}.csv", at + 1, folder_name(&stem.to_string_lossy()))
}

/// The prefix of the names of stored data files.
pub(crate) const INPUT: &str = "input-";

/// What the manifest of a case says before it has run.
pub fn manifest_of(case: &Case<'_>, origin: Origin<'_>) -> Manifest {
    manifest(case, &[], origin)
}

fn manifest(case: &Case<'_>, kept: &[Point], origin: Origin<'_>) -> Manifest {
    let scenario = &case.loaded.points()[0].scenario;
    let files = [Some(&scenario.inputs.scenario), scenario.inputs.policy.as_ref()];
    let files = files.into_iter().flatten().chain(&scenario.inputs.files);
    let file_of = |name: &String| {
        let at = case.loaded.data.iter().position(|data| data.name == *name)?;
        Some(data_file(at, name))
    };
    let input = |(name, text): &(String, String)| Input {
        name: name.clone(),
        text: text.clone(),
        kept: file_of(name),
    };
    let value = |point: &Point| {
        point.settings.iter().map(|setting| setting.value.as_str()).collect::<Vec<_>>().join(", ")
    };
    let setting =
        |(key, value): &(String, String)| Setting { key: key.clone(), value: value.clone() };
    Manifest {
        label: case.label.clone(),
        engine: case.engine.name().to_owned(),
        policy: case.policy.clone(),
        version: origin.version.to_owned(),
        command: origin.command.to_owned(),
        seed: scenario.seed,
        replicas: kept.iter().map(|point| point.summary.replicas).max().unwrap_or(0),
        duration: scenario.duration.as_secs_f64(),
        warm_up: scenario.warm_up.as_secs_f64(),
        tcp: case.engine.tcp(&mut case.loaded.points().iter().map(|point| &point.scenario)),
        timing: None,
        warnings: Vec::new(),
        sweep: (!case.loaded.axes.is_empty()).then(|| Sweep {
            key: case.loaded.axes.join(", "),
            values: kept.iter().map(value).collect(),
        }),
        settings: case.set.iter().map(setting).collect(),
        bind: case.bind.clone(),
        tables: None,
        design: case.design.clone(),
        tcp_info: None,
        inputs: files.map(input).collect(),
    }
}
