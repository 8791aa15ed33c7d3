//! Running a study: every run at every point, as many replicas as wanted, then the verdicts.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use shortflow_measure::Replica;
use shortflow_measure::results::{self, Folder};
use shortflow_policy::text::Diagnostics;
use shortflow_scenario::{Overrides, Scenario, from_texts};
use shortflow_sim::{Observer, Outcome, Task, run_tasks};

use crate::cache::Cache;
use crate::figure::{Figure, figure};
use crate::ledger::{Ledger, judge_all};
use crate::library::StudyFiles;
use crate::quantity::Data;
use crate::spec::{Claims, Effort, RunSpec, Study};

/// How a study is run.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The short variant, for a first look and for continuous integration.
    pub quick: bool,
    /// Threads; 0 is one per core.
    pub threads: usize,
    /// Where finished replicas are kept, so that an interrupted study goes on where it stopped.
    pub folder: &'a Path,
}

/// Who is told how a study gets on. Called from several threads.
pub trait Progress: Sync {
    /// `replicas` are to be run; `kept` more were found finished.
    fn begins(&self, replicas: usize, kept: usize);
    /// Another share of one replica is done.
    fn advanced(&self, share: f64);
    /// One more replica is complete.
    fn completed(&self);
}

/// What came of a study.
#[derive(Debug)]
pub struct Reproduced {
    /// What was reproduced.
    pub title: String,
    /// The verdicts; `None` when the study was interrupted.
    pub ledger: Option<Ledger>,
    /// The figures; none when the study was interrupted.
    pub figures: Vec<Figure>,
    /// Replicas that are finished, and all that the study wants.
    pub finished: usize,
    /// All replicas that the study wants.
    pub wanted: usize,
}

/// Why a study gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no study of this name.
    #[error("unknown study \"{name}\"; there are: {known}")]
    UnknownStudy {
        /// The name given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A file of the study is mistaken.
    #[error("papers/{study}/{file}: {message}")]
    Study {
        /// The study.
        study: &'static str,
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A scenario or a policy of the study is mistaken.
    #[error("{0}")]
    Scenario(Diagnostics),
    /// Results could not be written or read.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A replica failed.
    #[error(transparent)]
    Replica(#[from] shortflow_sim::Error),
}

/// One run at one point of its sweep.
struct PointOfRun {
    run: String,
    x: f64,
    scenario: Scenario,
}

/// Runs the study `id` and judges its claims.
///
/// # Errors
/// When there is no such study, or when results cannot be kept.
pub fn reproduce(
    id: &str,
    options: &Options<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Reproduced, Error> {
    let files = StudyFiles::find(id).ok_or_else(|| Error::UnknownStudy {
        name: id.to_owned(),
        known: StudyFiles::names().collect::<Vec<_>>().join(", "),
    })?;
    let study: Study = parse(files, "study.toml")?;
    let claims: Claims = parse(files, "claims.toml")?;
    let points = points(files, &study, options.quick)?;
    let cache = Cache::open(Folder::create(options.folder)?);
    let (replicas, wanted) = run_points(&points, &cache, options.threads, stop, progress)?;
    let finished = replicas.iter().flatten().flatten().count();
    if finished < wanted {
        let title = study.title;
        return Ok(Reproduced { title, ledger: None, figures: Vec::new(), finished, wanted });
    }
    let mut data = Data::default();
    for (point, replicas) in points.iter().zip(replicas) {
        data.insert(&point.run, point.x, replicas.into_iter().flatten().collect());
    }
    Ok(Reproduced {
        title: study.title.clone(),
        ledger: Some(judge_all(id, &claims, &data)),
        figures: study.figures.iter().map(|spec| figure(spec, &data)).collect(),
        finished,
        wanted,
    })
}

fn parse<T: serde::de::DeserializeOwned>(
    files: &'static StudyFiles,
    name: &str,
) -> Result<T, Error> {
    let error = |message: String| Error::Study { study: files.id, file: name.to_owned(), message };
    let text = files.text(name).ok_or_else(|| error("no such file".to_owned()))?;
    toml::from_str(text).map_err(|mistake| error(mistake.to_string()))
}

/// All runs at all their points, checked before anything is run.
fn points(
    files: &'static StudyFiles,
    study: &Study,
    quick: bool,
) -> Result<Vec<PointOfRun>, Error> {
    let effort = if quick { &study.quick } else { &study.full };
    let mut points = Vec::new();
    for run in &study.runs {
        let values = match (&run.quick, quick) {
            (Some(values), true) => values,
            _ => &run.values,
        };
        for &x in values {
            points.push(PointOfRun {
                run: run.name.clone(),
                x,
                scenario: scenario(files, run, effort, x)?,
            });
        }
    }
    Ok(points)
}

fn scenario(
    files: &'static StudyFiles,
    run: &RunSpec,
    effort: &Effort,
    x: f64,
) -> Result<Scenario, Error> {
    let text = |name: &str| {
        files.text(name).ok_or_else(|| Error::Study {
            study: files.id,
            file: name.to_owned(),
            message: format!("run {} needs this file, which does not exist", run.name),
        })
    };
    let texts =
        [(run.scenario.as_str(), text(&run.scenario)?), (run.policy.as_str(), text(&run.policy)?)];
    let mut set = vec![
        ("duration".to_owned(), effort.duration.clone()),
        ("replicas".to_owned(), effort.replicas.to_string()),
    ];
    for setting in &run.set {
        let (key, value) = setting.split_once('=').ok_or_else(|| Error::Study {
            study: files.id,
            file: "study.toml".to_owned(),
            message: format!("run {}: \"{setting}\" is not of the form key=value", run.name),
        })?;
        set.push((key.to_owned(), value.to_owned()));
    }
    set.extend(run.sweep.iter().map(|key| (key.clone(), x.to_string())));
    let overrides = Overrides { policy: Some(run.policy.clone().into()), set };
    let loaded = from_texts(&texts, &overrides).map_err(Error::Scenario)?;
    let point = loaded.into_points().into_iter().next();
    Ok(point.expect("a scenario without sweep has one point").scenario)
}

type Replicas = Vec<Vec<Option<Replica>>>;

/// The replicas of all points: those kept from before, and those run now. Those that an interrupt
/// left out are absent. Gives the number wanted, too.
fn run_points(
    points: &[PointOfRun],
    cache: &Cache,
    threads: usize,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<(Replicas, usize), Error> {
    let mut replicas: Replicas = Vec::new();
    let mut tasks = Vec::new();
    let mut places = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let mut of_point = Vec::new();
        for replica in 0..point.scenario.replicas {
            let kept = cache.read(&point.run, point.x, replica, &point.scenario);
            if kept.is_none() {
                tasks.push(Task { scenario: &point.scenario, replica });
                places.push((at, replica));
            }
            of_point.push(kept);
        }
        replicas.push(of_point);
    }
    let wanted = replicas.iter().map(Vec::len).sum();
    progress.begins(tasks.len(), wanted - tasks.len());
    let keeper = Keeper { points, places: &places, cache, progress };
    let outcomes = run_tasks(&tasks, threads, stop, &keeper);
    for (outcome, (at, replica)) in outcomes.into_iter().zip(&places) {
        match outcome {
            Ok(outcome) => replicas[*at][*replica as usize] = Some(outcome.replica),
            Err(shortflow_sim::Error::Interrupted) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((replicas, wanted))
}

/// Keeps each replica as soon as it is finished.
struct Keeper<'a> {
    points: &'a [PointOfRun],
    places: &'a [(usize, u32)],
    cache: &'a Cache,
    progress: &'a dyn Progress,
}

impl Observer for Keeper<'_> {
    fn advanced(&self, _: usize, share: f64) {
        self.progress.advanced(share);
    }

    fn completed(&self, task: usize, outcome: &Outcome) -> Result<(), shortflow_sim::Error> {
        let (at, replica) = self.places[task];
        let point = &self.points[at];
        self.cache.write(&point.run, point.x, replica, &point.scenario, &outcome.replica)?;
        self.progress.completed();
        Ok(())
    }
}
