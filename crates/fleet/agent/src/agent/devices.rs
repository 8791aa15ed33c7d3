//! Deploys policies on devices, and retries after failures.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shortflow_deploy::Warning;

use super::Agent;
use crate::event::{What, clock};
use crate::fleet::Target;
use crate::plane::{DataPlane, Installed};

/// How often one looks whether devices are as they are to be.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(10);
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
pub(super) struct Device {
    /// Whether it has the assigned policy, as far as is known.
    pub(super) is_done: bool,
    /// Why it is not.
    pub(super) why: Option<String>,
    failures: u32,
    /// The time of the next attempt; `None` means at once.
    next: Option<Instant>,
    /// How often in a row it was not as it was left, and when that was found last, by the machine's clock.
    changes: u32,
    changed_at: Option<String>,
    /// Since when it has the assigned policy.
    since: Option<Instant>,
    /// The warnings of the last deployment.
    pub(super) warnings: Vec<Warning>,
}

impl Device {
    /// What it is to do may have changed.
    pub(super) fn renew(&mut self) {
        let why = self.why.take();
        *self = Device { is_done: false, why, failures: 0, next: None, ..std::mem::take(self) };
    }

    /// It has the assigned policy.
    fn done(&mut self, now: Instant) {
        let since = Some(now);
        *self = Device {
            is_done: true,
            why: None,
            failures: 0,
            next: None,
            since,
            ..std::mem::take(self)
        };
    }

    /// Another process has changed the device. If that happens repeatedly, the agent yields for a while, so that two
    /// programs do not rebuild it endlessly.
    fn changed(&mut self, now: Instant) {
        self.renew();
        self.changes += 1;
        self.changed_at = Some(clock(Duration::ZERO));
        if let Some(further) = self.changes.checked_sub(CONFLICT_THRESHOLD) {
            let truce = (FIRST_BACKOFF * 2u32.pow(further.min(6))).min(MAX_BACKOFF);
            self.next = Some(now + truce);
            self.why = Some(format!(
                "another process has changed it {} times; the agent deploys the policy again in {} \
                    s",
                self.changes,
                truce.as_secs()
            ));
        }
    }

    /// Resets the counter of changes, after a time without changes.
    fn calm_down(&mut self, now: Instant) {
        if self.since.is_some_and(|since| since + STABLE_AFTER <= now) {
            (self.changes, self.changed_at) = (0, None);
        }
    }

    /// How often it was not as it was left, as a program reads it; null where that has not been for long.
    pub(super) fn changes_json(&self) -> Value {
        match &self.changed_at {
            Some(at) => json!({
                "times": self.changes, "at": at, "again_and_again": self.changes >= CONFLICT_THRESHOLD,
            }),
            None => Value::Null,
        }
    }

    fn failed(&mut self, now: Instant, why: &str) {
        let wait = FIRST_WAIT * 2u32.pow(self.failures.min(6));
        self.failures += 1;
        self.next = Some(now + wait.min(MAX_WAIT));
        self.why = Some(why.to_owned());
    }
}

impl<P: DataPlane> Agent<P> {
    /// Brings every device that is not known to be so to what it is to do.
    pub(super) fn converge(&mut self, now: Instant) {
        let Some(targets) = self.targets() else { return };
        // A device is remembered before it is touched, so that what is there is found after any interruption.
        if targets.keys().any(|device| !self.store.devices().contains(device)) {
            let mut devices = self.store.devices().clone();
            devices.extend(targets.keys().cloned());
            if let Err(error) = self.store.remember(devices) {
                return self.not_remembered(now, &error.to_string());
            }
        }
        let is_due = |device: &&String| match self.devices.get(*device) {
            None => true,
            Some(state) => !state.is_done && state.next.is_none_or(|next| next <= now),
        };
        let due: Vec<String> = self.store.devices().iter().filter(is_due).cloned().collect();
        for device in due {
            match targets.get(&device) {
                Some(target) => self.install(now, target),
                None => self.remove(now, &device),
            }
        }
    }

    /// Finds devices that are no longer as they are to be.
    pub(super) fn look(&mut self, now: Instant) {
        for (device, target) in self.targets().unwrap_or_default() {
            let Some(state) = self.devices.get_mut(&device).filter(|state| state.is_done) else {
                continue;
            };
            match self.plane.is_deployed(&target) {
                Ok(true) => state.calm_down(now),
                // Groups of processes come and go by themselves, and with them what a device is to have.
                Ok(false) if target.labels.iter().all(|(_, of)| !of.starts_with("cgroup:")) => {
                    state.changed(now);
                    let times = state.changes;
                    self.happened("agent", What::Changed { device, times });
                }
                Ok(false) | Err(_) => state.renew(),
            }
        }
    }

    fn install(&mut self, now: Instant, target: &Target) {
        match self.plane.install(target) {
            Ok(Installed { summary, warnings }) => {
                let state = self.devices.entry(target.device.clone()).or_default();
                state.done(now);
                let before = std::mem::replace(&mut state.warnings, warnings.clone());
                self.note_numbers();
                let (device, policy) = (target.device.clone(), target.policy.name.clone());
                self.happened("agent", What::Installed { device, policy, summary });
                // A repair of the same deployment brings no new warnings.
                for warning in warnings.into_iter().filter(|it| !before.contains(it)) {
                    let device = target.device.clone();
                    self.happened("agent", What::Warned { device, warning });
                }
            }
            Err(trouble) => self.failed(now, &target.device, &trouble.0),
        }
    }

    fn remove(&mut self, now: Instant, device: &str) {
        let mut devices = self.store.devices().clone();
        devices.remove(device);
        let removed = self.plane.remove(device).map_err(|trouble| trouble.0);
        let forgotten =
            removed.and_then(|()| self.store.remember(devices).map_err(|error| error.to_string()));
        match forgotten {
            Ok(()) => {
                self.devices.remove(device);
                self.happened("agent", What::Removed { device: device.to_owned() });
            }
            Err(why) => self.failed(now, device, &why),
        }
    }

    fn failed(&mut self, now: Instant, device: &str, why: &str) {
        let state = self.devices.entry(device.to_owned()).or_default();
        let is_news = state.why.as_deref() != Some(why);
        state.failed(now, why);
        if is_news {
            self.happened("agent", What::Failed { device: device.to_owned(), why: why.to_owned() });
        }
    }

    fn not_remembered(&mut self, now: Instant, why: &str) {
        for device in self.targets().unwrap_or_default().into_keys() {
            let is_due =
                |state: &Device| !state.is_done && state.next.is_none_or(|next| next <= now);
            if self.devices.get(&device).is_none_or(is_due) {
                self.failed(now, &device, why);
            }
        }
    }
}
