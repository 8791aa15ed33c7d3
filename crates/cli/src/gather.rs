//! From the outcomes of replicas to runs that can be shown and written.

use std::collections::BTreeSet;

use shortflow_measure::results::{Input, Setting, Sweep};
use shortflow_measure::{Manifest, Point, Replica};
use shortflow_report::Run;
use shortflow_sim::{self as sim, Outcome};

use crate::experiment::Case;
use crate::failure::Failure;

/// The place of a replica among all that are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) case: usize,
    pub(crate) point: usize,
    pub(crate) replica: u32,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Found {
    /// The runs, one for each case.
    pub(crate) runs: Vec<Run>,
    /// What Ctrl-C left, if it came.
    pub(crate) interruption: Option<String>,
}

/// Puts the replicas together. Of an interrupted command, a point keeps those replicas that are
/// complete in all cases, so that they can be compared.
pub(crate) fn gather(
    cases: &[Case],
    places: &[Place],
    outcomes: Vec<Result<Outcome, sim::Error>>,
) -> Result<Found, Failure> {
    let mut replicas = Replicas::new(cases);
    for (place, outcome) in places.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => replicas.put(*place, outcome.replica),
            Err(sim::Error::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let interruption = match (replicas.complete(), places.len() / cases.len()) {
        (kept, all) if kept == all => None,
        (0, _) => {
            let what = "interrupted before a replica was complete; nothing is kept";
            return Err(Failure::Interrupted(what.to_owned()));
        }
        (kept, all) => {
            Some(format!("interrupted: kept the {kept} of {all} replicas that are complete"))
        }
    };
    let runs = cases.iter().enumerate().map(|(at, case)| {
        let points = replicas.points(at, case);
        Run::new(manifest(case, &points), points)
    });
    Ok(Found { runs: runs.collect(), interruption })
}

/// The replicas of each case, by point and number; those that were not completed are missing.
struct Replicas(Vec<Vec<Vec<Option<Replica>>>>);

impl Replicas {
    fn new(cases: &[Case]) -> Self {
        let room = |count: u32| (0..count).map(|_| None).collect();
        let of = |case: &Case| {
            case.loaded.points().iter().map(|point| room(point.scenario.replicas)).collect()
        };
        Replicas(cases.iter().map(of).collect())
    }

    fn put(&mut self, place: Place, replica: Replica) {
        self.0[place.case][place.point][place.replica as usize] = Some(replica);
    }

    /// The numbers of the replicas of a point that are complete in all cases.
    fn complete_at(&self, point: usize) -> impl Iterator<Item = usize> {
        let is_complete =
            move |replica: &usize| self.0.iter().all(|c| c[point][*replica].is_some());
        (0..self.0[0][point].len()).filter(is_complete)
    }

    /// How many replicas are complete in all cases, over all points.
    fn complete(&self) -> usize {
        (0..self.0[0].len()).map(|point| self.complete_at(point).count()).sum()
    }

    /// The points of a case at which some replica is complete.
    fn points(&self, case: usize, what: &Case) -> Vec<Point> {
        let mut points = Vec::new();
        for (at, point) in what.loaded.points().iter().enumerate() {
            let found: Vec<Replica> =
                self.complete_at(at).filter_map(|n| self.0[case][at][n].clone()).collect();
            let (kept, asked) = (found.len(), point.scenario.replicas as usize);
            if kept == 0 {
                continue;
            }
            let values = what.loaded.axes.iter().zip(&point.values);
            let settings =
                values.map(|(key, v)| Setting { key: key.clone(), value: v.to_string() });
            let mut point = Point::new(settings.collect(), found);
            if kept < asked {
                let warning = format!("Interrupted: {kept} of {asked} replicas are complete.");
                point.summary.warnings.push(warning);
            }
            points.push(point);
        }
        points
    }
}

/// The TCP of all points, each named once.
fn tcp_of(case: &Case) -> String {
    let points = case.loaded.points().iter();
    let mut names: Vec<String> = points.map(|point| point.scenario.tcp_description()).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.join(" | ")
}

fn manifest(case: &Case, kept: &[Point]) -> Manifest {
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
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        seed: scenario.seed,
        replicas: kept.iter().map(|point| point.summary.replicas).max().unwrap_or(0),
        duration: scenario.duration.as_secs_f64(),
        warm_up: scenario.warm_up.as_secs_f64(),
        tcp: tcp_of(case),
        sweep: (!case.loaded.axes.is_empty()).then(|| Sweep {
            key: case.loaded.axes.join(", "),
            values: kept.iter().map(value).collect(),
        }),
        settings: case.set.iter().map(setting).collect(),
        inputs: files.map(input).collect(),
    }
}

/// The command line as it can be given again.
fn command_line() -> String {
    let quoted = |argument: String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        if !argument.is_empty() && argument.chars().all(is_plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    let arguments = std::env::args_os().skip(1).map(|a| quoted(a.to_string_lossy().into_owned()));
    std::iter::once("shortflow".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
