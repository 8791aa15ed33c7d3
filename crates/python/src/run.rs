//! Runs of cases by engines, in memory or into a folder of results.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use shortflow_measure::View;
use shortflow_predict::{Prediction, PredictionCache};
use shortflow_run::{
    Case as RunCase, Engine, Experiment, InMemory, Origin, OutputFolder, Progress, ReplicaNumbers,
    read_runs, refuse_too_large,
};
use shortflow_sim::Simulator;

use crate::case::Case;
use crate::failure::Failure;
use crate::runs::Runs;
use crate::watch::{Stop, watched};

/// How cases run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct How {
    /// The engines by name: `simulate`, `predict`.
    engines: Vec<String>,
    /// The names of the policies' files, one for each case, to distinguish equal labels.
    places: Vec<String>,
    /// The numbers of the replicas; all without.
    replicas: Option<Vec<u32>>,
    /// Replicas in parallel; 0 is one per core.
    jobs: u16,
    /// Whether single transfers are kept.
    transfers: bool,
    /// The folder of results; in memory without.
    out: Option<PathBuf>,
    /// Whether other files may be in that folder.
    force: bool,
    /// The call, for the manifest.
    command: String,
}

/// Runs cases. On Ctrl-C it raises `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (cases, how, stop=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    cases: Vec<PyRef<'_, Case>>,
    how: How,
    stop: Option<PyRef<'_, Stop>>,
    progress: Option<Py<PyAny>>,
) -> Result<Runs, Failure> {
    let own = Stop::default();
    let flag = stop.as_ref().map_or(&own, |stop| stop);
    let prediction = predictions(&cases, &how)?;
    let engines = engines(&how.engines, prediction.as_ref())?;
    let cases = arrange(&cases, &how, &engines)?;
    let all: Vec<_> = cases.iter().map(|case| &case.loaded).collect();
    refuse_too_large(&all, Some(how.jobs), None)?;
    let numbers = numbers(&cases[0], how.replicas.as_deref());
    let work = |progress: &dyn Progress| work(&cases, &how, &numbers, &flag.0, progress);
    // A thread that has its own `stop` is a worker, to which no signal is delivered.
    match (&stop, &progress) {
        (Some(_), None) => py.detach(|| work(&())),
        _ => watched(py, &flag.0, progress.as_ref(), work)?,
    }
}

/// Predictions of all points, where the engine is asked for.
fn predictions(cases: &[PyRef<'_, Case>], how: &How) -> Result<Option<PredictionCache>, Failure> {
    if !how.engines.iter().any(|name| name == Prediction.name()) {
        return Ok(None);
    }
    let points = cases.iter().flat_map(|case| case.loaded.points()).map(|point| &point.scenario);
    let cache = PredictionCache::new(points);
    if how.engines.len() == 1 {
        cache.answers().map_err(|refused| Failure::Input(refused.to_string()))?;
    }
    Ok(Some(cache))
}

fn engines<'e>(
    names: &[String],
    predictions: Option<&'e PredictionCache>,
) -> Result<Vec<&'e dyn Engine>, Failure> {
    let engine = |name: &String| match (name.as_str(), predictions) {
        ("predict", Some(cache)) => Ok(cache as &dyn Engine),
        ("simulate", _) => Ok(&Simulator as &dyn Engine),
        _ => Err(Failure::Input(format!("unknown engine `{name}`: use simulate or predict"))),
    };
    names.iter().map(engine).collect()
}

/// Each case with each engine.
fn arrange<'e>(
    cases: &[PyRef<'_, Case>],
    how: &How,
    engines: &[&'e dyn Engine],
) -> Result<Vec<RunCase<'e>>, Failure> {
    let Some(first) = engines.first() else {
        return Err(Failure::Input("no engine: use simulate or predict".to_owned()));
    };
    let cases: Vec<RunCase<'e>> = cases.iter().map(|case| case.with(*first)).collect();
    let cases = match &cases[..] {
        [] => return Err(Failure::Input("no case to run".to_owned())),
        [_] => cases,
        _ => RunCase::beside(cases, &how.places)?,
    };
    Ok(RunCase::by_each(cases, engines))
}

/// The numbers of the replicas of each point.
fn numbers(case: &RunCase<'_>, chosen: Option<&[u32]>) -> ReplicaNumbers {
    let points = case.loaded.points().iter();
    let all = |replicas: u32| (0..replicas).collect();
    points
        .map(|point| chosen.map_or_else(|| all(point.scenario.replicas), <[u32]>::to_vec))
        .collect()
}

fn work(
    cases: &[RunCase<'_>],
    how: &How,
    numbers: &ReplicaNumbers,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> Result<Runs, Failure> {
    let experiment = Experiment {
        cases,
        numbers,
        threads: how.jobs.into(),
        keeps_transfers: how.transfers,
        tcp_info: None,
        tap: None,
        origin: Origin { version: shortflow_version::VERSION, command: &how.command },
    };
    match &how.out {
        None => {
            let InMemory { results, transfers, .. } = experiment.run_in_memory(stop, progress)?;
            let failed = results.failed_points();
            results.failure.map_or(Ok(()), Err)?;
            if results.interruption.is_some() {
                return Err(Failure::Interrupted);
            }
            Ok(Runs::new(results.runs, Some(transfers), failed))
        }
        Some(folder) => {
            let output = OutputFolder::prepare(folder, how.force)?;
            let results = experiment.run(&output, stop, progress);
            let results = results.map_err(|error| output.by_final_names(error))?;
            let failed = results.failed_points();
            let view = View::new(&results.runs);
            output.write(cases, &view)?;
            shortflow_report::write(&output.folder(None)?, &view)?;
            let folder = output.publish()?;
            results.failure.map_or(Ok(()), Err)?;
            if results.interruption.is_some() {
                return Err(Failure::Interrupted);
            }
            let runs = read_runs(&[folder]).map_err(|error| Failure::Input(error.to_string()))?;
            Ok(Runs::new(runs, None, failed))
        }
    }
}
