//! Takes what the source offers: refuses it, lets it wait, or makes it the active version.

use std::time::{Duration, Instant};

use super::{Agent, RETRY_INTERVAL};
use crate::bundle::Bundle;
use crate::event::{What, clock, written};
use crate::fleet::{Fleet, Written};
use crate::plane::DataPlane;
use crate::rollout::{Candidate, NotKept, Waiting};
use crate::sanitize::{sanitize, sanitize_lines};
use crate::source::{Fetched, NotFetched};
use crate::store::Version;
use crate::verdict::{Heard, Verdict};

/// The digests of what the source has: of all of it, and of what the fleet needs.
pub(super) struct Offered {
    pub(super) whole: String,
    pub(super) needed: String,
}

impl<P: DataPlane> Agent<P> {
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
        self.rollout.trials.report.heard(&self.heard);
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
            self.rollout.candidate = Candidate::None;
            return true;
        }
        self.rollout.candidate.is_refused(digest)
    }

    /// Checks what is new, and lets it wait, keeps it, or refuses it.
    pub(super) fn judge(&mut self, now: Instant, fetched: Fetched, digest: String, fleet: Written) {
        match fleet.check(&fetched.bundle, Some(&self.machine)) {
            Ok(fleet) if self.has_to_wait(now, &digest, &fleet) => {
                self.rollout.candidate.give_up();
            }
            Ok(fleet) => self.keep(now, fetched, &digest, fleet),
            Err(mistakes) => self.refuse(&fetched.who, digest, mistakes.to_string()),
        }
    }

    /// Takes nothing of what has this digest, for these mistakes.
    fn refuse(&mut self, who: &str, digest: String, mistakes: String) {
        let (refused, found) = (digest.clone(), mistakes.clone());
        self.rollout.candidate = Candidate::Refused { digest: refused, mistakes: found };
        let (from, stays) = (self.from.clone(), self.number());
        self.happened(who, What::Refused { digest, from, mistakes, stays });
    }

    /// Whether this machine still waits for first machines. The wait is over if the source has the same version at
    /// its end. A machine without a version does not wait.
    fn has_to_wait(&mut self, now: Instant, digest: &str, fleet: &Fleet) -> bool {
        let wait = fleet.machine(&self.machine).map(|machine| machine.wait).unwrap_or_default();
        if self.current.is_none() || wait.is_zero() || self.rollout.is_released(digest) {
            return false;
        }
        if self.waits_for().is_none_or(|waiting| waiting != digest) {
            let waiting = Waiting::new(now, digest, wait);
            let (from, until) = (self.from.clone(), written(waiting.until));
            self.rollout.candidate = Candidate::Waiting(waiting);
            self.happened("agent", What::Waits { digest: digest.to_owned(), from, until });
        }
        let Some(waiting) = self.rollout.candidate.waiting_mut() else { return false };
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
                self.rollout.trials.running = trial;
                self.rollout.candidate = Candidate::None;
                let Version { number, digest, .. } = version.clone();
                let from = self.from.clone();
                self.happened(&fetched.who, What::Accepted { version: number, digest, from });
                self.say_by_order(&version.digest, &fleet);
                self.take(version, fleet);
                self.converge(now);
            }
            Err(error) => {
                let (digest, why) = (digest.to_owned(), error.to_string());
                let at = now + RETRY_INTERVAL;
                let failed = NotKept { fetched, digest, why: why.clone(), at };
                if self.rollout.candidate.cannot_be_kept(failed) {
                    self.happened("agent", What::NotKept { why });
                }
            }
        }
    }
}
