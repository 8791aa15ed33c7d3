//! From the outcomes of tasks to results that can be shown and written.

use std::collections::BTreeSet;

use shortflow_measure::results::{Compared, Input, Setting, Sweep, Timing};
use shortflow_measure::{Manifest, Point};
use shortflow_scenario::Scenario;
use shortflow_units::Duration;

use crate::case::Case;
use crate::engine::{Error, Measured, Outcome, Stalls, TimingError};

/// The place of a task among all that are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskIndex {
    pub(crate) case: usize,
    pub(crate) point: usize,
    pub(crate) replica: u32,
}

/// What came out.
#[derive(Debug)]
pub struct Results {
    /// One for each case, in their order.
    pub cases: Vec<CaseResults>,
    /// What an interruption left, or a failure, if there was one.
    pub interruption: Option<Interruption>,
    /// The first error of a replica, after which the others were not run.
    pub failure: Option<Error>,
}

impl Results {
    /// Whether nothing was too late to be trusted.
    pub fn are_trusted(&self) -> bool {
        let mut timings = self.cases.iter().filter_map(|case| case.manifest.timing);
        timings.all(|timing| TimingError::from(timing).is_trusted())
    }
}

/// What came out of a case.
#[derive(Debug)]
pub struct CaseResults {
    /// What was run.
    pub manifest: Manifest,
    /// What was found, point by point.
    pub points: Vec<Point>,
}

impl CaseResults {
    /// What it is in a comparison.
    pub(crate) fn compared(&self) -> Compared<'_> {
        let CaseResults { manifest, points } = self;
        Compared { label: &manifest.label, manifest, points }
    }
}

/// What an interruption left of the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// How many are complete in all cases.
    pub kept: usize,
    /// How many there were to be.
    pub all: usize,
}

/// Puts the outcomes of tasks together. Of what was interrupted, or ended by an error, a point keeps those replicas that
/// are complete in all cases, so that they can be compared.
///
/// # Errors
/// When nothing is complete: the first error of a task, or [`Error::Interrupted`].
pub(crate) fn gather(
    cases: &[Case<'_>],
    places: &[TaskIndex],
    outcomes: Vec<Result<Outcome, Error>>,
    command: &str,
) -> Result<Results, Error> {
    let (mut complete, mut failure) = (Complete::new(cases), None);
    for (place, outcome) in places.iter().zip(outcomes) {
        match outcome {
            Ok(mut outcome) => {
                failure = failure.or(outcome.failure.take());
                complete.put(*place, outcome);
            }
            Err(Error::Interrupted) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let interruption = match (complete.count(), places.len() / cases.len()) {
        (kept, all) if kept == all => None,
        (0, _) => return Err(failure.unwrap_or(Error::Interrupted)),
        (kept, all) => Some(Interruption { kept, all }),
    };
    let kept = complete.kept();
    let cases = cases.iter().enumerate().map(|(at, case)| {
        let timing = complete.timing(at, &kept);
        let points = complete.take_points(at, case, &kept);
        let manifest = Manifest { timing, ..manifest(case, &points, command) };
        CaseResults { manifest, points }
    });
    Ok(Results { cases: cases.collect(), interruption, failure })
}

/// The outcomes of each case, by point and replica; those that were not completed are missing.
struct Complete(Vec<Vec<Vec<Option<Outcome>>>>);

impl Complete {
    fn new(cases: &[Case<'_>]) -> Self {
        let room = |count: u32| (0..count).map(|_| None).collect();
        let of = |case: &Case<'_>| {
            case.loaded.points().iter().map(|point| room(point.scenario.replicas)).collect()
        };
        Complete(cases.iter().map(of).collect())
    }

    fn put(&mut self, place: TaskIndex, outcome: Outcome) {
        self.0[place.case][place.point][place.replica as usize] = Some(outcome);
    }

    /// The numbers of the replicas of a point that are complete in all cases.
    fn complete_at(&self, point: usize) -> Vec<usize> {
        let is_complete = |replica: &usize| self.0.iter().all(|c| c[point][*replica].is_some());
        (0..self.0[0][point].len()).filter(is_complete).collect()
    }

    /// The same for each point.
    fn kept(&self) -> Vec<Vec<usize>> {
        (0..self.0[0].len()).map(|point| self.complete_at(point)).collect()
    }

    /// How many replicas are complete in all cases, over all points.
    fn count(&self) -> usize {
        self.kept().iter().map(Vec::len).sum()
    }

    /// How late packets were in the latest of the replicas of a case that are `kept`.
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

    /// Takes the points of a case out at which replicas are `kept`.
    fn take_points(&mut self, case: usize, what: &Case<'_>, kept: &[Vec<usize>]) -> Vec<Point> {
        let mut points = Vec::new();
        for (at, (point, kept)) in what.loaded.points().iter().zip(kept).enumerate() {
            if kept.is_empty() {
                continue;
            }
            let values = what.loaded.axes.iter().zip(&point.values);
            let settings =
                values.map(|(key, v)| Setting { key: key.clone(), value: v.to_string() });
            let outcomes = kept.iter().filter_map(|&n| self.0[case][at][n].take()).collect();
            let mut found = point_of(settings.collect(), outcomes);
            let asked = point.scenario.replicas as usize;
            if kept.len() < asked {
                let warning =
                    format!("Interrupted: {} of {asked} replicas are complete.", kept.len());
                found.summary.warnings.push(warning);
            }
            points.push(found);
        }
        points
    }
}

/// How late packets were in any outcome, and how long the machine stood still.
fn worst<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> Option<TimingError> {
    outcomes.filter_map(|outcome| outcome.timing).reduce(TimingError::worse)
}

/// A point of a sweep from the outcomes at it, of which there is at least one.
fn point_of(settings: Vec<Setting>, outcomes: Vec<Outcome>) -> Point {
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
        Some(summary) => Point { settings, summary: *summary, replicas },
        None => Point::new(settings, replicas),
    };
    for warning in warnings.into_iter().chain(late) {
        if !point.summary.warnings.contains(&warning) {
            point.summary.warnings.push(warning);
        }
    }
    point
}

/// Which TCP runs in these scenarios: each named once; empty where nothing uses TCP.
pub fn which_tcp<'s>(scenarios: impl Iterator<Item = &'s Scenario>) -> String {
    let mut names: Vec<String> = scenarios.map(Scenario::tcp_description).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.join(" | ")
}

fn manifest(case: &Case<'_>, kept: &[Point], command: &str) -> Manifest {
    let scenario = &case.loaded.points()[0].scenario;
    let files = [Some(&scenario.inputs.scenario), scenario.inputs.policy.as_ref()];
    let files = files.into_iter().flatten().chain(&scenario.inputs.files);
    let input = |(name, text): &(String, String)| Input { name: name.clone(), text: text.clone() };
    let value = |point: &Point| {
        point.settings.iter().map(|setting| setting.value.as_str()).collect::<Vec<_>>().join(", ")
    };
    let setting =
        |(key, value): &(String, String)| Setting { key: key.clone(), value: value.clone() };
    Manifest {
        label: case.label.clone(),
        engine: case.engine.name().to_owned(),
        policy: case.policy.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.to_owned(),
        seed: scenario.seed,
        replicas: kept.iter().map(|point| point.summary.replicas).max().unwrap_or(0),
        duration: scenario.duration.as_secs_f64(),
        warm_up: scenario.warm_up.as_secs_f64(),
        tcp: case.engine.tcp(&mut case.loaded.points().iter().map(|point| &point.scenario)),
        timing: None,
        sweep: (!case.loaded.axes.is_empty()).then(|| Sweep {
            key: case.loaded.axes.join(", "),
            values: kept.iter().map(value).collect(),
        }),
        settings: case.set.iter().map(setting).collect(),
        inputs: files.map(input).collect(),
    }
}
