//! A rehearsal on the live console.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shortflow_console::{
    About, Change, Choice, ControlError, Controls, DELAY, Hub, Kind, PortTap, Preview, Watched,
    diff,
};
use shortflow_run::Tap;
use shortflow_scenario::Scenario;
use shortflow_sim::LiveNetwork;

use crate::monitor::Monitor;

/// Shows what passes the ports of a board on the live console, from which its policy may be switched.
pub struct OnConsole(Arc<Shown>);

struct Shown {
    hub: Hub,
    /// Each policy's name and text.
    policies: Vec<(String, String)>,
    /// Which of them is bound, or soon will be: the board's own.
    wanted: Arc<AtomicUsize>,
    /// Which of them the page says is bound, and which was before.
    said: Mutex<(usize, Option<usize>)>,
    has_begun: AtomicBool,
}

impl OnConsole {
    /// A console for what `monitor` shows.
    pub fn new(monitor: &Monitor) -> OnConsole {
        let text = |scenario: &Scenario| {
            scenario.inputs.policy.as_ref().map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let policies: Vec<(String, String)> =
            monitor.policies().map(|(name, scenario)| (name.clone(), text(scenario))).collect();
        let (_, scenario) = monitor.policies().next().expect("a board has a policy");
        let hub = Hub::new(About {
            kind: Kind::Rehearsal,
            title: format!("{}, rehearsed", scenario.name),
            run: 1,
            interval_s: watched(scenario).interval_s(),
            delay: DELAY.to_owned(),
            notes: Vec::new(),
            choices: choices(&policies, 0, None),
            pace: None,
        });
        OnConsole(Arc::new(Shown {
            hub,
            policies,
            wanted: monitor.wanted(),
            said: Mutex::new((0, None)),
            has_begun: AtomicBool::new(false),
        }))
    }

    /// Where snapshots are published.
    pub fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// Observes the packets of a run of this scenario; the run is different from the one before.
    pub fn port_tap(&self, scenario: &Scenario) -> Box<dyn Tap> {
        let shown = self.0.clone();
        if shown.has_begun.swap(true, Ordering::Relaxed) {
            shown.hub.change(|about| about.run += 1);
        }
        let tell = move |snapshot: shortflow_console::Snapshot| {
            let policy = shown.follow();
            shown.hub.tell(&snapshot.under(&shown.policies[policy].0));
        };
        Box::new(PortTap::new(watched(scenario), Box::new(tell)))
    }

    fn found(&self, id: &str) -> Result<usize, ControlError> {
        let count = self.0.policies.len();
        let found = id.parse().ok().filter(|number: &usize| (1..=count).contains(number));
        found.map(|number| number - 1).ok_or_else(|| ControlError::Unknown {
            what: "policy",
            id: id.to_owned(),
            allowed: format!("use 1 to {count}"),
        })
    }
}

impl Controls for OnConsole {
    fn preview(&self, to: &str) -> Result<Preview, ControlError> {
        let (from, to) = (self.0.wanted.load(Ordering::Relaxed), self.found(to)?);
        let [from, to] = [from, to].map(|at| &self.0.policies[at]);
        Ok(Preview {
            from: from.0.clone(),
            to: to.0.clone(),
            changes: Vec::new(),
            lines: diff(&from.1, &to.1),
        })
    }

    fn act(&self, change: Change) -> Result<(), ControlError> {
        match change {
            Change::Switch(to) => {
                self.0.wanted.store(self.found(&to)?, Ordering::Relaxed);
                self.0.follow();
                Ok(())
            }
            Change::Speed(_) | Change::Restart => {
                let what = "a rehearsal runs once, in real time: its speed cannot change";
                Err(ControlError::Unsupported(what))
            }
        }
    }
}

impl Shown {
    /// Publishes which policy is active, whether the page or a key has switched it.
    fn follow(&self) -> usize {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.0 != wanted {
            *said = (wanted, Some(said.0));
            let choices = choices(&self.policies, said.0, said.1);
            self.hub.change(|about| about.choices = choices);
        }
        wanted
    }
}

fn watched(scenario: &Scenario) -> Watched {
    Watched::new(scenario, &LiveNetwork::ports_to_watch(scenario))
}

fn choices(policies: &[(String, String)], current: usize, before: Option<usize>) -> Vec<Choice> {
    let choice = |(number, (name, _)): (usize, &(String, String))| Choice {
        id: (number + 1).to_string(),
        name: name.clone(),
        detail: String::new(),
        machine: None,
        is_current: number == current,
        is_before: Some(number) == before,
    };
    policies.iter().enumerate().map(choice).collect()
}
