//! Running a study: every run at every point, as many replicas as wanted, then the verdicts.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use shortflow_measure::Replica;
use shortflow_measure::results::{self, Folder};
use shortflow_run::{
    self as run, Engine, Measured, Observer, Outcome, Progress, Task, run_tasks, which_tcp,
};
use shortflow_text::Diagnostics;

use crate::cache::Cache;
use crate::distribution::Distribution;
use crate::figure::{Figure, figure};
use crate::ledger::{ClaimResult, Ledger, judge_all};
use crate::library::StudyFiles;
use crate::mistakes;
use crate::points::{PointOfRun, points};
use crate::quantity::Data;
use crate::replay::replay;
use crate::spec::{Claims, Effort, Study};
use crate::table::{Table, table};

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

/// What came of a study.
#[derive(Debug)]
pub struct Reproduced {
    /// What was reproduced.
    pub title: String,
    /// Which study that was, and how much of it, in sentences.
    pub about: String,
    /// The verdicts; `None` when the study was interrupted.
    pub ledger: Option<Ledger>,
    /// The figures that have something to show; none when the study was interrupted.
    pub figures: Vec<Figure>,
    /// The tables; none when the study was interrupted.
    pub tables: Vec<Table>,
    /// Replicas that are finished, and all that the study wants.
    pub finished: usize,
    /// All replicas that the study wants.
    pub wanted: usize,
    /// Replicas that were kept from before and not used, since the program or the study's files have
    /// changed.
    pub stale: usize,
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
    #[error("{file}: {message}")]
    Study {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A text of the study, a scenario or a policy among them, is mistaken.
    #[error("{0}")]
    Mistakes(Diagnostics),
    /// Requests that one run drew cannot be replayed by another.
    #[error("run {run}: {message}")]
    Requests {
        /// The run that was to replay them.
        run: String,
        /// What is wrong.
        message: String,
    },
    /// Results could not be written or read.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A replica failed.
    #[error(transparent)]
    Replica(#[from] run::Error),
    /// The engine gives no replicas.
    #[error("{engine} gives means without intervals, and claims are judged by intervals")]
    MeansOnly {
        /// The engine's name.
        engine: &'static str,
    },
}

/// The study that `name` means: one that comes with the program, else the one in this folder. A name
/// with a separator, such as `./cm05`, is always a folder.
///
/// # Errors
/// When there is neither, or when the folder cannot be read.
pub fn find(name: &str) -> Result<Cow<'static, StudyFiles>, Error> {
    if let Some(files) = StudyFiles::find(name) {
        return Ok(Cow::Borrowed(files));
    }
    let folder = Path::new(name);
    if folder.is_dir() {
        return Ok(Cow::Owned(StudyFiles::read(folder)?));
    }
    let known = StudyFiles::names().collect::<Vec<_>>().join(", ");
    Err(Error::UnknownStudy { name: name.to_owned(), known })
}

/// Runs a study by an engine and judges its claims.
///
/// # Errors
/// When a file of the study is mistaken, or when results cannot be kept.
pub fn reproduce(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Reproduced, Error> {
    let mut study: Study = mistakes::read(files, "study.toml")?;
    let mut points = points(files, &study, options.quick, engine.identity())?;
    let mut claims = mistakes::read_claims(files, &study, &points)?;
    study.name_workload(&mut claims);
    let effort = if options.quick { &study.quick } else { &study.full };
    let cache = Cache::open(Folder::create(options.folder)?, engine.identity());
    let Ran { replicas, stale } =
        run_points(engine, &mut points, &cache, options.threads, stop, progress)?;
    let about = about(files, effort, options.quick);
    let wanted = replicas.iter().map(Vec::len).sum();
    let finished = replicas.iter().flatten().flatten().count();
    if finished < wanted {
        let (title, figures, tables) = (study.title, Vec::new(), Vec::new());
        return Ok(Reproduced {
            title,
            about,
            ledger: None,
            figures,
            tables,
            finished,
            wanted,
            stale,
        });
    }
    let mut data = Data::default();
    for (point, replicas) in points.iter().zip(replicas) {
        data.insert(&point.run, point.x, replicas.into_iter().flatten().collect());
    }
    Ok(Reproduced {
        title: study.title.clone(),
        about,
        ledger: Some(Ledger {
            study: files.id.to_string(),
            quick: options.quick,
            replicas: effort.replicas,
            duration: effort.duration.clone(),
            tcp: Some(which_tcp(points.iter().map(|point| &point.scenario))),
            claims: judged(&claims, &data, options.quick),
        }),
        figures: study.figures.iter().map(|f| figure(f, &data)).filter(has_points).collect(),
        tables: study.tables.iter().map(|spec| table(spec, &data)).collect(),
        finished,
        wanted,
        stale,
    })
}

/// Which study it is, and how much of it is run.
fn about(files: &StudyFiles, effort: &Effort, quick: bool) -> String {
    let mut about = files.description();
    if quick {
        let Effort { replicas, duration } = effort;
        about += &format!(
            " This is the short form, with {replicas} replicas of {duration}: a first look, whose \
             verdicts may differ from those of the full run. Notes on the full run are left out."
        );
    }
    about
}

/// The verdicts. Notes speak of the numbers of a full run, so the short form has none.
fn judged(claims: &Claims, data: &Data, quick: bool) -> Vec<ClaimResult> {
    let mut judged = judge_all(claims, data);
    if quick {
        judged.iter_mut().for_each(|claim| claim.note.clear());
    }
    judged
}

/// A short study may have run none of a figure's points.
fn has_points(figure: &Figure) -> bool {
    figure.curves.iter().any(|curve| !curve.points.is_empty())
}

/// By point and replica; those that an interrupt left out are absent.
type Replicas = Vec<Vec<Option<Replica>>>;

/// What came of running the points.
struct Ran {
    replicas: Replicas,
    /// Replicas that were kept from before and could not be used.
    stale: usize,
}

/// The replicas of all points: those kept from before, and those run now. First come the runs that
/// draw their own requests, then those that replay them.
fn run_points(
    engine: &dyn Engine,
    points: &mut [PointOfRun],
    cache: &Cache,
    threads: usize,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Ran, Error> {
    let mut stale = 0;
    let mut kept = |point: &PointOfRun| -> Vec<Option<Replica>> {
        let read = |number| {
            let found = cache.read(point, number);
            stale += usize::from(found.is_none() && cache.has(point, number));
            found
        };
        (0..point.scenario.replicas).map(read).collect()
    };
    let mut replicas: Replicas = points.iter().map(&mut kept).collect();
    let missing = places(&replicas, |_| true).len();
    progress.begins(missing, replicas.iter().map(Vec::len).sum::<usize>() - missing);
    for replays in [false, true] {
        if replays {
            hand_over_requests(points, &replicas)?;
        }
        // A point that lacks its requests still, since they were interrupted, waits for the next time.
        let is_due = |at: usize| {
            let drawn = points[at].replays.map(|(drawn, _)| drawn);
            drawn.is_some() == replays && drawn.is_none_or(|drawn| is_complete(&replicas[drawn]))
        };
        let places = places(&replicas, is_due);
        let task = |&(at, replica): &(usize, u32)| Task { scenario: &points[at].scenario, replica };
        let tasks: Vec<Task<'_>> = places.iter().map(task).collect();
        let keeper = Keeper { points, places: &places, cache, progress };
        let outcomes = run_tasks(engine, &tasks, threads, stop, &keeper);
        for (outcome, (at, replica)) in outcomes.into_iter().zip(&places) {
            match outcome {
                Ok(outcome) => match outcome.measured {
                    Measured::Replica(found) => replicas[*at][*replica as usize] = Some(*found),
                    Measured::Means(_) => return Err(Error::MeansOnly { engine: engine.name() }),
                },
                Err(run::Error::Interrupted) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(Ran { replicas, stale })
}

/// The point and the number of each absent replica of the points that are due.
fn places(replicas: &Replicas, is_due: impl Fn(usize) -> bool) -> Vec<(usize, u32)> {
    let due = replicas.iter().enumerate().filter(|(at, _)| is_due(*at));
    due.flat_map(|(at, of_point)| (0..).zip(of_point).map(move |(number, r)| (at, number, r)))
        .filter(|(_, _, replica)| replica.is_none())
        .map(|(at, number, _)| (at, number))
        .collect()
}

fn is_complete(of_point: &[Option<Replica>]) -> bool {
    of_point.iter().all(Option::is_some)
}

/// Gives each point that replays requests those that were drawn for it, where any of its replicas
/// is still to be run.
fn hand_over_requests(points: &mut [PointOfRun], replicas: &Replicas) -> Result<(), Error> {
    for (point, own) in points.iter_mut().zip(replicas) {
        let Some((drawn, busy)) = point.replays else { continue };
        if is_complete(own) || !is_complete(&replicas[drawn]) {
            continue;
        }
        replay(&mut point.scenario, &replicas[drawn], busy.into())
            .map_err(|message| Error::Requests { run: point.run.clone(), message })?;
    }
    Ok(())
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

    fn completed(&self, task: usize, outcome: &mut Outcome) -> Result<(), run::Error> {
        let (at, number) = self.places[task];
        if let Measured::Replica(replica) = &mut outcome.measured {
            self.cache.write(&self.points[at], number, replica)?;
            Distribution::forget_others(&self.points[at].distributions, replica);
        }
        self.progress.completed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use shortflow_sim::Simulator;

    use super::*;
    use crate::library::StudyFiles;

    const STUDY: &str = r#"
title = "the same pages over a fast and a slow link"
full = { replicas = 2, duration = "20 s" }
quick = { replicas = 2, duration = "20 s" }

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
    struct StopAfter<'a>(std::sync::atomic::AtomicUsize, &'a AtomicBool);

    impl Progress for StopAfter<'_> {
        fn begins(&self, _: usize, _: usize) {}
        fn advanced(&self, _: f64) {}
        fn completed(&self) {
            if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.1.store(true, Ordering::Relaxed);
            }
        }
    }

    fn run(home: &Path, replicas_until_stop: usize) -> (Vec<PointOfRun>, Replicas) {
        let (points, ran) = run_by("1", home, replicas_until_stop);
        (points, ran.replicas)
    }

    /// By an engine of this identity.
    fn run_by(engine: &str, home: &Path, replicas_until_stop: usize) -> (Vec<PointOfRun>, Ran) {
        let study: Study = mistakes::read(&FILES, "study.toml").unwrap();
        let mut points = points(&FILES, &study, false, engine).unwrap_or_else(|e| panic!("{e}"));
        let stop = AtomicBool::new(false);
        let progress = StopAfter(replicas_until_stop.into(), &stop);
        let cache = Cache::open(Folder::create(home).unwrap(), engine);
        let ran = run_points(&Simulator, &mut points, &cache, 1, &stop, &progress).unwrap();
        (points, ran)
    }

    #[test]
    fn a_run_replays_replica_by_replica_what_another_asked_for_at_the_same_point() {
        let home = tempfile::tempdir().unwrap();
        let (points, replicas) = run(home.path(), usize::MAX);
        let names: Vec<(&str, f64)> = points.iter().map(|p| (p.run.as_str(), p.x)).collect();
        assert_eq!(names, [("draw", 1.0), ("draw", 2.0), ("slow", 1.0), ("slow", 2.0)]);
        let asked = |point: usize, replica: usize| {
            &replicas[point][replica].as_ref().unwrap().accesses["web"]
        };
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
        let stale = |engine: &str| run_by(engine, home.path(), usize::MAX).1.stale;
        assert_eq!([stale("1"), stale("1"), stale("2"), stale("2")], [0, 0, 8, 0]);
    }

    #[test]
    fn a_study_interrupted_while_it_draws_goes_on_from_there_to_the_same_result() {
        let home = tempfile::tempdir().unwrap();
        let (_, at_once) = run(home.path(), usize::MAX);
        let home = tempfile::tempdir().unwrap();
        for finished in [3, 6, 8] {
            let (_, replicas) = run(home.path(), 3);
            assert_eq!(replicas.iter().flatten().flatten().count(), finished);
        }
        let (_, resumed) = run(home.path(), usize::MAX);
        // All but the distributions, which files leave out.
        let means = |replicas: &Replicas| -> Vec<Option<shortflow_measure::Reading>> {
            let all = replicas.iter().flatten().flatten();
            all.map(|replica| replica.workload("web").unwrap().all.mean()).collect()
        };
        assert_eq!(means(&resumed), means(&at_once));
    }
}
