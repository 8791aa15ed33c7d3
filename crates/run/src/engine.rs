//! What an engine is, what it is given, and what it gives back.

use shortflow_measure::results::{self, Timing};
use shortflow_measure::{Replica, Summary, TcpSink, TransferSink, Warning, WarningKind};
use shortflow_scenario::Scenario;
use shortflow_units::Duration;

use crate::class_use::ClassUse;
use crate::results::which_tcp;
use crate::tap::Tap;

/// Something that says what happens in a scenario: by simulating it, by computing it, or by doing
/// it.
pub trait Engine: Sync {
    /// Its name, as in `simulate`.
    fn name(&self) -> &'static str;

    /// What tells its results from those of another version: with the same identity, scenario and
    /// replica, an engine that is deterministic gives the same outcome.
    fn identity(&self) -> &str;

    /// Refuses a scenario that it cannot run, and says what stands in the way and what to do. It is
    /// asked about every scenario before anything is run.
    fn check(&self, scenario: &Scenario) -> Result<(), Refusal>;

    /// Whether the machine has what this engine needs; asked before anything is run.
    ///
    /// # Errors
    /// What is lacking, and what to do.
    fn ready(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the machine has what this engine needs for this scenario besides; asked about every scenario before
    /// anything is run.
    ///
    /// # Errors
    /// What is lacking, and what to do.
    fn ready_for(&self, scenario: &Scenario) -> Result<(), Error> {
        let _ = scenario;
        Ok(())
    }

    /// Which TCP runs in these scenarios, in words; empty where nothing uses TCP.
    fn tcp(&self, scenarios: &mut dyn Iterator<Item = &Scenario>) -> String {
        which_tcp(scenarios)
    }

    /// How many tasks it can run at a time.
    fn side_by_side(&self) -> SideBySide {
        SideBySide::AsManyAsThreads
    }

    /// Runs a task to its end, or until [`Observers::look`] returns false: then it gives
    /// [`Error::Interrupted`]. An engine without packets refuses a tap.
    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error>;
}

/// How many tasks an engine can run at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideBySide {
    /// Tasks do not disturb each other.
    AsManyAsThreads,
    /// A task needs the machine for itself, as in real time.
    OneAtATime,
}

/// One replica to run.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// What to run.
    pub scenario: &'a Scenario,
    /// Which replica of it.
    pub replica: u32,
}

/// A task and who is to run it.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// By which engine.
    pub engine: &'a dyn Engine,
    /// What.
    pub task: Task<'a>,
}

/// Who is told what happens in a task.
pub struct Observers<'o> {
    /// Where each completed transfer goes, if anywhere.
    pub transfers: Option<TransferSink>,
    /// Who looks at the packets, if anybody.
    pub tap: Option<Box<dyn Tap>>,
    /// Where is written how senders stand, if anywhere; an engine whose TCP is simulated writes nothing.
    pub tcp_info: Option<TcpInfoLog>,
    /// Is called now and then with the share of the task that is done, from 0 to 1; the task ends
    /// when it returns false.
    pub look: &'o mut dyn FnMut(f64) -> bool,
}

/// Where is written how the senders of connections stand, as their kernels tell it.
#[derive(Debug)]
pub struct TcpInfoLog {
    /// The file.
    pub sink: TcpSink,
    /// How often; at the end of each transfer in any case.
    pub every: Option<Duration>,
}

/// What a task found.
#[derive(Debug)]
pub struct Outcome {
    /// Its measures.
    pub measured: Measured,
    /// What a reader of the results must know of this engine's run.
    pub warnings: Vec<Warning>,
    /// How many packets the classes of the policy were given; `None` where an engine does not tell.
    pub classes: Option<ClassUse>,
    /// How late packets were sent; `None` where time is simulated or computed.
    pub timing: Option<TimingError>,
    /// What went wrong beside the measuring, and did not spoil it: a trace that could not be written.
    pub failure: Option<Error>,
}

impl From<Measured> for Outcome {
    fn from(measured: Measured) -> Self {
        Outcome { measured, warnings: Vec::new(), classes: None, timing: None, failure: None }
    }
}

/// What an engine can say of a task.
#[derive(Debug)]
pub enum Measured {
    /// What one replica found, so that several make an interval.
    Replica(Box<Replica>),
    /// What is expected: the same for every replica, with no interval and not always a distribution.
    Means(Box<Summary>),
}

impl From<Replica> for Measured {
    fn from(replica: Replica) -> Self {
        Measured::Replica(Box::new(replica))
    }
}

/// How much later than it should have been packets were sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimingError {
    /// Half of the packets were later than this.
    pub p50: Duration,
    /// One in a hundred was later than this.
    pub p99: Duration,
    /// The latest.
    pub max: Duration,
    /// How long what carries packets, or makes the load, stood still.
    pub stalls: Stalls,
}

/// The times for which a thread that should have looked at its packets did not, each longer than
/// [`TimingError::LIMIT`]. Packets wait meanwhile, in both directions, and few of them are late by what tells of
/// one that is sent: hence it is told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stalls {
    /// The share of the run that they took together.
    pub share: f64,
    /// The longest.
    pub longest: Duration,
}

impl TimingError {
    /// The 99th percentile above which delays of milliseconds cannot be trusted.
    pub const LIMIT: Duration = Duration::from_millis(1);

    /// The share of the time that may be lost in stalls.
    pub const MAX_STALLED: f64 = 0.01;

    /// The longest stall: half of the least retransmission timeout of Linux (200 ms), so that none expires for it.
    pub const MAX_STALL: Duration = Duration::from_millis(100);

    /// And another thread has stood still for so long.
    #[must_use]
    pub fn with(self, stalls: Stalls) -> TimingError {
        TimingError { stalls: self.stalls.worse(stalls), ..self }
    }

    /// The worse of two runs, by each figure.
    #[must_use]
    pub fn worse(self, other: TimingError) -> TimingError {
        TimingError {
            p50: self.p50.max(other.p50),
            p99: self.p99.max(other.p99),
            max: self.max.max(other.max),
            stalls: self.stalls.worse(other.stalls),
        }
    }

    /// Whether what was measured can be trusted.
    pub fn is_trusted(&self) -> bool {
        let Stalls { share, longest } = self.stalls;
        self.p99 <= TimingError::LIMIT
            && share <= TimingError::MAX_STALLED
            && longest <= TimingError::MAX_STALL
    }

    /// What to say of a run that was too late to trust.
    pub fn warning(&self) -> Option<Warning> {
        let TimingError { p50, p99, max, stalls: Stalls { share, longest } } = self;
        let limits = (TimingError::LIMIT, TimingError::MAX_STALL);
        let [p50, p99, max, longest] =
            [p50, p99, max, longest].map(|time| format!("{:.3} ms", time.as_secs_f64() * 1e3));
        (!self.is_trusted()).then(|| {
            let message = format!(
                "The machine was too slow: packets were sent {p50} (median), {p99} (p99) and {max} (at most) after \
                 their time, and it stood still for {:.1} % of the time, at most {longest} at once; above {} (p99), \
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
    /// As it was written down.
    fn from(timing: Timing) -> Self {
        let Timing { p50, p99, max, stalled, longest_stall } = timing;
        let [p50, p99, max, longest] = [p50, p99, max, longest_stall]
            .map(|seconds| Duration::from_nanos((seconds * 1e9).round() as u64));
        TimingError { p50, p99, max, stalls: Stalls { share: stalled, longest } }
    }
}

impl Stalls {
    /// The worse of two: whichever stood still for longer, and the longest of both.
    #[must_use]
    pub fn worse(self, other: Stalls) -> Stalls {
        Stalls { share: self.share.max(other.share), longest: self.longest.max(other.longest) }
    }
}

/// Why an engine does not run a scenario: what was found, what is allowed, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Why a task gave no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The engine cannot run the scenario.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The machine lacks something: what, and what to do.
    #[error("{0}")]
    Machine(String),
    /// Its transfers could not be written.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// What looked on could not write what it saw.
    #[error(transparent)]
    Trace(results::Error),
}
