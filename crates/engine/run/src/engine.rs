//! The interface of engines: their input and their results.

use shortflow_measure::results::{self, Timing};
use shortflow_measure::{Replica, Summary, TcpSink, TransferSink, Warning, WarningKind};
use shortflow_scenario::Scenario;
use shortflow_units::Duration;

use crate::class_use::ClassUse;
use crate::results::which_tcp;
use crate::tap::Tap;

/// An engine computes the results of a scenario: by simulation, by formulae, or with real packets.
pub trait Engine: Sync {
    /// Its name, as in `simulate`.
    fn name(&self) -> &'static str;

    /// The version of its results. A deterministic engine with the same identity gives the same result for
    /// the same scenario and replica.
    fn identity(&self) -> &str;

    /// Refuses a scenario that it cannot run, with the reason and a remedy. Called for every scenario before
    /// any run.
    fn check(&self, scenario: &Scenario) -> Result<(), Refusal>;

    /// Checks that the machine meets this engine's requirements. Called before any run.
    ///
    /// # Errors
    /// The missing requirement, and a remedy.
    fn ready(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks that the machine meets the further requirements of this scenario. Called for every scenario
    /// before any run.
    ///
    /// # Errors
    /// The missing requirement, and a remedy.
    fn ready_for(&self, scenario: &Scenario) -> Result<(), Error> {
        let _ = scenario;
        Ok(())
    }

    /// The name of the TCP in these scenarios; empty if they do not use TCP.
    fn tcp(&self, scenarios: &mut dyn Iterator<Item = &Scenario>) -> String {
        which_tcp(scenarios)
    }

    /// How many tasks it can run in parallel.
    fn side_by_side(&self) -> SideBySide {
        SideBySide::AsManyAsThreads
    }

    /// Runs a task to its end, or until [`Observers::look`] returns false, which gives
    /// [`Error::Interrupted`]. An engine without packets refuses a tap.
    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error>;
}

/// How many tasks an engine can run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideBySide {
    /// Any number of tasks.
    AsManyAsThreads,
    /// One task, which needs the whole machine, for example in real time.
    OneAtATime,
}

/// One replica to run.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The number of the replica.
    pub replica: u32,
}

/// A task and its engine.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The engine.
    pub engine: &'a dyn Engine,
    /// The task.
    pub task: Task<'a>,
}

/// The receivers of a task's events.
pub struct Observers<'o> {
    /// Receives each completed transfer.
    pub transfers: Option<TransferSink>,
    /// Observes packets.
    pub tap: Option<Box<dyn Tap>>,
    /// Receives the state of TCP senders.
    pub tcp_info: Option<TcpInfoLog>,
    /// Called from time to time with the completed share of the task, from 0 to 1. The task ends if it
    /// returns false.
    pub look: &'o mut dyn FnMut(f64) -> bool,
}

/// Where the state of TCP senders, as kernels report it, is written.
#[derive(Debug)]
pub struct TcpInfoLog {
    /// The file.
    pub sink: TcpSink,
    /// The interval. At the end of each transfer there is always an entry.
    pub every: Option<Duration>,
}

/// The result of a task.
#[derive(Debug)]
pub struct Outcome {
    /// The measures.
    pub measured: Measured,
    /// Warnings about this engine's run, for readers of the results.
    pub warnings: Vec<Warning>,
    /// Packets per class of the policy; `None` if the engine does not count them.
    pub classes: Option<ClassUse>,
    /// How late packets were sent; `None` if time is simulated or computed.
    pub timing: Option<TimingError>,
    /// A failure that does not affect the results, such as a trace that could not be written.
    pub failure: Option<Error>,
}

impl From<Measured> for Outcome {
    fn from(measured: Measured) -> Self {
        Outcome { measured, warnings: Vec::new(), classes: None, timing: None, failure: None }
    }
}

/// The kinds of measures of a task.
#[derive(Debug)]
pub enum Measured {
    /// The measures of one replica. Several replicas give a confidence interval.
    Replica(Box<Replica>),
    /// Expected values: the same for every replica, without intervals and sometimes without distributions.
    Means(Box<Summary>),
}

impl From<Replica> for Measured {
    fn from(replica: Replica) -> Self {
        Measured::Replica(Box::new(replica))
    }
}

/// How late packets were sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimingError {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The maximum.
    pub max: Duration,
    /// How long a thread that carries packets, or generates the load, did not run.
    pub stalls: Stalls,
}

/// Times in which a thread should have handled packets but did not run, each longer than
/// [`TimingError::LIMIT`]. Packets wait meanwhile in both directions, but only few are sent late, so the
/// lateness of packets does not show stalls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stalls {
    /// Their total share of the run.
    pub share: f64,
    /// The longest stall.
    pub longest: Duration,
}

impl TimingError {
    /// The limit on the 99th percentile. Above it delays of milliseconds cannot be trusted.
    pub const LIMIT: Duration = Duration::from_millis(1);

    /// The limit on the share of time in stalls.
    pub const MAX_STALLED: f64 = 0.01;

    /// The limit on a single stall: half of Linux's minimum retransmission timeout (200 ms), so that a stall
    /// causes no timeout.
    pub const MAX_STALL: Duration = Duration::from_millis(100);

    /// Adds the stalls of another thread.
    #[must_use]
    pub fn with(self, stalls: Stalls) -> TimingError {
        TimingError { stalls: self.stalls.worse(stalls), ..self }
    }

    /// The maximum of two runs, value by value.
    #[must_use]
    pub fn worse(self, other: TimingError) -> TimingError {
        TimingError {
            p50: self.p50.max(other.p50),
            p99: self.p99.max(other.p99),
            max: self.max.max(other.max),
            stalls: self.stalls.worse(other.stalls),
        }
    }

    /// Whether the results can be trusted.
    pub fn is_trusted(&self) -> bool {
        let Stalls { share, longest } = self.stalls;
        self.p99 <= TimingError::LIMIT
            && share <= TimingError::MAX_STALLED
            && longest <= TimingError::MAX_STALL
    }

    /// The warning about a run that was too late to trust.
    pub fn warning(&self) -> Option<Warning> {
        let TimingError { p50, p99, max, stalls: Stalls { share, longest } } = self;
        let limits = (TimingError::LIMIT, TimingError::MAX_STALL);
        let [p50, p99, max, longest] =
            [p50, p99, max, longest].map(|time| format!("{:.3} ms", time.as_secs_f64() * 1e3));
        (!self.is_trusted()).then(|| {
            let message = format!(
                "The machine was too slow: packets were {p50} (median), {p99} (p99) and {max} (maximum) late, \
                 and it stalled for {:.1} % of the time, {longest} at most. Above {} (p99), \
                 {:.0} % or {} the results cannot be trusted.",
                100.0 * share,
                limits.0,
                100.0 * TimingError::MAX_STALLED,
                limits.1,
            );
            Warning::new(WarningKind::Late, message)
        })
    }
}

impl From<Timing> for TimingError {
    /// From its form in results.
    fn from(timing: Timing) -> Self {
        let Timing { p50, p99, max, stalled, longest_stall } = timing;
        let [p50, p99, max, longest] = [p50, p99, max, longest_stall]
            .map(|seconds| Duration::from_nanos((seconds * 1e9).round() as u64));
        TimingError { p50, p99, max, stalls: Stalls { share: stalled, longest } }
    }
}

impl Stalls {
    /// The maximum of two, value by value.
    #[must_use]
    pub fn worse(self, other: Stalls) -> Stalls {
        Stalls { share: self.share.max(other.share), longest: self.longest.max(other.longest) }
    }
}

/// Why an engine does not run a scenario: what was found, what is allowed, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The engine cannot run the scenario.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It took longer than the time limit.
    #[error("{0}")]
    TimeLimit(String),
    /// The machine does not meet a requirement: which one, and a remedy.
    #[error("{0}")]
    Machine(String),
    /// Its transfers could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A tap could not write its output.
    #[error(transparent)]
    Trace(results::Error),
}
