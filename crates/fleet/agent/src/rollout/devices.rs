//! What a device holds: the assigned policy, or why not yet.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_deploy::Warning;

use crate::event::clock;

/// How long one waits after the first failure; each further one doubles it, up to the most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(60);

/// After this time without changes, a device no longer counts as contested.
const STABLE_AFTER: Duration = Duration::from_secs(5 * 60);
/// The number of consecutive changes by another process after which a device counts as contested.
const CONFLICT_THRESHOLD: u32 = 3;
/// How long such a device is left as it is; doubled with each further time, up to the most.
const FIRST_BACKOFF: Duration = Duration::from_secs(20);
const MAX_BACKOFF: Duration = Duration::from_secs(4 * 60);

/// How far a device has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Device {
    holds: Holds,
    /// The changes by other processes; `None` where that has not been for long.
    changes: Option<Changes>,
    /// The warnings of the last deployment.
    pub(crate) warnings: Vec<Warning>,
}

/// What it holds, as far as is known.
#[derive(Debug, Clone)]
enum Holds {
    /// Not what is assigned.
    Other {
        /// Why, if an attempt has failed.
        why: Option<String>,
        /// The attempts that failed.
        failures: u32,
        /// The time of the next attempt; `None` means at once.
        next: Option<Instant>,
    },
    /// The assigned policy, since this time.
    Assigned { since: Instant },
}

/// How often in a row it was not as it was left, and when that was found last, by the machine's clock.
#[derive(Debug, Clone)]
struct Changes {
    times: u32,
    at: String,
}

impl Default for Holds {
    fn default() -> Holds {
        Holds::Other { why: None, failures: 0, next: None }
    }
}

impl Device {
    /// Whether it has the assigned policy, as far as is known.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.holds, Holds::Assigned { .. })
    }

    /// Whether it is time for an attempt.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        matches!(self.holds, Holds::Other { next, .. } if next.is_none_or(|next| next <= now))
    }

    /// Why it has not the assigned policy.
    pub(crate) fn why(&self) -> Option<&str> {
        match &self.holds {
            Holds::Other { why, .. } => why.as_deref(),
            Holds::Assigned { .. } => None,
        }
    }

    /// What it is to do may have changed.
    pub(crate) fn renew(&mut self) {
        let why = self.why().map(str::to_owned);
        self.holds = Holds::Other { why, failures: 0, next: None };
    }

    /// It has the assigned policy.
    pub(crate) fn done(&mut self, now: Instant) {
        self.holds = Holds::Assigned { since: now };
    }

    /// An attempt has failed.
    pub(crate) fn failed(&mut self, now: Instant, reason: &str) {
        let before = match self.holds {
            Holds::Other { failures, .. } => failures,
            Holds::Assigned { .. } => 0,
        };
        let wait = FIRST_WAIT * 2u32.pow(before.min(6));
        let next = Some(now + wait.min(MAX_WAIT));
        self.holds = Holds::Other { why: Some(reason.to_owned()), failures: before + 1, next };
    }

    /// Another process has changed the device; returns how often in a row. If that happens repeatedly, the agent yields
    /// for a while, so that two programs do not rebuild it endlessly.
    pub(crate) fn changed(&mut self, now: Instant) -> u32 {
        self.renew();
        let times = self.changes.as_ref().map_or(0, |changes| changes.times) + 1;
        self.changes = Some(Changes { times, at: clock(Duration::ZERO) });
        if let Some(further) = times.checked_sub(CONFLICT_THRESHOLD) {
            let truce = (FIRST_BACKOFF * 2u32.pow(further.min(6))).min(MAX_BACKOFF);
            let why = format!(
                "another process has changed it {times} times; the agent deploys the policy again in {} s",
                truce.as_secs()
            );
            self.holds = Holds::Other { why: Some(why), failures: 0, next: Some(now + truce) };
        }
        times
    }

    /// Resets the counter of changes, after a time without changes.
    pub(crate) fn calm_down(&mut self, now: Instant) {
        if matches!(self.holds, Holds::Assigned { since } if since + STABLE_AFTER <= now) {
            self.changes = None;
        }
    }

    /// How often it was not as it was left, as a program reads it; null where that has not been for long.
    pub(crate) fn changes_json(&self) -> Value {
        match &self.changes {
            Some(Changes { times, at }) => json!({
                "times": times, "at": at, "again_and_again": *times >= CONFLICT_THRESHOLD,
            }),
            None => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_each_time_and_a_new_assignment_is_tried_at_once() {
        let now = Instant::now();
        let mut device = Device::default();
        assert!(device.is_due(now) && !device.is_done());
        let mut waits = Vec::new();
        for _ in 0..8 {
            device.failed(now, "no such device");
            let second = |after: &u64| device.is_due(now + Duration::from_secs(*after));
            waits.push((0..).find(second).unwrap());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        device.renew();
        assert_eq!((device.is_due(now), device.why()), (true, Some("no such device")));
        device.done(now);
        assert_eq!((device.is_done(), device.is_due(now), device.why()), (true, false, None));
    }

    #[test]
    fn the_agent_yields_at_the_third_change_and_forgets_them_after_five_quiet_minutes() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut device = Device::default();
        for times in 1..=2 {
            device.done(now);
            assert_eq!((device.changed(now), device.is_due(now)), (times, true));
        }
        device.done(now);
        assert_eq!((device.changed(now), device.is_due(now)), (3, false));
        assert!(!device.is_due(now + 19 * second) && device.is_due(now + 20 * second));
        device.done(now);
        device.calm_down(now + STABLE_AFTER - second);
        assert_eq!(device.changes_json()["times"], 3);
        device.calm_down(now + STABLE_AFTER);
        assert_eq!(device.changes_json(), Value::Null);
        assert_eq!(device.changed(now), 1);
    }
}
