//! Joins runs of one scenario that have different replicas, such as the shards of a run. The result has the same bits as one run
//! of all these replicas.

use shortflow_measure::results::{Manifest, Setting, Timing};
use shortflow_measure::{
    ClassResult, ClassSummary, Point, Replica, Run, Warning, WarningKind, warnings,
};

/// Why runs cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// They are not of one scenario.
    #[error("{} and {} differ in {what}: they are not parts of one run\njoin runs of the same scenario, policy, settings and seed", places[0], places[1])]
    Different {
        /// Where the two are.
        places: [String; 2],
        /// In what they differ.
        what: &'static str,
    },
    /// Both have the same replica.
    #[error("{} and {} both have replica {replica}\njoin runs with different replicas: see `--shard` and `--first-replica`", places[0], places[1])]
    Twice {
        /// Where the two are.
        places: [String; 2],
        /// The replica's number.
        replica: u32,
    },
}

/// Joins at least one run, for the manifest with this command line.
///
/// # Errors
/// When they are of different scenarios, or two have the same replica.
pub fn join(mut parts: Vec<Run>, command: &str) -> Result<Run, JoinError> {
    check(&parts)?;
    for run in parts.iter_mut().filter(|run| run.folder.is_some()) {
        run.points.iter_mut().for_each(restore_times);
    }
    let points = (0..parts[0].points.len()).map(|at| {
        let points = parts.iter_mut().map(|run| std::mem::replace(&mut run.points[at], nothing()));
        join_points(points.collect())
    });
    let points: Vec<Point> = points.collect();
    let mut series: Vec<_> = parts.iter_mut().flat_map(|run| run.series.drain(..)).collect();
    series.sort_by_key(|row| (row.point, row.replica));
    let timing = parts.iter().filter_map(|run| run.manifest.timing).reduce(worse);
    let replicas = points.iter().map(|point| point.summary.replicas).max().unwrap_or(0);
    let Run { mut manifest, .. } = parts.swap_remove(0);
    for setting in manifest.settings.iter_mut().filter(|setting| setting.key == REPLICAS) {
        setting.value = replicas.to_string();
    }
    let (label, folder) = (manifest.label.clone(), None);
    let manifest = Manifest {
        command: command.to_owned(),
        replicas,
        timing,
        warnings: Vec::new(),
        ..manifest
    };
    let mut run = Run { label, manifest, points, series, folder };
    run.manifest.warnings = warnings(std::slice::from_ref(&run));
    Ok(run)
}

/// Where a run is, for messages.
fn place(run: &Run) -> String {
    run.folder.as_ref().map_or_else(|| run.label.clone(), |folder| folder.display().to_string())
}

fn check(parts: &[Run]) -> Result<(), JoinError> {
    for (at, run) in parts.iter().enumerate() {
        for other in &parts[..at] {
            let places = || [place(other), place(run)];
            if let Some(what) = difference(other, run) {
                return Err(JoinError::Different { places: places(), what });
            }
            for (one, two) in other.points.iter().zip(&run.points) {
                let has = |number| one.replicas.iter().any(|replica| replica.number == number);
                if let Some(twice) = two.replicas.iter().find(|replica| has(replica.number)) {
                    return Err(JoinError::Twice { places: places(), replica: twice.number });
                }
            }
        }
    }
    Ok(())
}

/// In what two runs differ, other than their replicas; `None` where they are parts of one.
fn difference(one: &Run, two: &Run) -> Option<&'static str> {
    if let Some(what) = different_inputs(&one.manifest, &two.manifest) {
        return Some(what);
    }
    let points = |run: &Run| -> Vec<Vec<Setting>> {
        run.points.iter().map(|point| point.settings.clone()).collect()
    };
    (points(one) != points(two)).then_some("the points of their sweep")
}

/// In what two runs differ, apart from results and replicas.
pub fn different_inputs(one: &Manifest, two: &Manifest) -> Option<&'static str> {
    let settings = |manifest: &Manifest| -> Vec<Setting> {
        let all = manifest.settings.iter().filter(|setting| setting.key != REPLICAS);
        all.cloned().collect()
    };
    let differences = [
        (one.engine != two.engine, "the engine"),
        (one.case() != two.case(), "the policy"),
        (one.version != two.version, "the version of the program"),
        (one.seed != two.seed, "the seed"),
        (one.inputs != two.inputs, "the files that were read"),
        (settings(one) != settings(two), "the settings"),
        (one.bind != two.bind, "the bindings of roles"),
        (one.tcp != two.tcp, "the TCP"),
        ((one.duration, one.warm_up) != (two.duration, two.warm_up), "the duration"),
    ];
    differences.into_iter().find_map(|(is_so, what)| is_so.then_some(what))
}

const REPLICAS: &str = "replicas";

fn nothing() -> Point {
    Point::failed(Vec::new(), WarningKind::Interrupted, String::new())
}

/// Gives the first replica of a point that was read the distributions of all, which is what folders keep.
fn restore_times(point: &mut Point) {
    let Some(first) = point.replicas.first_mut() else { return };
    for (result, summary) in first.workloads.iter_mut().zip(&point.summary.workloads) {
        let restore = |(result, summary): (&mut ClassResult, &ClassSummary)| {
            result.times = summary.times.clone();
        };
        restore((&mut result.all, &summary.all));
        result.classes.iter_mut().zip(&summary.classes).for_each(restore);
    }
}

/// Joins the same point of several runs. If one failed, so has the whole; parts without a complete replica add nothing.
fn join_points(parts: Vec<Point>) -> Point {
    if let Some(failed) = parts.iter().find(|point| point.has_failed()) {
        return failed.clone();
    }
    // What a model computed is the same in each part.
    if let Some(computed) = parts.iter().find(|point| point.is_of_model()) {
        return computed.clone();
    }
    if parts.iter().all(|point| point.failure.is_some()) {
        return parts.into_iter().next().unwrap_or_else(nothing);
    }
    let of_parts = carried_warnings(&parts);
    let settings = parts[0].settings.clone();
    let mut replicas: Vec<Replica> = parts.into_iter().flat_map(|part| part.replicas).collect();
    replicas.sort_by_key(|replica| replica.number);
    let mut point = Point::new(settings, with_own_times(replicas));
    point.summary.warnings.extend(of_parts);
    point
}

/// Identical replicas have the same distribution, each its own; with others that of the first is what they have together.
fn with_own_times(mut replicas: Vec<Replica>) -> Vec<Replica> {
    let bare: Vec<Replica> = replicas.iter().map(without_times).collect();
    if Replica::are_identical(&bare) {
        let first = replicas[0].clone();
        for replica in &mut replicas {
            *replica = Replica { number: replica.number, ..first.clone() };
        }
    }
    replicas
}

/// What a folder keeps of a replica.
fn without_times(replica: &Replica) -> Replica {
    let mut bare = replica.clone();
    for workload in &mut bare.workloads {
        for class in std::iter::once(&mut workload.all).chain(&mut workload.classes) {
            class.times = Default::default();
        }
    }
    bare.series.clear();
    bare.accesses.clear();
    bare
}

/// The warnings that do not follow from the replicas' figures, in the order in which one run has them.
fn carried_warnings(parts: &[Point]) -> Vec<Warning> {
    let whole = || parts.iter().filter(|point| point.failure.is_none());
    let has = |point: &Point, warning: &Warning| point.summary.warnings.contains(warning);
    let mut all: Vec<(u8, Warning)> = Vec::new();
    for warning in whole().flat_map(|point| &point.summary.warnings) {
        let rank = match warning.kind {
            WarningKind::Input => 0,
            WarningKind::Engine | WarningKind::Model => 1,
            WarningKind::Late => 2,
            // A class is unmatched if no replica had a packet for it.
            WarningKind::UnmatchedClass if whole().all(|point| has(point, warning)) => 3,
            WarningKind::Interrupted => 4,
            WarningKind::UnmatchedClass
            | WarningKind::UnsettledLoad
            | WarningKind::Unfinished
            | WarningKind::GivenUp
            | WarningKind::Failed
            | WarningKind::IdenticalReplicas
            | WarningKind::Starved
            | WarningKind::PartialSample => continue,
        };
        if !all.iter().any(|(_, known)| known == warning) {
            all.push((rank, warning.clone()));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, warning)| warning).collect()
}

/// The worst of both, value by value.
fn worse(one: Timing, two: Timing) -> Timing {
    Timing {
        p50: one.p50.max(two.p50),
        p99: one.p99.max(two.p99),
        max: one.max.max(two.max),
        stalled: one.stalled.max(two.stalled),
        longest_stall: one.longest_stall.max(two.longest_stall),
    }
}
