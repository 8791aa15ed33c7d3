//! The agent: checks, stores, deploys and rolls back versions of the source.

mod devices;
mod preview;
mod renamed;
mod status;
mod trials;
mod unusable;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use shortflow_text::Diagnostics;

use crate::bundle::Bundle;
use crate::control::command;
use crate::event::{Event, What, clock, utc, written};
use crate::fleet::{Fleet, Target, Written};
use crate::metrics::Histogram;
use crate::plane::DataPlane;
use crate::sanitize::{sanitize, sanitize_lines};
use crate::source::{Fetched, NotFetched, Returns};
use crate::store::{Repair, Store, StoreError, Version};
use crate::trial::{Series, Trial};
use crate::verdict::{Heard, Verdict};
use devices::Device;
use unusable::Unusable;

pub use trials::ResumeError;

/// After so long a version that could not be kept is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// By so much the machine's clock goes wrong only where it is set.
const CLOCK_WAS_SET: TimeDelta = TimeDelta::seconds(2);

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
    /// The digest of what was refused last, and the mistakes in it.
    refused: Option<(String, String)>,
    /// What is good, and other machines take first.
    waiting: Option<Waiting>,
    /// Why the source cannot be read; `None` if it can.
    unreadable: Option<String>,
    /// What could not be kept, and when that is tried again.
    pending: Option<Pending>,
    devices: BTreeMap<String, Device>,
    next_look: Instant,
    /// What the source has.
    offered: Option<Offered>,
    /// What machines say of versions, as the source has it.
    heard: Vec<Verdict>,
    /// The version on trial.
    trial: Option<Trial>,
    /// Why what was found of it could not be written.
    not_written: Option<String>,
    /// What was measured at devices.
    series: BTreeMap<String, Series>,
    /// How long packets would have waited at each device, in each class of which that is known.
    waits: BTreeMap<String, BTreeMap<String, Histogram>>,
    /// Whether somebody asks for that.
    is_asked: bool,
    next_sample: Instant,
    /// The released version, and who released it.
    resumed: Option<(String, String)>,
    /// The number of rollbacks.
    returns: Returns,
    /// This machine's last verdict on a version, and whether it has still to be reported.
    said: Option<Verdict>,
    unsent_verdict: Option<Verdict>,
    /// Why the last report failed.
    send_error: Option<String>,
    tell: Box<dyn FnMut(&Event)>,
}

/// What is good, and could not be written to the disk.
struct Pending {
    fetched: Fetched,
    digest: String,
    why: String,
    /// When it is tried again.
    at: Instant,
}

/// The digests of what the source has: of all of it, and of what the fleet needs.
struct Offered {
    whole: String,
    needed: String,
}

/// What is good, and waits for its time.
struct Waiting {
    digest: String,
    /// When it was seen first.
    since: Instant,
    /// When its time has come, and when that is by the machine's clock, which may be set.
    due: Instant,
    until: DateTime<Utc>,
    /// Whether it has come.
    is_due: bool,
    /// How many first machines must find it no worse, and those that did; `None` if the version needs no verdicts.
    needed: Option<usize>,
    good: Vec<String>,
    /// Who finds it worse, and why.
    worse: Option<(String, String)>,
}

impl Waiting {
    fn new(now: Instant, digest: &str, wait: Duration) -> Waiting {
        Waiting {
            digest: digest.to_owned(),
            since: now,
            due: now + wait,
            until: utc() + wait,
            is_due: false,
            needed: None,
            good: Vec::new(),
            worse: None,
        }
    }

    /// Time has passed. Where the machine's clock was set meanwhile, it says when its time comes by that.
    fn look(&mut self, now: Instant) {
        self.is_due = self.due <= now;
        let until = utc() + self.due.saturating_duration_since(now);
        if !self.is_due && (until - self.until).abs() > CLOCK_WAS_SET {
            self.until = until;
        }
    }
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
            refused: None,
            waiting: None,
            unreadable: None,
            pending: None,
            devices: BTreeMap::new(),
            next_look: now,
            offered: None,
            heard: Vec::new(),
            trial: None,
            not_written: None,
            series: BTreeMap::new(),
            waits: BTreeMap::new(),
            is_asked: false,
            next_sample: now,
            resumed: None,
            returns: Returns::default(),
            said: None,
            unsent_verdict: None,
            send_error: None,
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

    /// Applies the source's version, if it is new and has no errors. `begun` is the number of rollbacks when the
    /// reading began: a reading from before the last rollback is outdated, and must be repeated. Returns whether the
    /// version is active.
    #[must_use]
    pub fn offer(
        &mut self,
        now: Instant,
        begun: u64,
        offered: Result<Fetched, NotFetched>,
    ) -> bool {
        let counts = begun == self.returns.count();
        if counts {
            self.consider(now, offered);
        }
        counts
    }

    fn consider(&mut self, now: Instant, offered: Result<Fetched, NotFetched>) {
        let from = self.from.clone();
        if let Err(NotFetched::Unreadable(why)) = offered {
            let why = sanitize_lines(&why);
            if self.unreadable.as_ref() != Some(&why) {
                self.unreadable = Some(why.clone());
                self.happened("agent", What::Unreadable { from, why, stays: self.number() });
            }
            return;
        }
        if self.unreadable.take().is_some() {
            self.happened("agent", What::Readable { from });
        }
        let fetched = match offered {
            Ok(fetched) => Fetched { who: sanitize(&fetched.who), ..fetched },
            Err(mistakes) => {
                let mistakes = sanitize_lines(&mistakes.to_string());
                // A source without a repository has no digest; its mistakes stand for one.
                let digest = Bundle::new([(String::new(), mistakes.clone())]).digest();
                if !self.is_settled(&digest) {
                    self.refuse("agent", digest, mistakes);
                }
                return;
            }
        };
        self.heard = fetched.verdicts.iter().map(Verdict::sanitized).collect();
        self.unsent_verdict = self.said.clone().filter(|said| !self.heard.contains(said));
        let whole = fetched.bundle.digest();
        let known = self.offered.as_ref().filter(|known| known.whole == whole);
        // What is settled need not be read again.
        if let Some(needed) = known.map(|known| known.needed.clone())
            && self.is_settled(&needed)
        {
            return;
        }
        let fleet = Written::parse(&fetched.bundle);
        // A policy that nobody names makes no new version.
        let (bundle, is_whole) = fetched.bundle.only(&fleet);
        let digest = if is_whole { whole.clone() } else { bundle.digest() };
        let fetched = Fetched { bundle, ..fetched };
        self.offered = Some(Offered { whole, needed: digest.clone() });
        if !self.is_settled(&digest) {
            self.judge(now, fetched, digest, fleet);
        }
    }

    /// Whether the version with this digest is active, held back or refused.
    fn is_settled(&mut self, digest: &str) -> bool {
        let is_current = self.current.as_ref().is_some_and(|(version, _)| version.digest == digest);
        if is_current || self.is_held(digest) {
            (self.refused, self.waiting, self.pending) = (None, None, None);
            return true;
        }
        self.refused.as_ref().is_some_and(|(refused, _)| refused == digest)
    }

    /// Checks what is new, and lets it wait, keeps it, or refuses it.
    fn judge(&mut self, now: Instant, fetched: Fetched, digest: String, fleet: Written) {
        match fleet.check(&fetched.bundle, Some(&self.machine)) {
            Ok(fleet) if self.has_to_wait(now, &digest, &fleet) => {
                (self.refused, self.pending) = (None, None);
            }
            Ok(fleet) => self.keep(now, fetched, &digest, fleet),
            Err(mistakes) => self.refuse(&fetched.who, digest, mistakes.to_string()),
        }
    }

    /// Takes nothing of what has this digest, for these mistakes.
    fn refuse(&mut self, who: &str, digest: String, mistakes: String) {
        self.refused = Some((digest.clone(), mistakes.clone()));
        (self.waiting, self.pending) = (None, None);
        let (from, stays) = (self.from.clone(), self.number());
        self.happened(who, What::Refused { digest, from, mistakes, stays });
    }

    /// Does what time brings: tries again what failed, and looks whether devices are as they are to be.
    pub fn tick(&mut self, now: Instant) {
        if let Some(pending) = self.pending.as_mut().filter(|pending| pending.at <= now) {
            // It stays known that it is not kept until it is, or the source has something else.
            pending.at = now + RETRY_INTERVAL;
            let (fetched, digest) = (pending.fetched.clone(), pending.digest.clone());
            let fleet = Written::parse(&fetched.bundle);
            self.judge(now, fetched, digest, fleet);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.look(now);
        }
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
        let ordered = self.resumed.as_ref().map(|(digest, _)| digest.as_str());
        let (version, _) = self.store.roll_back(Some(number), ordered)?;
        self.returns.one_more();
        (self.trial, self.resumed, self.pending) = (None, None, None);
        self.not_written = None;
        self.waiting.take_if(|waiting| self.store.held().contains(&waiting.digest));
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

    /// Whether this machine still waits for first machines. The wait is over if the source has the same version at
    /// its end. A machine without a version does not wait.
    fn has_to_wait(&mut self, now: Instant, digest: &str, fleet: &Fleet) -> bool {
        let wait = fleet.machine(&self.machine).map(|machine| machine.wait).unwrap_or_default();
        let by_order = self.resumed.as_ref().is_some_and(|(resumed, _)| resumed == digest);
        if self.current.is_none() || wait.is_zero() || by_order {
            return false;
        }
        if self.waiting.as_ref().is_none_or(|waiting| waiting.digest != digest) {
            let waiting = Waiting::new(now, digest, wait);
            let (from, until) = (self.from.clone(), written(waiting.until));
            self.waiting = Some(waiting);
            self.happened("agent", What::Waits { digest: digest.to_owned(), from, until });
        }
        let Some(waiting) = &mut self.waiting else { return false };
        let is_early = now < waiting.since + wait;
        if !fleet.needs_verdicts {
            return is_early;
        }
        let heard = Heard::new(&self.heard, digest, &fleet.first);
        waiting.needed = Some(heard.needed);
        waiting.good = heard.good.iter().map(|verdict| verdict.machine.clone()).collect();
        let worse =
            heard.worse.first().map(|verdict| (verdict.machine.clone(), verdict.why.clone()));
        let (has_to_wait, is_news) = (is_early || !heard.let_it_go_on(), worse != waiting.worse);
        waiting.worse.clone_from(&worse);
        if let Some((by, why)) = worse.filter(|_| is_news) {
            self.happened("agent", What::Halted { digest: digest.to_owned(), by, why });
        }
        has_to_wait
    }

    fn keep(&mut self, now: Instant, fetched: Fetched, digest: &str, fleet: Fleet) {
        let at = clock(Duration::ZERO);
        let trial = self.trial_of(now, digest, &fleet);
        let kept = self.store.set_trial(trial.as_ref());
        let kept =
            kept.and_then(|()| self.store.keep(&fetched.bundle, &fetched.who, &self.from, &at));
        match kept {
            Ok(version) => {
                self.trial = trial;
                (self.refused, self.waiting, self.pending) = (None, None, None);
                let Version { number, digest, .. } = version.clone();
                let from = self.from.clone();
                self.happened(&fetched.who, What::Accepted { version: number, digest, from });
                self.say_by_order(&version.digest, &fleet);
                self.take(version, fleet);
                self.converge(now);
            }
            Err(error) => {
                let (digest, why) = (digest.to_owned(), error.to_string());
                let known = self.pending.as_ref();
                let is_news = known.is_none_or(|it| it.digest != digest || it.why != why);
                let at = now + RETRY_INTERVAL;
                self.pending = Some(Pending { fetched, digest, why: why.clone(), at });
                if is_news {
                    self.happened("agent", What::NotKept { why });
                }
            }
        }
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
        for (device, state) in &mut self.devices {
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
