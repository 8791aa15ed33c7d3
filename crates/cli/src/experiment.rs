//! What `simulate` and `compare` share: run all replicas, write the results, show them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use shortflow_measure::TransferSink;
use shortflow_measure::results::Folder;
use shortflow_report::{Run, text};
use shortflow_scenario::{Loaded, Overrides};
use shortflow_sim::{self as sim, Observer, Outcome, Tap, Task, run_tasks};
use shortflow_text::Diagnostics;

use crate::args::RunOptions;
use crate::check;
use crate::console::Console;
use crate::failure::Failure;
use crate::gather::{Found, Place, gather};
use crate::machine::refuse_too_large;
use crate::output::{COMPARISON, Output};
use crate::progress::Progress;
use crate::tracing::Tracing;

/// A scenario under one policy.
#[derive(Debug)]
pub(crate) struct Case {
    /// What it is called beside others.
    pub(crate) label: String,
    /// The folder of its results inside that of the command, where there are several.
    pub(crate) folder: Option<String>,
    /// What was set by hand.
    pub(crate) set: Vec<(String, String)>,
    /// What to run.
    pub(crate) loaded: Loaded,
}

/// What the options say about the scenario itself.
pub(crate) fn overrides(options: &RunOptions, policy: Option<&Path>) -> Overrides {
    let mut set = options.set.clone();
    set.extend(options.seed.map(|seed| ("seed".to_owned(), seed.to_string())));
    set.extend(options.replicas.map(|replicas| ("replicas".to_owned(), replicas.to_string())));
    Overrides { policy: policy.map(Path::to_owned), set, bind: options.bind.clone() }
}

/// Runs all replicas of all cases, writes `target`, and shows the result. All cases come from the
/// same scenario file. A trace is of the only replica that there is.
pub(crate) fn conduct(
    console: &Console,
    options: &RunOptions,
    cases: &[Case],
    trace: Option<&Tracing>,
    target: &Path,
) -> Result<(), Failure> {
    let all: Vec<&Loaded> = cases.iter().map(|case| &case.loaded).collect();
    refuse_too_large(&all, options.jobs, options.memory)?;
    let warnings = warnings(cases);
    console.warnings(&warnings);
    let output = Output::prepare(target, options.force)?;
    let found =
        run(console, options, cases, trace, &output).map_err(|f| output.by_final_names(f))?;
    write(&output, cases, &found).map_err(|f| output.by_final_names(f))?;
    let report = output.publish()?;
    if options.json {
        console.print_json(&as_json(&found, trace, &report, &warnings))?;
    } else {
        console.print(&format!("{}\n", text(&found.runs, console.color_out)))?;
        trace.map_or(Ok(()), |trace| console.file("Trace", &trace.file))?;
        console.file("Report", &report)?;
    }
    found.interruption.map_or(Ok(()), |what| Err(Failure::Interrupted(what)))
}

/// The warnings of all cases, each once.
fn warnings(cases: &[Case]) -> Diagnostics {
    let mut all = Diagnostics::default();
    for found in cases.iter().flat_map(|case| &case.loaded.warnings.0) {
        if !all.0.contains(found) {
            all.0.push(found.clone());
        }
    }
    all
}

fn as_json(
    found: &Found,
    trace: Option<&Tracing>,
    report: &Path,
    warnings: &Diagnostics,
) -> serde_json::Value {
    let run = |run: &Run| json!({ "label": run.label, "points": run.points });
    json!({
        "report": report,
        "trace": trace.map(|trace| &trace.file),
        "warnings": check::as_json(warnings),
        "interrupted": found.interruption.is_some(),
        "runs": found.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn write(output: &Output, cases: &[Case], found: &Found) -> Result<(), Failure> {
    for (case, run) in cases.iter().zip(&found.runs) {
        output.folder(case.folder.as_deref())?.write(&run.manifest, &run.points)?;
    }
    let folders: Vec<&str> = cases.iter().filter_map(|case| case.folder.as_deref()).collect();
    if !folders.is_empty() {
        output.folder(None)?.write_json(COMPARISON, &folders)?;
    }
    output.report(&found.runs)
}

fn run(
    console: &Console,
    options: &RunOptions,
    cases: &[Case],
    trace: Option<&Tracing>,
    output: &Output,
) -> Result<Found, Failure> {
    let places = places(cases);
    let task = |place: &Place| Task {
        scenario: &cases[place.case].loaded.points()[place.point].scenario,
        replica: place.replica,
    };
    let tasks: Vec<Task<'_>> = places.iter().map(task).collect();
    let keeps_transfers = !options.no_transfers;
    let folders = cases.iter().map(|case| output.folder(case.folder.as_deref()));
    let watch = Watch {
        progress: Progress::new(console, tasks.len(), 0),
        folders: keeps_transfers.then(|| folders.collect::<Result<_, _>>()).transpose()?,
        trace,
        places: &places,
        tasks: &tasks,
    };
    let stop = stop_on_interrupt()?;
    let outcomes = run_tasks(&tasks, options.jobs.unwrap_or(0).into(), stop, &watch);
    watch.progress.end();
    gather(cases, &places, outcomes)
}

/// All replicas: each replica of each point under all cases in a row, so that what is complete when
/// Ctrl-C comes can be compared.
fn places(cases: &[Case]) -> Vec<Place> {
    let points = cases[0].loaded.points();
    let most = points.iter().map(|point| point.scenario.replicas).max().unwrap_or(0);
    let mut places = Vec::new();
    for replica in 0..most {
        for (point, _) in points.iter().enumerate().filter(|(_, p)| replica < p.scenario.replicas) {
            places.extend((0..cases.len()).map(|case| Place { case, point, replica }));
        }
    }
    places
}

/// Looks after the replicas while they run.
struct Watch<'w> {
    progress: Progress,
    /// Where transfers are streamed, case by case, if anywhere.
    folders: Option<Vec<Folder>>,
    trace: Option<&'w Tracing>,
    places: &'w [Place],
    tasks: &'w [Task<'w>],
}

impl Observer for Watch<'_> {
    fn transfers(&self, task: usize) -> Result<Option<TransferSink>, sim::Error> {
        let Some(folders) = &self.folders else { return Ok(None) };
        let Place { case, point, replica } = self.places[task];
        let rows = self.tasks[task].scenario.result_rows();
        let names = rows.into_iter().map(|row| row.name).collect();
        Ok(Some(TransferSink::create(&folders[case], point, replica, names)?))
    }

    fn tap(&self, task: usize) -> Result<Option<Box<dyn Tap>>, sim::Error> {
        let start = |trace: &Tracing| trace.start(self.tasks[task].scenario);
        self.trace.map(start).transpose()
    }

    fn advanced(&self, _: usize, share: f64) {
        self.progress.advance(share);
    }

    fn completed(&self, _: usize, _: &mut Outcome) -> Result<(), sim::Error> {
        self.progress.complete();
        Ok(())
    }
}

/// A flag that Ctrl-C and a request to terminate set.
pub(crate) fn stop_on_interrupt() -> Result<&'static AtomicBool, Failure> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Machine(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(&STOP)
}
