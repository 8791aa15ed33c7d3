//! Runs the replicas of cases, saves what is complete from time to time, and shows the results.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use shortflow_measure::View;
use shortflow_run::{
    Case, Error, Experiment, Interruption, Limits, Origin, OutputFolder, ReplicaNumbers, Results,
    StartTap, TcpInfoTimes, TimeLimit, command_line, refuse_too_large,
};
use shortflow_scenario::{Loaded, Scenario};
use shortflow_trace::Request;
use shortflow_units::Duration;

use crate::console::Console;
use crate::failure::Failure;
use crate::how_args::{HowToRun, OnError};
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::replicas::{Selection, Work, narrow};
use crate::simulate::{Shown, publish};
use crate::tables::{self, TableFormat};

/// What is special about a run: what is written down besides results, and which replicas run.
#[derive(Default)]
pub(crate) struct Looking<'l> {
    pub(crate) selection: Selection,
    pub(crate) trace: Option<&'l Request>,
    /// Who else looks at the packets; a trace comes first.
    pub(crate) tap: Option<&'l StartTap<'l>>,
    pub(crate) tcp_info: Option<TcpInfoTimes>,
    /// The format of tables, unless the options give one.
    pub(crate) format: Option<TableFormat>,
    /// Does what it is given, and something else beside it.
    pub(crate) beside: Option<Beside<'l>>,
    /// What became of the user's own programs, for machines.
    pub(crate) programs: Option<&'l dyn Fn() -> Value>,
}

/// Does what it is given, and something else beside it.
pub(crate) type Beside<'l> = &'l dyn Fn(&mut dyn FnMut());

/// Runs the replicas of all cases, writes `target`, and shows the result.
///
/// A long run saves the complete replicas from time to time, as if it were interrupted and resumed. So a kill loses only what ran
/// since then.
pub(crate) fn conduct(
    console: &Console,
    how: &HowToRun,
    cases: &[Case<'_>],
    looking: Looking<'_>,
    target: &Path,
) -> Result<(), Failure> {
    let all: Vec<&Loaded> = cases.iter().map(|case| &case.loaded).collect();
    tables::refuse_unbuilt(how.format)?;
    refuse_too_large(&all, how.jobs, how.memory)?;
    console.warnings(&Case::warnings(cases));
    let command = command_line(std::env::args_os().skip(1));
    let stop = stop_on_interrupt()?;
    let conductor =
        Conductor { console, how, cases, looking: &looking, target, command: &command, stop };
    let mut selection = looking.selection.clone();
    let mut pause = looking.can_pause().then_some(how.save_every);
    loop {
        let (work, output) = conductor.prepare(selection.clone())?;
        let (results, has_paused) = conductor.run(&work, &output, pause)?;
        let started = Instant::now();
        let results = conductor.complete(work, &output, results)?;
        if !has_paused {
            return conductor.show(output, results);
        }
        conductor.save(output, results)?;
        selection.resume_own();
        // Saving rewrites all that is there, so it happens the less often the longer it takes.
        let cost = Duration::from_nanos(started.elapsed().as_nanos() as u64);
        pause = Some(how.save_every.max(cost * SAVE_SHARE));
    }
}

/// The least time between two times of saving, as a multiple of what it takes.
const SAVE_SHARE: u64 = 30;

impl Looking<'_> {
    /// Whether the run may be divided into several: nothing but replicas is watched.
    fn can_pause(&self) -> bool {
        let is_watched = self.trace.is_some() || self.tap.is_some() || self.beside.is_some();
        !is_watched && self.selection.precision.is_none()
    }
}

/// What a run needs from its beginning to its end.
struct Conductor<'c> {
    console: &'c Console,
    how: &'c HowToRun,
    cases: &'c [Case<'c>],
    looking: &'c Looking<'c>,
    target: &'c Path,
    command: &'c str,
    stop: &'static AtomicBool,
}

impl Conductor<'_> {
    fn origin(&self) -> Origin<'_> {
        Origin { version: shortflow_version::VERSION, command: self.command }
    }

    /// What runs, and the folder for it.
    fn prepare(&self, selection: Selection) -> Result<(Work, OutputFolder), Failure> {
        let work = selection.resume(self.cases, self.target, self.origin())?;
        tables::refuse_unbuilt(self.format(&work))?;
        Ok((work, OutputFolder::prepare(self.target, self.how.force)?))
    }

    /// The format of tables.
    fn format(&self, work: &Work) -> Option<TableFormat> {
        self.how.format.or(self.looking.format).or_else(|| work.format())
    }

    /// Runs replicas, and says whether some are left only because of the pause.
    fn run(
        &self,
        work: &Work,
        output: &OutputFolder,
        pause: Option<Duration>,
    ) -> Result<(Results, bool), Failure> {
        let started = Instant::now();
        let clock = || Duration::from_nanos(started.elapsed().as_nanos() as u64);
        let limit = |most| TimeLimit { most, clock: &clock };
        let limits = Limits {
            time: self.how.time_limit.map(limit),
            pause: pause.map(limit),
            records_errors: self.how.on_error == OnError::Record,
        };
        let run = |numbers: &ReplicaNumbers| self.run_numbers(numbers, output, limits);
        let mut results = run(&work.numbers)?;
        if let Some(precision) = self.looking.selection.precision {
            let numbers = work.numbers.clone();
            results = narrow(self.console, precision, results, numbers, &run, self.command)?;
        }
        let is_stopped = self.stop.load(Ordering::Relaxed) || results.failure.is_some();
        let has_paused = pause.is_some() && results.interruption.is_some() && !is_stopped;
        Ok((results, has_paused))
    }

    fn run_numbers(
        &self,
        numbers: &ReplicaNumbers,
        output: &OutputFolder,
        limits: Limits<'_>,
    ) -> Result<Results, Failure> {
        let Looking { trace, tap, tcp_info, beside, .. } = *self.looking;
        let start = |trace: &Request, of: &Scenario| trace.start(of).map_err(Error::Trace);
        let of_trace = trace.map(|trace| move |scenario: &Scenario| start(trace, scenario));
        let experiment = Experiment {
            cases: self.cases,
            numbers,
            threads: self.how.jobs.unwrap_or(0).into(),
            keeps_transfers: !self.how.no_transfers,
            tcp_info,
            tap: of_trace.as_ref().map(|start| start as &StartTap<'_>).or(tap),
            origin: self.origin(),
        };
        let bar = Bar::new(self.console);
        let mut results = None;
        let mut run = || results = Some(experiment.run_within(limits, output, self.stop, &bar));
        match beside {
            Some(beside) => beside(&mut run),
            None => run(),
        }
        bar.end();
        let results = results.expect("what is beside a run lets it run");
        results.map_err(|error| failure_of(output.by_final_names(error), self.cases.len()))
    }

    /// The results with those that are kept, and what their manifests say.
    fn complete(
        &self,
        work: Work,
        output: &OutputFolder,
        results: Results,
    ) -> Result<Results, Failure> {
        let format = self.format(&work);
        let mut results =
            work.with_kept(self.console, output, self.cases, results, self.command)?;
        for run in &mut results.runs {
            run.manifest.tables = format.map(TableFormat::name);
            run.manifest.tcp_info = self.looking.tcp_info.map(|times| times.to_string());
        }
        results.failure = results.failure.map(|error| output.by_final_names(error));
        Ok(results)
    }

    /// Saves what is complete, to be resumed.
    fn save(&self, output: OutputFolder, results: Results) -> Result<(), Failure> {
        let written = output.write(self.cases, &View::new(&results.runs));
        written.map_err(|error| output.named_finally(error))?;
        output.publish()?;
        Ok(())
    }

    /// Writes the results, and shows them.
    fn show(&self, output: OutputFolder, results: Results) -> Result<(), Failure> {
        let (are_trusted, failed) = (results.are_trusted(), results.failed_points());
        let Results { runs, interruption, failure } = results;
        let all: usize = runs.iter().map(|run| run.points.len()).sum();
        let view = View::new(&runs);
        let folders: Vec<Option<String>> =
            self.cases.iter().map(|case| case.folder.clone()).collect();
        let format = runs.first().and_then(TableFormat::of_run);
        let written = output.write(self.cases, &view);
        let written = written.and_then(|()| tables::write(&output, &folders, &runs, format));
        // What cannot be written is shown nevertheless.
        let page = publish(output, written, &view);
        let of_run = |found: &mut Value| {
            found["interrupted"] = json!(interruption.is_some());
            if let Some(programs) = self.looking.programs {
                found["programs"] = programs();
            }
        };
        let trace = self.looking.trace.map(|trace| trace.file.as_path());
        let (json, brief) = (self.how.json, self.how.brief);
        Shown { json, brief, trace, of_run: &of_run }.print(self.console, &view, page)?;
        tell_what_is_kept(self.console, interruption, failure)?;
        if failed > 0 {
            self.console.note(&format!("{failed} of {all} points failed; the others are complete"));
            return Err(Failure::Check);
        }
        if are_trusted { Ok(()) } else { Err(Failure::TooLate) }
    }
}

/// Says what is kept of a run that was interrupted, or met with an error; such a run has failed.
fn tell_what_is_kept(
    console: &Console,
    interruption: Option<Interruption>,
    failure: Option<Error>,
) -> Result<(), Failure> {
    let what = interruption.map_or("the measurements are kept".to_owned(), |part| {
        format!("kept the {} of {} replicas that are complete", part.kept, part.all)
    });
    match (interruption, failure) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(Failure::Interrupted(format!("interrupted: {what}"))),
        (_, Some(error)) => {
            console.note(&what);
            Err(error.into())
        }
    }
}

/// Why these cases have no results.
fn failure_of(error: Error, cases: usize) -> Failure {
    let what = "interrupted before a replica was complete in every compared case; nothing is kept";
    match error {
        Error::Interrupted if cases > 1 => Failure::Interrupted(what.to_owned()),
        error => error.into(),
    }
}
