//! Running a study: every run at every point, as many replicas as wanted, then the verdicts.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use shortflow_measure::results::{self, Folder};
use shortflow_run::{self as run, Engine, Progress, which_tcp};
use shortflow_text::{Diagnostics, suggestion};

use crate::cache::Cache;
use crate::calibration::{self, Calibration, Readings};
use crate::distribution::Distribution;
use crate::figure::{Figure, figure};
use crate::judging::{Judged, Judging};
use crate::ledger::Ledger;
use crate::library::StudyFiles;
use crate::mistakes;
use crate::models;
use crate::points::Maker;
use crate::rehearsed;
use crate::runs::{Bench, Wanted};
use crate::spec::{Claims, Effort, Rule, Study};
use crate::table::{Table, table};

/// How a study is run.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The short variant, for a first look and for continuous integration.
    pub quick: bool,
    /// Threads; 0 is one per core.
    pub threads: usize,
    /// Where finished replicas are kept, so that an interrupted study can continue.
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
    /// Replicas that are finished; how many it takes is not known before the claims are settled.
    pub finished: usize,
    /// Replicas that were kept from before and not used, since the program or the study's files have
    /// changed.
    pub stale: usize,
}

/// Why a study gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no study of this name.
    #[error("unknown study \"{name}\"\n{help}")]
    UnknownStudy {
        /// The name given.
        name: String,
        /// What may have been meant.
        help: String,
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
    #[error("{engine} gives means without intervals, but claims are judged by intervals")]
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
        return StudyFiles::read(folder).map(Cow::Owned).map_err(unreadable);
    }
    let help = match folder.parent().filter(|_| folder.is_file()) {
        Some(parent) if parent.as_os_str().is_empty() => {
            "give the folder of the file: .".to_owned()
        }
        Some(parent) => format!("give the folder of the file: {}", parent.display()),
        None => {
            let known: Vec<&str> = StudyFiles::names().collect();
            format!("{}; or a folder with a study.toml", suggestion(name, "there are", &known))
        }
    };
    Err(Error::UnknownStudy { name: name.to_owned(), help })
}

/// A file of a study that is no text is a mistake in the study.
fn unreadable(error: results::Error) -> Error {
    match error {
        results::Error::Io { path, source, .. } => {
            let file = path.display().to_string();
            Error::Study { file, message: format!("cannot read the file: {source}") }
        }
        other => other.into(),
    }
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
    let mut study = mistakes::read_study(files)?;
    let effort = if options.quick { study.quick.clone() } else { study.full.clone() };
    let (readings, mut claims) = judged_by(engine, files, &study, &effort, options.quick)?;
    study.name_workload(claims.quantities_mut());
    let alike = compared(&claims, Rule::DistributionsAlike);
    let one_by_one = compared(&claims, Rule::SlowerOneByOne);
    let maker = Maker {
        files,
        study: &study,
        duration: &effort.duration,
        compared: &alike,
        one_by_one: &one_by_one,
        engine: engine.identity().to_owned(),
        numbers: readings.kept.as_ref().map(|kept| kept.replicas.clone()),
    };
    let mut bench = bench(engine, options, stop, progress)?;
    let judging = Judging {
        study: &study,
        claims: &claims,
        looks: &effort.looks,
        maker: &maker,
        quick: options.quick,
    };
    let shown = shown(&study, &effort, options.quick);
    let judged = judging.judge(&readings, &shown, &mut bench)?;
    let (finished, stale) = (bench.finished, bench.stale);
    let mut about = about(files, &study, &effort, options.quick);
    if readings.is_stale {
        about += " Its scenarios or policies have changed since it was calibrated (run --calibrate \
            again).";
    }
    let title = study.title.clone();
    let Some(Judged { claims, runs }) = judged else {
        let (figures, tables) = (Vec::new(), Vec::new());
        return Ok(Reproduced { title, about, ledger: None, figures, tables, finished, stale });
    };
    let data = runs.data();
    let mut ledger = Ledger {
        study: files.id.to_string(),
        quick: options.quick,
        looks: effort.looks.replicas().to_vec(),
        duration: effort.duration.clone(),
        tcp: which_tcp(runs.points().iter().map(|point| &point.scenario)),
        reading: readings.best.name(),
        reading_misses: readings.best_misses,
        rehearsed: String::new(),
        claims,
    };
    rehearsed::write_beside(&mut ledger, files);
    if !options.quick {
        models::join(&mut ledger, files);
    }
    Ok(Reproduced {
        title,
        about,
        ledger: Some(ledger),
        figures: study.figures.iter().map(|f| figure(f, data)).filter(has_points).collect(),
        tables: study.tables.iter().map(|spec| table(spec, data)).collect(),
        finished,
        stale,
    })
}

/// The readings at which claims are judged, and the claims; everything that will be run is checked.
pub(crate) fn judged_by(
    engine: &dyn Engine,
    files: &StudyFiles,
    study: &Study,
    effort: &Effort,
    quick: bool,
) -> Result<(Readings, Claims), Error> {
    let maker = Maker::new(files, study, &effort.duration, engine.identity());
    let readings = Readings::load(&maker)?;
    let plans = mistakes::read_scenarios(&maker, &readings, quick)?;
    mistakes::check_shown(files, study, &plans)?;
    let claims = mistakes::read_claims(files, study, &plans)?;
    Ok((readings, claims))
}

/// Runs the grid of a study's calibration by an engine. `None` when it was interrupted.
///
/// # Errors
/// When there is nothing to calibrate, a file of the study is mistaken, or results cannot be kept.
pub fn calibrate(
    engine: &dyn Engine,
    files: &StudyFiles,
    options: &Options<'_>,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Option<Calibration>, Error> {
    let Some(text) = files.text(calibration::SPEC) else {
        let message = "this study has no such file, so it has nothing to calibrate".to_owned();
        return Err(Error::Study { file: files.place(calibration::SPEC), message });
    };
    let mut study = mistakes::read_study(files)?;
    let mut spec = mistakes::read_calibration(files, &study)?;
    study.name_workload(spec.quantities_mut());
    let duration = spec.duration.as_ref().unwrap_or(&study.full.duration);
    let maker = Maker::new(files, &study, duration, engine.identity());
    mistakes::check_grid(&maker, &spec)?;
    let mut bench = bench(engine, options, stop, progress)?;
    calibration::calibrate(&spec, text, &maker, &mut bench)
}

pub(crate) fn bench<'a>(
    engine: &'a dyn Engine,
    options: &Options<'_>,
    stop: &'a AtomicBool,
    progress: &'a dyn Progress,
) -> Result<Bench<'a>, Error> {
    let cache = Cache::open(Folder::create(options.folder)?, engine.identity());
    let threads = options.threads;
    Ok(Bench { engine, cache, threads, stop, progress, finished: 0, stale: 0 })
}

/// The classes of transfers that checks of a rule compare, each once with the run whose it is.
pub(crate) fn compared(claims: &Claims, rule: Rule) -> Vec<(String, Distribution)> {
    let checks = claims.claims.iter().flat_map(|claim| &claim.checks);
    let compared = checks.filter(|check| check.rule == rule);
    let each = compared.flat_map(|check| {
        let classes: Vec<Option<&str>> = match &check.class {
            None => vec![None],
            Some(classes) => classes.iter().map(|class| Some(class.as_str())).collect(),
        };
        let sides = std::iter::once(&check.ours).chain(&check.than);
        sides.flat_map(move |quantity| {
            let named = |class| (quantity.run.clone(), Distribution::named(quantity, class));
            classes.clone().into_iter().map(named)
        })
    });
    let mut classes = Vec::new();
    for class in each {
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes
}

/// What figures and tables show: every point of their runs, at the first look.
fn shown(study: &Study, effort: &Effort, quick: bool) -> Wanted {
    let replicas = effort.looks.replicas().first().copied().unwrap_or_default();
    let mut wanted = Wanted::default();
    for run in &study.runs {
        let curves = study.figures.iter().flat_map(|figure| &figure.curves).map(|curve| &curve.of);
        let is_drawn = curves.flat_map(|of| std::iter::once(&of.run).chain(&of.over));
        let is_set = study.tables.iter().flat_map(|table| &table.rows).map(|row| &row.run);
        let others = study.tables.iter().flat_map(|table| &table.columns);
        let over = others.filter_map(|column| column.of.over.as_ref());
        if is_drawn.chain(is_set).chain(over).any(|name| *name == run.name) {
            run.points(quick).iter().for_each(|x| wanted.add(&run.name, *x, replicas));
        }
    }
    wanted
}

/// Which study it is, and how much of it is run.
fn about(files: &StudyFiles, study: &Study, effort: &Effort, quick: bool) -> String {
    let mut about = match study.about.as_str() {
        "" => files.description(),
        paper => format!("{paper}. {}", files.description()),
    };
    if quick {
        let Effort { looks, duration } = effort;
        about += &format!(
            " This is the short form, with {} replicas of {duration}: its verdicts may differ from \
                those of the full run. Notes on the full run are omitted.",
            looks.max_replicas()
        );
    }
    about
}

/// A short study may have run none of a figure's points.
fn has_points(figure: &Figure) -> bool {
    figure.curves.iter().any(|curve| !curve.points.is_empty())
}
