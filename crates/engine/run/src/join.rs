//! Joins runs of one scenario that have different replicas, such as the shards of a run. The result has the same bits as one run
//! of all these replicas.

use shortflow_measure::results::{Manifest, Setting, Timing};
use shortflow_measure::{
    ClassResult, ClassSummary, Point, Replica, Run, Warning, WarningKind, warnings,
};

use crate::case::Case;

/// Why runs cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// They are not of one scenario.
    #[error("{} and {} differ in {what}: they are not parts of one run\njoin runs of the same scenario, policy, settings and seed", places[0], places[1])]
    Different {
        /// Where the two are.
        places: [String; 2],
        /// In what they differ.
        what: String,
    },
    /// Both have the same replica.
    #[error("{} and {} both have replica {replica}\njoin runs with different replicas: see `--shard` and `--first-replica`", places[0], places[1])]
    Twice {
        /// Where the two are.
        places: [String; 2],
        /// The replica's number.
        replica: u32,
    },
    /// The files of a run contradict one another.
    #[error("{place}: {what}: its files were changed or are cut off\nrun it again")]
    Damaged {
        /// Where it is.
        place: String,
        /// What does not fit.
        what: String,
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
        let asked = setting.value.parse().unwrap_or(0);
        setting.value = replicas.max(asked).to_string();
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
        for (number, point) in run.points.iter().enumerate() {
            let what = damage(&run.manifest, point);
            let what = what.map(|what| format!("point {number}: {what}"));
            what.map_or(Ok(()), |what| Err(JoinError::Damaged { place: place(run), what }))?;
        }
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

/// How the replicas of a point contradict its summary.
fn damage(manifest: &Manifest, point: &Point) -> Option<String> {
    let has_replicas = manifest.engine != PREDICT && point.failure.is_none();
    let (found, expected) = (point.replicas.len(), point.summary.replicas as usize);
    if has_replicas && found != expected {
        return Some(format!("{found} replicas where the summary has {expected}"));
    }
    let mut numbers: Vec<u32> = point.replicas.iter().map(|replica| replica.number).collect();
    numbers.sort_unstable();
    if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("replica {} is there twice", twice[0]));
    }
    let expected: Vec<&str> = point.summary.workloads.iter().map(|one| one.name.as_str()).collect();
    let is_other = |replica: &&Replica| {
        !replica.workloads.iter().map(|one| one.name.as_str()).eq(expected.iter().copied())
    };
    let other = point.replicas.iter().find(is_other)?;
    Some(format!("replica {} has other workloads than the summary", other.number))
}

/// The engine whose runs have no replicas.
const PREDICT: &str = "predict";

/// In what two runs differ, other than their replicas; `None` where they are parts of one.
fn difference(one: &Run, two: &Run) -> Option<String> {
    if let Some(what) = different_inputs(&one.manifest, &two.manifest) {
        return Some(what);
    }
    let points = |run: &Run| -> Vec<Vec<Setting>> {
        run.points.iter().map(|point| point.settings.clone()).collect()
    };
    (points(one) != points(two)).then(|| "the points of their sweep".to_owned())
}

/// In what two runs differ, apart from results and replicas. Files may have other names, if their texts are the same.
pub fn different_inputs(one: &Manifest, two: &Manifest) -> Option<String> {
    let texts = |manifest: &'_ Manifest| -> Vec<String> {
        manifest.inputs.iter().map(|input| input.text.clone()).collect()
    };
    let differences = [
        ("the engine", one.engine.clone(), two.engine.clone()),
        ("the policy", one.case().to_owned(), two.case().to_owned()),
        ("the version of the program", one.version.clone(), two.version.clone()),
        ("the seed", one.seed.to_string(), two.seed.to_string()),
        ("the TCP", one.tcp.clone(), two.tcp.clone()),
        ("the duration in seconds", one.duration.to_string(), two.duration.to_string()),
        ("the warm-up in seconds", one.warm_up.to_string(), two.warm_up.to_string()),
        ("the bindings of roles", one.bind.join(", "), two.bind.join(", ")),
    ];
    let both = |(what, one, two): (&str, String, String)| {
        (one != two).then(|| format!("{what} ({} and {})", or_none(&one), or_none(&two)))
    };
    let found = differences.into_iter().find_map(both);
    found.or_else(|| different_setting(one, two)).or_else(|| {
        let differs = texts(one) != texts(two);
        differs.then(|| "the text of the scenario, of the policy or of another input".to_owned())
    })
}

/// The first setting of the command line that differs.
fn different_setting(one: &Manifest, two: &Manifest) -> Option<String> {
    let value = |manifest: &Manifest, key: &str| {
        let last = manifest.settings.iter().rev().find(|setting| setting.key == key);
        last.map(|setting| setting.value.clone()).unwrap_or_default()
    };
    let all = one.settings.iter().chain(&two.settings);
    let mut keys = all.map(|setting| setting.key.as_str()).filter(|key| *key != REPLICAS);
    let key = keys.find(|key| value(one, key) != value(two, key))?;
    Some(format!("`{key}` ({} and {})", or_none(&value(one, key)), or_none(&value(two, key))))
}

fn or_none(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

/// Gives a run that was joined the warnings that one run of all its replicas has: those about the inputs
/// of `case`, and about what is missing of the replicas that were asked for at each point, where that is known.
pub fn renew_warnings(run: &mut Run, case: &Case<'_>, asked: Option<&[usize]>) {
    for (at, point) in run.points.iter_mut().enumerate().filter(|(_, one)| one.failure.is_none()) {
        let (complete, is_of_model) = (point.replicas.len(), point.is_of_model());
        let all = &mut point.summary.warnings;
        all.retain(|warning| warning.kind != WarningKind::Input);
        let begin = all.iter().position(|warning| rank(warning.kind).is_some());
        let begin = begin.unwrap_or(all.len());
        all.splice(begin..begin, case.input_warnings(at));
        let Some(asked) = asked.and_then(|asked| asked.get(at)) else { continue };
        all.retain(|warning| warning.kind != WarningKind::Interrupted);
        if complete < *asked && !is_of_model {
            all.push(missing_replicas(complete, *asked));
        }
    }
    run.manifest.warnings.clear();
    run.manifest.warnings = warnings(std::slice::from_ref(run));
}

/// The warning of a point of which only some replicas are complete.
pub(crate) fn missing_replicas(complete: usize, asked: usize) -> Warning {
    let message = format!("Interrupted: {complete} of {asked} replicas are complete.");
    Warning::new(WarningKind::Interrupted, message)
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
        let Some(rank) = rank(warning.kind) else { continue };
        // A class is unmatched if no replica had a packet for it.
        let is_unmatched = warning.kind == WarningKind::UnmatchedClass;
        if is_unmatched && !whole().all(|point| has(point, warning)) {
            continue;
        }
        if !all.iter().any(|(_, known)| known == warning) {
            all.push((rank, warning.clone()));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, warning)| warning).collect()
}

/// The position of a warning among those that do not follow from the replicas' figures; `None` of the others.
fn rank(kind: WarningKind) -> Option<u8> {
    match kind {
        WarningKind::Input => Some(0),
        WarningKind::Engine | WarningKind::Model => Some(1),
        WarningKind::Late => Some(2),
        WarningKind::UnmatchedClass => Some(3),
        WarningKind::Interrupted => Some(4),
        WarningKind::UnsettledLoad
        | WarningKind::Unfinished
        | WarningKind::GivenUp
        | WarningKind::Failed
        | WarningKind::Stopped
        | WarningKind::IdenticalReplicas
        | WarningKind::Starved
        | WarningKind::Unmeasured
        | WarningKind::PartialSample => None,
    }
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
