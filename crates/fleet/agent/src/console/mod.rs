//! Agents on the live console: the state of their devices every second, and switching between versions.
//!
//! ```text
//! each machine: a thread that asks its agent ──▶ places ──┐
//!                                                         ├─ once a second ──▶ Hub ──▶ the page
//! another machine, by its control socket ──────▶ places ──┘
//! ```

mod known;
mod warnings;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shortflow_console::{
    About, Change, ControlError, Controls, Guard, Hub, Kind, Place, Preview, Snapshot,
};
use shortflow_http::Listener;

use crate::control::{Ask, Asked, ask};
use known::Known;

/// The poll interval of agents while a page is open.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How often else, so that who comes later sees where it came from.
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(10);
/// How often one looks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The number of warnings at the head of the page; all are next to their places.
const MAX_WARNINGS: usize = 8;

const DELAY: &str = "the queue's own estimate (PIE, CAKE); otherwise the backlog divided by a \
    rate: for the class served first the device's rate, for others the rate of their departures \
    since the previous poll";

/// Where the console of an agent is, and who may do what there.
#[derive(Debug)]
pub struct Page {
    /// Where one listens.
    pub listener: Listener,
    /// Who may.
    pub guard: Guard,
}

/// Agents that are looked at.
pub struct Overview {
    machines: Vec<Asking>,
    hub: Hub,
}

/// An agent that is asked.
struct Asking {
    ask: Box<dyn Fn(Ask) -> Result<Value, String> + Send + Sync>,
    known: Mutex<Known>,
}

impl Overview {
    /// The agents at these control sockets; those of other machines can be brought here, as by `ssh -L`.
    pub fn of_sockets(paths: &[PathBuf]) -> Overview {
        let asking = |path: &PathBuf| {
            let (name, path) = (path.display().to_string(), path.clone());
            let asks = move |what| ask(&path, what).map_err(|error| error.to_string());
            Asking { ask: Box::new(asks), known: Mutex::new(Known::new(name)) }
        };
        Overview::new(paths.iter().map(asking).collect())
    }

    /// The agent that takes these requests, as long as it does.
    pub(crate) fn of_agent(requests: Sender<Asked>) -> Overview {
        let asks = move |what| {
            let (answer, answered) = channel();
            let asked = Asked { ask: what, who: "console".to_owned(), answer, events: None };
            let ended = || "the agent is stopping and did not start this request".to_owned();
            requests.send(asked).map_err(|_| ended())?;
            // What the agent has begun it ends, and answers; what it has not begun it drops.
            answered.recv().map_err(|_| ended())?.map_err(|refusal| refusal.why)
        };
        let known = Mutex::new(Known::new("this machine".to_owned()));
        Overview::new(vec![Asking { ask: Box::new(asks), known }])
    }

    fn new(machines: Vec<Asking>) -> Overview {
        let hub = Hub::new(About {
            kind: Kind::Agents,
            title: "Policy agent".to_owned(),
            run: 1,
            interval_s: REFRESH_INTERVAL.as_secs_f64(),
            delay: DELAY.to_owned(),
            notes: Vec::new(),
            choices: Vec::new(),
            pace: None,
        });
        Overview { machines, hub }
    }

    /// Where snapshots are published.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Asks the agents until `stop`.
    pub fn run(&self, stop: &AtomicBool) {
        std::thread::scope(|scope| {
            for machine in &self.machines {
                let asking = move || {
                    while !stop.load(Ordering::Relaxed) {
                        machine.look();
                        self.wait(stop);
                    }
                };
                if let Err(error) = begin(scope, asking) {
                    let why = format!("cannot start a thread to poll this agent: {error}");
                    machine.known().learn(std::time::Instant::now(), Err(why), None);
                }
            }
            while !stop.load(Ordering::Relaxed) {
                self.wait(stop);
                self.tell();
            }
        });
    }

    /// Waits until the next poll, or until a page opens.
    fn wait(&self, stop: &AtomicBool) {
        let mut waited = Duration::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let max = if self.hub.is_watched() { REFRESH_INTERVAL } else { UNWATCHED_INTERVAL };
            if waited >= max {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
            waited += POLL_INTERVAL;
        }
    }

    fn tell(&self) {
        self.tell_about();
        let places: Vec<Place> =
            self.machines.iter().flat_map(|machine| machine.known().tell()).collect();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let at_s = since.map_or(0.0, |since| since.as_millis() as f64 / 1000.0);
        self.hub.tell(&Snapshot { at_s, places });
    }

    /// Which versions count and can be gone to.
    fn tell_about(&self) {
        let numbered = self.machines.iter().enumerate();
        let choices = numbered.flat_map(|(at, machine)| machine.known().choices(at)).collect();
        let title = match &self.machines[..] {
            [only] => only.known().name.clone(),
            several => format!("{} machines", several.len()),
        };
        let notes = self.warnings();
        self.hub.change(|about| {
            (about.choices, about.title, about.notes) = (choices, title, notes);
        });
    }

    /// All warnings, with the machine's name if there are several machines.
    fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        for machine in &self.machines {
            let known = machine.known();
            let of =
                if self.machines.len() > 1 { format!("{}: ", known.name) } else { String::new() };
            all.extend(known.warnings.iter().map(|what| format!("{of}{what}")));
        }
        if let Some(more) = all.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
            all.truncate(MAX_WARNINGS);
            all.push(format!("and {more} more, listed under All places"));
        }
        all
    }

    /// The machine and the version that a choice is.
    fn found(&self, id: &str) -> Result<(&Asking, u64), ControlError> {
        let parsed = id.split_once('/').and_then(|(machine, version)| {
            let (at, version) = (machine.parse::<usize>().ok()?, version.parse::<u64>().ok()?);
            // Each choice has one id, which is written in one way.
            let is_id = version > 0 && format!("{at}/{version}") == id;
            Some((self.machines.get(at).filter(|_| is_id)?, version))
        });
        parsed.ok_or_else(|| {
            let known = self.machines.iter().enumerate();
            let named = known.map(|(at, machine)| format!("{at} {}", machine.known().name));
            let named: Vec<String> = named.collect();
            let allowed = format!(
                "write INDEX/NUMBER, such as 0/1 for version 1 of the first machine; indices are {}",
                named.join(", ")
            );
            ControlError::Unknown { what: "choice", id: id.to_owned(), allowed }
        })
    }
}

impl Controls for Overview {
    fn preview(&self, to: &str) -> Result<Preview, ControlError> {
        let (machine, version) = self.found(to)?;
        let found = (machine.ask)(Ask::Preview(version)).map_err(ControlError::Refused)?;
        serde_json::from_value(found).map_err(|error| {
            ControlError::Refused(format!("unexpected answer of the agent: {error}"))
        })
    }

    fn act(&self, change: Change) -> Result<(), ControlError> {
        let Change::Switch(to) = change else {
            return Err(ControlError::Unsupported("the console of an agent cannot control time"));
        };
        let (machine, version) = self.found(&to)?;
        (machine.ask)(Ask::RollBack(Some(version))).map_err(ControlError::Refused)?;
        machine.look();
        self.tell_about();
        Ok(())
    }
}

impl Asking {
    /// Asks how it stands.
    fn look(&self) {
        let status = (self.ask)(Ask::Status);
        let is_news = status.as_ref().is_ok_and(|status| self.known().is_news(status));
        let versions = is_news.then(|| (self.ask)(Ask::Versions).ok()).flatten();
        self.known().learn(std::time::Instant::now(), status, versions);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The console of an agent that runs, until `stop`.
pub(crate) fn serve(page: &Page, requests: Sender<Asked>, stop: &'static AtomicBool) {
    let overview = &Overview::of_agent(requests);
    std::thread::scope(|scope| {
        // Where there is no thread now there may be one in a moment.
        while begin(scope, move || overview.run(stop)).is_err() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(REFRESH_INTERVAL);
        }
        shortflow_console::serve(&page.listener, &page.guard, overview.hub(), overview, stop);
    });
}

fn begin<'s>(scope: &'s Scope<'s, '_>, act: impl FnOnce() + Send + 's) -> std::io::Result<()> {
    Builder::new().name("console".to_owned()).spawn_scoped(scope, act).map(drop)
}
