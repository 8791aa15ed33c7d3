//! The replay of a simulated run: simulates the run of a results folder again, and shows it over time.
//!
//! The same file and seed give the same bits, so a replay needs no recording. If the folder holds several runs, as
//! those of `compare`, a user can switch between policies in the middle: the page then shows the results of the same
//! arrivals under the other policy from the start.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use shortflow_measure::{Replica, Run};
use shortflow_run::{
    Engine, Error, Measured, Observers, Outcome, ReadError, Stored, StoredError, Task, read_runs,
};
use shortflow_scenario::Scenario;

use crate::controls::{Change, ControlError, Controls, Preview};
use crate::diff::diff;
use crate::hub::Hub;
use crate::model::{About, Choice, Kind, Pace, Snapshot};
use crate::port_tap::{DELAY, PortTap, Watched};

/// The interval of the replay's clock.
const STEP: Duration = Duration::from_millis(50);

/// Runs of one folder, shown again.
pub struct Replay<'e> {
    engine: &'e dyn Engine,
    replica: u32,
    recordings: Vec<Recording>,
    hub: Hub,
    state: Mutex<State>,
}

/// A run, and its state so far.
struct Recording {
    label: String,
    policy: String,
    scenario: Scenario,
    watched: Watched,
    /// What the folder has of it.
    expected: Option<Replica>,
    seen: Arc<Mutex<Vec<Snapshot>>>,
    is_begun: AtomicBool,
}

struct State {
    chosen: usize,
    before: Option<usize>,
    speed: f64,
    /// Seconds of the run that have passed.
    at_s: f64,
    /// The number of published snapshots.
    published: usize,
    run: u64,
}

impl State {
    fn restart(&mut self) {
        (self.at_s, self.published, self.run) = (0.0, 0, self.run + 1);
    }
}

/// Why a folder cannot be shown again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error(transparent)]
    Results(#[from] ReadError),
    /// What was run cannot be loaded.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// There is nothing in it to show: what, and what to do.
    #[error("{0}")]
    Nothing(String),
}

impl<'e> Replay<'e> {
    /// The runs in the folder of results at `path`, of which `engine` has simulated `replica` of `point`, both counted from
    /// 0; `watch` says which ports of a scenario are worth a look.
    ///
    /// # Errors
    /// When the folder holds no such run.
    pub fn open(
        path: &Path,
        (point, replica): (usize, u32),
        engine: &'e dyn Engine,
        watch: fn(&Scenario) -> Vec<usize>,
    ) -> Result<Replay<'e>, ReplayError> {
        let runs = read_runs(&[path.to_owned()])?;
        let of_engine = |run: &&Run| run.manifest.engine == engine.name();
        let simulated: Vec<&Run> = runs.iter().filter(of_engine).collect();
        if simulated.is_empty() {
            return Err(ReplayError::Nothing(format!(
                "{} has no simulated run, and only simulated runs can be replayed\n\
                 name a folder that `shortflow simulate` or `shortflow compare` wrote",
                path.display()
            )));
        }
        let open = |run: &&Run| Recording::open(run, point, replica, watch);
        let recordings = simulated.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let state = State { chosen: 0, before: None, speed: 1.0, at_s: 0.0, published: 0, run: 1 };
        let hub = Hub::new(about(&recordings, &state, replica));
        Ok(Replay { engine, replica, recordings, hub, state: Mutex::new(state) })
    }

    /// Where snapshots are published.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Runs the clock until `stop`, at this number of seconds of the run per second, which a user may change.
    pub fn run(&self, speed: f64, stop: &AtomicBool) {
        self.with(|state| state.speed = speed);
        std::thread::scope(|scope| {
            let mut last = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                let chosen = self.state().chosen;
                let recording = &self.recordings[chosen];
                if !recording.is_begun.swap(true, Ordering::Relaxed) {
                    let record = move || self.record(recording, stop);
                    // Where there is no thread now there may be one in a moment.
                    let begun = Builder::new().spawn_scoped(scope, record);
                    recording.is_begun.store(begun.is_ok(), Ordering::Relaxed);
                }
                let now = Instant::now();
                self.pass((now - last).as_secs_f64());
                last = now;
                std::thread::sleep(STEP);
            }
        });
    }

    /// Simulates a run, and notes a difference from its stored results.
    fn record(&self, recording: &Recording, stop: &AtomicBool) {
        let seen = recording.seen.clone();
        let tell = move |snapshot| lock(&seen).push(snapshot);
        let port_tap = PortTap::new(recording.watched.clone(), Box::new(tell));
        let observers = Observers {
            transfers: None,
            tap: Some(Box::new(port_tap)),
            tcp_info: None,
            look: &mut |_| !stop.load(Ordering::Relaxed),
        };
        let task = Task { scenario: &recording.scenario, replica: self.replica };
        let label = &recording.label;
        let note = match self.engine.run(&task, observers) {
            Ok(outcome) if recording.is_as_before(&outcome) => return,
            Err(Error::Interrupted) => return,
            Ok(_) => format!(
                "{label}: the replay gives results that differ from the folder's: another version \
                    of Shortflow wrote the folder, or it was run with --bind, or a file that the \
                    scenario reads has changed"
            ),
            Err(error) => format!("{label}: the replay failed: {error}"),
        };
        self.hub.change(|about| about.notes.push(note));
    }

    /// Advances the clock by this number of seconds.
    fn pass(&self, seconds: f64) {
        let mut state = self.state();
        let recording = &self.recordings[state.chosen];
        let end_s = recording.watched.end_s();
        state.at_s = (state.at_s + seconds * state.speed).min(end_s);
        let seen = lock(&recording.seen);
        while let Some(snapshot) =
            seen.get(state.published).filter(|it| it.at_s <= state.at_s + 1e-9)
        {
            self.hub.tell(&snapshot.clone().under(&recording.label));
            state.published += 1;
        }
        let is_over = state.at_s >= end_s;
        // What is not simulated yet is waited for.
        if seen.len() <= state.published && !is_over {
            let next = (state.published + 1) as f64 * recording.watched.interval_s();
            state.at_s = state.at_s.min(next);
        }
        drop(seen);
        let was_over = self.hub.about().pace.is_some_and(|pace| pace.is_over);
        if is_over != was_over {
            self.say(&state);
        }
    }

    /// Does something to the state, and says how things are then.
    fn with(&self, act: impl FnOnce(&mut State)) {
        let mut state = self.state();
        act(&mut state);
        self.say(&state);
    }

    fn say(&self, state: &State) {
        let new = about(&self.recordings, state, self.replica);
        self.hub.change(|about| *about = About { notes: std::mem::take(&mut about.notes), ..new });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, id: &str) -> Result<usize, ControlError> {
        let found =
            id.parse().ok().filter(|number: &usize| (1..=self.recordings.len()).contains(number));
        found.map(|number| number - 1).ok_or_else(|| ControlError::Unknown {
            what: "run",
            id: id.to_owned(),
            allowed: format!("use 1 to {}", self.recordings.len()),
        })
    }
}

impl Controls for Replay<'_> {
    fn preview(&self, to: &str) -> Result<Preview, ControlError> {
        let to = &self.recordings[self.found(to)?];
        let from = &self.recordings[self.state().chosen];
        Ok(Preview {
            from: from.label.clone(),
            to: to.label.clone(),
            changes: Vec::new(),
            lines: diff(&from.policy, &to.policy),
        })
    }

    fn act(&self, change: Change) -> Result<(), ControlError> {
        match change {
            Change::Switch(to) => {
                let to = self.found(&to)?;
                self.with(|state| {
                    if to == state.chosen {
                        return;
                    }
                    // At the end there is nothing left to show: it begins anew under the other.
                    if state.at_s >= self.recordings[state.chosen].watched.end_s() {
                        state.restart();
                    }
                    (state.before, state.chosen) = (Some(state.chosen), to);
                });
            }
            Change::Speed(speed) => self.with(|state| state.speed = speed),
            Change::Restart => self.with(State::restart),
        }
        Ok(())
    }
}

impl Recording {
    fn open(
        run: &Run,
        point: usize,
        replica: u32,
        watch: fn(&Scenario) -> Vec<usize>,
    ) -> Result<Recording, ReplayError> {
        let label = run.label.clone();
        let nothing = |what: String| ReplayError::Nothing(format!("{label}: {what}"));
        let Stored { loaded, policy, .. } = Stored::load(run)?;
        let points = loaded.into_points();
        let count = points.len();
        let scenario = points.into_iter().nth(point).map(|point| point.scenario);
        let scenario = scenario.ok_or_else(|| {
            nothing(format!("point {point} does not exist: use 0 to {}", count - 1))
        })?;
        let found = run.points.get(point).map_or(&[][..], |point| &point.replicas);
        let expected = found.iter().find(|found| found.number == replica);
        if expected.is_none() {
            let numbers = found.iter().map(|found| found.number);
            let last = scenario.replicas - 1;
            let (first, last) = (numbers.clone().min().unwrap_or(0), numbers.max().unwrap_or(last));
            if !found.is_empty() || replica > last {
                let what = format!("replica {replica} does not exist: use {first} to {last}");
                return Err(nothing(what));
            }
        }
        Ok(Recording {
            policy,
            watched: Watched::new(&scenario, &watch(&scenario)),
            expected: expected.cloned(),
            scenario,
            label,
            seen: Arc::default(),
            is_begun: AtomicBool::new(false),
        })
    }

    /// Whether this is what the folder has. Time series and histograms have files of their own there.
    fn is_as_before(&self, outcome: &Outcome) -> bool {
        let (Measured::Replica(found), Some(expected)) = (&outcome.measured, &self.expected) else {
            return false;
        };
        let workloads = |replica: &Replica| -> Vec<_> {
            let published = |of: &shortflow_measure::WorkloadResult| {
                (of.name.clone(), of.all.completion, of.all.reply_bytes, of.open)
            };
            replica.workloads.iter().map(published).collect()
        };
        workloads(found) == workloads(expected) && found.counters == expected.counters
    }
}

fn about(recordings: &[Recording], state: &State, replica: u32) -> About {
    let chosen = &recordings[state.chosen];
    let choice = |(number, recording): (usize, &Recording)| Choice {
        id: (number + 1).to_string(),
        name: recording.label.clone(),
        detail: String::new(),
        machine: None,
        is_current: number == state.chosen,
        is_before: Some(number) == state.before,
    };
    let end_s = chosen.watched.end_s();
    About {
        kind: Kind::Replay,
        title: format!("{}, simulated, replica {replica}", chosen.scenario.name),
        run: state.run,
        interval_s: chosen.watched.interval_s(),
        delay: DELAY.to_owned(),
        notes: Vec::new(),
        choices: recordings.iter().enumerate().map(choice).collect(),
        pace: Some(Pace { speed: state.speed, end_s, is_over: state.at_s >= end_s }),
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
