//! The agent: checks, stores, deploys and rolls back versions of the source.
//!
//! [`Rollout`] holds how far it has come. [`offers`] moves the candidate on, [`devices`] the devices, [`trials`] the
//! trial.

mod devices;
mod offers;
mod preview;
mod renamed;
mod status;
mod trials;
mod unusable;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shortflow_text::Diagnostics;

use crate::bundle::Bundle;
use crate::control::command;
use crate::event::{Event, What};
use crate::fleet::{Fleet, Target, Written};
use crate::metrics::Histogram;
use crate::plane::DataPlane;
use crate::rollout::{Candidate, Rollout};
use crate::source::Returns;
use crate::store::{Repair, Store, StoreError, Version};
use crate::trial::Series;
use crate::verdict::Verdict;
use offers::Offered;
use unusable::Unusable;

pub use trials::ResumeError;

/// After so long a version that could not be kept is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// The agent of one machine.
pub struct Agent<P> {
    machine: String,
    /// The name of the source, in logs.
    from: String,
    /// Its control socket, for commands that it prints.
    socket: PathBuf,
    store: Store,
    plane: P,
    current: Option<(Version, Fleet)>,
    /// The stored versions, where none of them is active.
    unusable: Vec<Unusable>,
    /// How far this machine has come with the source's versions.
    rollout: Rollout,
    /// Why the source cannot be read; `None` if it can.
    unreadable: Option<String>,
    next_look: Instant,
    /// What the source has.
    offered: Option<Offered>,
    /// What machines say of versions, as the source has it.
    heard: Vec<Verdict>,
    /// What was measured at devices.
    series: BTreeMap<String, Series>,
    /// How long packets would have waited at each device, in each class of which that is known.
    waits: BTreeMap<String, BTreeMap<String, Histogram>>,
    /// Whether somebody asks for that.
    is_asked: bool,
    next_sample: Instant,
    /// The number of rollbacks.
    returns: Returns,
    tell: Box<dyn FnMut(&Event)>,
}

/// Why there was no going back.
#[derive(Debug, thiserror::Error)]
pub enum RollBackError {
    /// The state does not let us.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The version has mistakes, by what this program takes for such.
    #[error("this program refuses version {0}:\n{1}")]
    Mistakes(u64, Diagnostics),
}

impl<P: DataPlane> Agent<P> {
    /// The agent of this machine, with the state on disk. `from` names its source, and `socket` is the control socket
    /// that the commands in its messages name. It reports each event.
    pub fn start(
        now: Instant,
        machine: &str,
        from: &str,
        socket: &Path,
        (store, repaired): (Store, Vec<Repair>),
        plane: P,
        tell: Box<dyn FnMut(&Event)>,
    ) -> Agent<P> {
        let mut agent = Agent {
            machine: machine.to_owned(),
            from: from.to_owned(),
            socket: socket.to_owned(),
            store,
            plane,
            current: None,
            unusable: Vec::new(),
            rollout: Rollout::default(),
            unreadable: None,
            next_look: now,
            offered: None,
            heard: Vec::new(),
            series: BTreeMap::new(),
            waits: BTreeMap::new(),
            is_asked: false,
            next_sample: now,
            returns: Returns::default(),
            tell,
        };
        for repair in repaired {
            let what = repair.text(&agent.command("resume"));
            agent.happened("agent", What::Repaired { what });
        }
        let kept = agent.store.current();
        let version = kept.as_ref().ok().and_then(|kept| Some(kept.as_ref()?.0.number));
        agent.happened("agent", What::Started { machine: machine.to_owned(), version });
        match kept {
            Ok(None) => {}
            Ok(Some((version, bundle))) => match agent.own_part(&bundle) {
                Ok(fleet) => agent.take(version, fleet),
                Err(mistakes) => {
                    let from = format!("version {}", version.number);
                    let (digest, mistakes) = (version.digest, mistakes.to_string());
                    let refused = What::Refused { digest, from, mistakes, stays: None };
                    agent.happened("agent", refused);
                }
            },
            Err(error) => agent.happened("agent", What::NotKept { why: error.to_string() }),
        }
        if agent.current.is_none() {
            agent.unusable = agent.find_unusable();
        }
        agent.go_on_with_trial(now);
        agent.converge(now);
        agent
    }

    /// Does what time brings: tries again what failed, and looks whether devices are as they are to be.
    pub fn tick(&mut self, now: Instant) {
        // It stays known that it is not kept until it is, or the source has something else.
        if let Some((fetched, digest)) = self.rollout.candidate.retry(now, RETRY_INTERVAL) {
            let fleet = Written::parse(&fetched.bundle);
            self.judge(now, fetched, digest, fleet);
        }
        if let Some(waiting) = self.rollout.candidate.waiting_mut() {
            waiting.look(now);
        }
        self.notice_ends(now);
        if self.next_look <= now {
            self.follow_names();
            self.look(now);
            self.next_look = now + devices::CHECK_INTERVAL;
        }
        self.converge(now);
        self.watch(now);
    }

    /// The number of rollbacks.
    pub fn returns(&self) -> &Returns {
        &self.returns
    }

    /// Rolls back to a version, by default to the one before the current one. A version that was released and is not
    /// yet applied is held back again.
    ///
    /// # Errors
    /// When the version does not exist or has mistakes, or the state cannot be written; then all is as before.
    pub fn roll_back(
        &mut self,
        now: Instant,
        to: Option<u64>,
        who: &str,
    ) -> Result<Version, RollBackError> {
        let from = self.number().unwrap_or_default();
        let number = to.map_or_else(|| self.store.before(from), Ok)?;
        let (_, bundle) = self.store.version(number)?;
        let fleet =
            self.own_part(&bundle).map_err(|found| RollBackError::Mistakes(number, found))?;
        let ordered = self.rollout.released.as_ref().map(|release| release.digest.as_str());
        let (version, _) = self.store.roll_back(Some(number), ordered)?;
        self.returns.one_more();
        let Rollout { candidate, released, trials, .. } = &mut self.rollout;
        (trials.running, trials.not_written, *released) = (None, None, None);
        candidate.give_up();
        if candidate.waiting().is_some_and(|it| self.store.held().contains(&it.digest)) {
            *candidate = Candidate::None;
        }
        // What stays of a trial of a version that no longer counts says nothing.
        let _ = self.store.set_trial(None);
        self.happened(who, What::RolledBack { from, to: number });
        self.take(version.clone(), fleet);
        self.converge(now);
        Ok(version)
    }

    /// The part of the fleet for this machine, so that a fleet of thousands of machines needs little memory.
    fn own_part(&self, bundle: &Bundle) -> Result<Fleet, Diagnostics> {
        Written::parse(bundle).check(bundle, Some(&self.machine))
    }

    /// The number of the active version.
    pub(crate) fn number(&self) -> Option<u64> {
        self.current.as_ref().map(|(version, _)| version.number)
    }

    /// How many machines the fleet has.
    pub fn machines(&self) -> usize {
        self.current.as_ref().map_or(1, |(_, fleet)| fleet.count)
    }

    /// A command line that asks this agent.
    fn command(&self, words: &str) -> String {
        command(words, &self.socket)
    }

    /// What its devices are at.
    pub fn plane(&self) -> &P {
        &self.plane
    }

    /// The same, to be changed behind the agent's back, as others may do.
    pub fn plane_mut(&mut self) -> &mut P {
        &mut self.plane
    }

    /// Ends. What is deployed stays.
    pub fn stop(mut self) {
        self.happened("agent", What::Stopped);
    }

    /// Lets a fleet count from now on. Devices for which it changes something are due.
    fn take(&mut self, version: Version, fleet: Fleet) {
        if fleet.machine(&self.machine).is_none() {
            let machine = self.machine.clone();
            self.happened("agent", What::Unnamed { machine });
        }
        let before = self.targets().unwrap_or_default();
        self.current = Some((version, fleet));
        self.unusable.clear();
        let after = self.targets().unwrap_or_default();
        for (device, state) in &mut self.rollout.devices {
            let (old, new) = (before.get(device), after.get(device));
            // What is to be as it was is left alone.
            if old.zip(new).is_none_or(|(old, new)| !new.differences(old).is_empty()) {
                state.renew();
            }
        }
    }

    /// The targets of this machine's devices; `None` without an active fleet.
    fn targets(&self) -> Option<BTreeMap<String, Target>> {
        let (_, fleet) = self.current.as_ref()?;
        let targets = fleet.targets(&self.machine).unwrap_or_default();
        Some(
            targets
                .into_iter()
                .map(|(device, target)| (device.to_owned(), target.clone()))
                .collect(),
        )
    }

    fn happened(&mut self, who: &str, what: What) {
        let event = Event::now(who, what);
        // A log that cannot be written stops nothing; who watches hears of the event all the same.
        let _ = self.store.write(&event);
        (self.tell)(&event);
    }
}
