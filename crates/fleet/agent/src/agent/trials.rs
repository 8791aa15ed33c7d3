//! Measures new versions, rolls back worse ones, and reports the verdict to other machines.

use std::time::{Duration, Instant};

use super::{Agent, RETRY_INTERVAL};
use crate::event::What;
use crate::fleet::{Fleet, is_between};
use crate::plane::DataPlane;
use crate::rollout::{Device, Release, Report};
use crate::sanitize::sanitize;
use crate::source::PublishError;
use crate::store::{ANY, StoreError};
use crate::trial::{Outcome, SETTLE_TIME, Trial, waits};
use crate::verdict::Verdict;

/// How often one measures.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Why no version is released.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The source was not read yet.
    #[error("no version is held back: the agent has not read the source yet")]
    NotRead,
    /// The source's version is active.
    #[error("no version is held back: the source has version {0}, which is already active")]
    Active(u64),
    /// The source's version has errors.
    #[error("no version is held back: the source's current version is refused because of errors")]
    Refused,
    /// The source's version is about to be active.
    #[error("no version is held back: the agent is about to apply the source's current version")]
    Pending,
    /// The state cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<P: DataPlane> Agent<P> {
    /// Continues after an interruption: with a version on trial, or an unfinished rollback.
    pub(super) fn go_on_with_trial(&mut self, now: Instant) {
        if let Some(verdict) = self.store.verdict() {
            self.rollout.trials.report = Report::Sent(verdict.sanitized());
        }
        let Some((version, _)) = &self.current else { return };
        // It was written down before the version was; where that was not taken, what is current is what was on trial before.
        let trial = self.store.trial().filter(|trial| trial.good < version.number);
        let Some(trial) = trial else { return };
        let tells = trial.tells;
        let trial = trial.for_version(&version.digest, tells);
        let why = self.why_worse(&trial.digest);
        self.rollout.trials.running = Some(trial);
        if let Some(why) = why {
            self.go_back(now, &why);
        }
    }

    /// The trial of a version about to be applied; `None` if the fleet has no trials, or there is no earlier version.
    pub(super) fn trial_of(&self, now: Instant, digest: &str, fleet: &Fleet) -> Option<Trial> {
        let (before, _) = self.current.as_ref()?;
        let machine = fleet.machine(&self.machine)?;
        if fleet.watch.is_zero() || self.rollout.is_released(digest) {
            return None;
        }
        let new = |good| Trial::new(now, good, fleet.watch, &self.series);
        let trial = match &self.rollout.trials.running {
            Some(open) if open.is_decidable() => open.clone(),
            // With nothing measured before that one, what is measured of it is better than nothing.
            Some(open) => new(open.good),
            None => new(before.number),
        };
        Some(trial.for_version(digest, machine.is_first && fleet.needs_verdicts))
    }

    /// Measures also where no version needs it, for those who ask for metrics.
    pub(crate) fn measure(&mut self) {
        self.is_asked = true;
    }

    /// Measures, and judges the version on trial when its time has come.
    pub(super) fn watch(&mut self, now: Instant) {
        let Some((_, fleet)) = &self.current else { return };
        let window = self
            .rollout
            .trials
            .running
            .as_ref()
            .map_or(fleet.watch, Trial::window)
            .max(fleet.watch);
        if (window.is_zero() && !self.is_asked) || now < self.next_sample {
            return;
        }
        self.next_sample = now + SAMPLE_INTERVAL;
        let targets = self.targets().unwrap_or_default();
        for device in targets.keys() {
            // A router does not know how long packets of each class wait, and which of them it drops.
            if is_between(device) {
                continue;
            }
            let Ok(stands) = self.plane.counters(device) else { continue };
            let series = self.series.entry(device.clone()).or_default();
            series.add(now, &stands, 2 * window + SETTLE_TIME);
            let waited = self.waits.entry(device.clone()).or_default();
            for (class, wait) in waits(&stands) {
                waited.entry(class.to_owned()).or_default().add(wait);
            }
        }
        self.series.retain(|device, _| targets.contains_key(device));
        self.waits.retain(|device, _| targets.contains_key(device));
        let devices = &self.rollout.devices;
        let is_done = |device| devices.get(device).is_some_and(Device::is_done);
        let all_done = targets.keys().all(is_done);
        let Some(trial) = &mut self.rollout.trials.running else { return };
        trial.is_installed(now, all_done);
        match trial.judge(now, &self.series) {
            None => {}
            Some(Outcome::NoWorse(why)) => self.approve(now, &why),
            Some(Outcome::Inconclusive { why, is_decidable }) => {
                self.record_inconclusive(now, &why, is_decidable)
            }
            Some(Outcome::Worse(why)) => self.go_back(now, &why),
        }
    }

    /// Lets the version stay. What cannot be written now is tried again.
    fn approve(&mut self, now: Instant, why: &str) {
        let Some(trial) = self.rollout.trials.running.take() else { return };
        let done = self.say(&trial, false, why).and_then(|()| self.store.set_trial(None));
        match done {
            Ok(()) => {
                let digest = trial.digest;
                self.rollout.trials.not_written = None;
                self.happened("agent", What::Approved { digest, why: why.to_owned() });
            }
            Err(error) => self.judge_again(now, trial, error.to_string()),
        }
    }

    /// The verdict is unknown. Machines that wait for it keep waiting.
    fn record_inconclusive(&mut self, now: Instant, why: &str, is_decidable: bool) {
        let Some(trial) = self.rollout.trials.running.take() else { return };
        if trial.inconclusive.is_none() {
            let release = trial.tells.then(|| self.command("resume"));
            let (digest, why) = (trial.digest.clone(), why.to_owned());
            self.happened("agent", What::Inconclusive { digest, why, release });
        }
        if trial.tells || is_decidable {
            self.rollout.trials.running = Some(trial.restarted(now, why.to_owned()));
        } else {
            // A record that stays lets the next start measure again, which does no harm.
            let _ = self.store.set_trial(None);
        }
    }

    /// Ends the trial of a version by order of a user: it stays.
    fn approve_by_order(&mut self, who: &str) -> Result<(), StoreError> {
        let Some(trial) = self.rollout.trials.running.clone() else { return Ok(()) };
        let why = format!("applied by order of {who}");
        self.say(&trial, false, &why).and_then(|()| self.store.set_trial(None))?;
        self.rollout.trials.running = None;
        self.happened(who, What::Approved { digest: trial.digest, why });
        Ok(())
    }

    /// The digest of the version on trial.
    pub(crate) fn on_trial(&self) -> Option<&str> {
        self.rollout.trials.running.as_ref().map(|trial| trial.digest.as_str())
    }

    /// Goes back to the version before. What cannot be written now is tried again.
    fn go_back(&mut self, now: Instant, why: &str) {
        let Some(trial) = self.rollout.trials.running.take() else { return };
        // That it is worse is written first: an interruption then leaves it, and it is gone back from at the next start.
        let noted = self.store.set_worse(&trial.digest, Some(why));
        let noted = noted.and_then(|()| self.say(&trial, true, why));
        let done = noted.map_err(|error| error.to_string()).and_then(|()| {
            let (digest, to) = (trial.digest.clone(), trial.good);
            self.happened("agent", What::Worse { digest, to, why: why.to_owned() });
            self.roll_back(now, Some(trial.good), "agent").map_err(|error| error.to_string())
        });
        if let Err(why) = done {
            self.judge_again(now, trial, why);
        }
    }

    fn judge_again(&mut self, now: Instant, trial: Trial, why: String) {
        if self.rollout.trials.not_written.as_ref() != Some(&why) {
            self.rollout.trials.not_written = Some(why.clone());
            self.happened("agent", What::NotWritten { why });
        }
        self.next_sample = now + RETRY_INTERVAL;
        self.rollout.trials.running = Some(trial.with_last_look_repeated());
    }

    /// Reports the verdict, if other machines wait for it.
    fn say(&mut self, trial: &Trial, is_worse: bool, why: &str) -> Result<(), StoreError> {
        match trial.tells {
            true => self.publish_verdict(&trial.digest, is_worse, why),
            false => Ok(()),
        }
    }

    fn publish_verdict(
        &mut self,
        digest: &str,
        is_worse: bool,
        why: &str,
    ) -> Result<(), StoreError> {
        let (machine, digest) = (self.machine.clone(), digest.to_owned());
        let verdict = Verdict { machine, digest, is_worse, why: why.to_owned() }.sanitized();
        self.store.set_verdict(&verdict)?;
        self.rollout.trials.report = Report::Unsent(verdict);
        Ok(())
    }

    /// The verdict to report, once.
    pub(crate) fn verdict(&mut self) -> Option<Verdict> {
        self.rollout.trials.report.take_unsent()
    }

    /// Whether the report succeeded. If the source does not have it at the next read, the agent reports it again.
    pub(crate) fn verdict_sent(&mut self, result: Result<(), PublishError>) {
        let why = result.err().map(|error| sanitize(&error.to_string()));
        if why != self.rollout.trials.send_error {
            self.rollout.trials.send_error.clone_from(&why);
            if let Some(why) = why {
                self.happened("agent", What::VerdictNotSent { why });
            }
        }
    }

    /// Releases the source's version if it is held back or waits; if it is active and on trial, ends the trial. A
    /// second call before it is applied changes nothing.
    ///
    /// # Errors
    /// When no version is held back, or the state cannot be written.
    pub fn resume(&mut self, who: &str) -> Result<String, ResumeError> {
        let Some(offered) = &self.offered else { return Err(ResumeError::NotRead) };
        let digest = offered.needed.clone();
        if self.rollout.is_released(&digest) {
            return Ok(digest);
        }
        if self.on_trial() == Some(&digest) {
            return Ok(self.approve_by_order(who).map(|()| digest)?);
        }
        let waits = self.waits_for() == Some(&digest);
        if !waits && !self.is_held(&digest) {
            return Err(self.why_nothing(&digest));
        }
        self.store.set_worse(&digest, None).and_then(|()| self.store.release(&digest))?;
        self.rollout.released = Some(Release { digest: digest.clone(), who: who.to_owned() });
        self.happened(who, What::Resumed { digest: digest.clone() });
        Ok(digest)
    }

    /// Why the source's version is not held back.
    fn why_nothing(&self, digest: &str) -> ResumeError {
        match &self.current {
            Some((version, _)) if version.digest == digest => ResumeError::Active(version.number),
            _ if self.rollout.candidate.is_refused(digest) => ResumeError::Refused,
            _ => ResumeError::Pending,
        }
    }

    /// Reports that a version was applied by order of a user, if other machines wait for this machine's verdict.
    pub(super) fn say_by_order(&mut self, digest: &str, fleet: &Fleet) {
        let released = self.rollout.released.take_if(|release| release.digest == digest);
        let Some(Release { who, .. }) = released else { return };
        if !fleet.needs_verdicts || !fleet.first.contains(&self.machine) {
            return;
        }
        if let Err(error) =
            self.publish_verdict(digest, false, &format!("applied by order of {who}"))
        {
            self.happened("agent", What::NotKept { why: error.to_string() });
        }
    }

    /// Whether it was rolled back, or found worse.
    pub(super) fn is_held(&self, digest: &str) -> bool {
        let held = self.store.held();
        held.contains(digest) || held.contains(ANY) || self.why_worse(digest).is_some()
    }

    /// Why a version was found to be worse here.
    pub(super) fn why_worse(&self, digest: &str) -> Option<String> {
        let mut worse = self.store.worse().into_iter();
        worse.find(|(known, _)| known == digest).map(|(_, why)| why)
    }
}
