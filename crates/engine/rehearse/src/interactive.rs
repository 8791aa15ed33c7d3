//! A rehearsal with the user's own programs next to its workloads, and with an observer.

use std::sync::atomic::{AtomicBool, Ordering};

use shortflow_run::{Engine, Error, Observers, Outcome, Refusal, SideBySide, Tap, Task};
use shortflow_scenario::Scenario;

use crate::clock::Clock;
use crate::engine::Rehearsal;
use crate::monitor::Monitor;
use crate::programs::HostPrograms;
use crate::traffic::Place;

/// A rehearsal with programs during its workloads, or with an observer: an engine that returns the results of the
/// scenario's workloads, measured with the programs' packets.
#[derive(Clone, Copy)]
pub struct InteractiveRehearsal<'a> {
    /// What it is besides.
    pub rehearsal: Rehearsal,
    /// The programs, if there are any.
    pub programs: Option<HostPrograms<'a>>,
    /// Where it is shown, if anywhere.
    pub monitor: Option<&'a Monitor>,
}

/// What is beside the workloads of one run.
pub(crate) struct Companions<'a> {
    programs: Option<HostPrograms<'a>>,
    pub(crate) monitor: Option<&'a Monitor>,
    until: Until,
    /// The last program has ended, or one could not be started.
    is_done: AtomicBool,
    /// The run is over.
    is_closed: AtomicBool,
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// When the scenario does.
    ScenarioEnds,
    /// When the last program does.
    LastProgramEnds,
}

impl InteractiveRehearsal<'_> {
    /// Runs the first replica of a scenario until the last program has ended, or the scenario has, or `look`
    /// returns false; nothing is measured, and `tap` looks at the packets, if anybody does. True when the program has ended by itself.
    ///
    /// # Errors
    /// When the machine lacks something.
    pub fn run_until_done(
        &self,
        scenario: &Scenario,
        tap: Option<Box<dyn Tap>>,
        look: &mut dyn FnMut() -> bool,
    ) -> Result<bool, Error> {
        let companions = Companions::new(*self, Until::LastProgramEnds);
        let observers = Observers { transfers: None, tap, tcp_info: None, look: &mut |_| look() };
        let task = Task { scenario, replica: 0 };
        match self.rehearsal.run_beside(&task, observers, Some(&companions)) {
            Ok(_) | Err(Error::Interrupted) => Ok(companions.is_done.load(Ordering::Relaxed)),
            Err(error) => Err(error),
        }
    }
}

impl Engine for InteractiveRehearsal<'_> {
    fn name(&self) -> &'static str {
        self.rehearsal.name()
    }

    fn identity(&self) -> &str {
        self.rehearsal.identity()
    }

    fn ready(&self) -> Result<(), Error> {
        self.rehearsal.ready()
    }

    fn ready_for(&self, scenario: &Scenario) -> Result<(), Error> {
        self.rehearsal.ready_for(scenario)
    }

    fn tcp(&self, scenarios: &mut dyn Iterator<Item = &Scenario>) -> String {
        self.rehearsal.tcp(scenarios)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        self.rehearsal.check(scenario)
    }

    fn side_by_side(&self) -> SideBySide {
        self.rehearsal.side_by_side()
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        let companions = Companions::new(*self, Until::ScenarioEnds);
        self.rehearsal.run_beside(task, observers, Some(&companions))
    }
}

impl<'a> Companions<'a> {
    fn new(interactive: InteractiveRehearsal<'a>, until: Until) -> Self {
        let (is_done, is_closed) = (AtomicBool::new(false), AtomicBool::new(false));
        let InteractiveRehearsal { programs, monitor, .. } = interactive;
        Companions { programs, monitor, until, is_done, is_closed }
    }

    /// Lets programs run until it is closed.
    pub(crate) fn run(
        &self,
        place: Place<'_>,
        scenario: &Scenario,
        clock: Clock,
    ) -> Result<(), Error> {
        let Some(programs) = self.programs else { return Ok(()) };
        clock.wait_for_start();
        let ran = programs.run(place, scenario, &self.is_closed, &self.is_done);
        if ran.is_err() {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        ran
    }

    /// Prepares the hosts of programs, and returns notes for the reader.
    pub(crate) fn prepare(&self, place: Place<'_>, scenario: &Scenario) -> Option<String> {
        let programs = self.programs?;
        let note = programs.choose_congestion(place, scenario)?;
        if self.until == Until::ScenarioEnds {
            return Some(note);
        }
        programs.audience.note(&note);
        None
    }

    /// Whether the run is to end before its time.
    pub(crate) fn is_over(&self) -> bool {
        let is_done = self.until == Until::LastProgramEnds && self.is_done.load(Ordering::Relaxed);
        is_done || self.is_closed.load(Ordering::Relaxed)
    }

    /// Closes it when what is returned is dropped.
    pub(crate) fn closing(&self) -> Closing<'_> {
        Closing(&self.is_closed)
    }
}

/// Closes an attendance when it is dropped, however that comes about.
pub(crate) struct Closing<'a>(&'a AtomicBool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
