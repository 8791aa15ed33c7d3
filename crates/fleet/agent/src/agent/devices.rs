//! Deploys policies on devices, and retries after failures.

use std::time::{Duration, Instant};

use super::Agent;
use crate::event::What;
use crate::fleet::Target;
use crate::plane::{DataPlane, Installed};
use crate::rollout::Device;

/// How often one looks whether devices are as they are to be.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(10);
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
        let is_due = |device: &&String| {
            self.rollout.devices.get(*device).is_none_or(|state| state.is_due(now))
        };
        let due: Vec<String> = self.store.devices().iter().filter(is_due).cloned().collect();
        // What goes makes room for what comes.
        let (come, go): (Vec<String>, Vec<String>) =
            due.into_iter().partition(|device| targets.contains_key(device));
        for device in go.into_iter().chain(come) {
            match targets.get(&device) {
                Some(target) => self.install(now, target),
                None => self.remove(now, &device),
            }
        }
    }

    /// Notices routers that have ended by themselves.
    pub(super) fn notice_ends(&mut self, now: Instant) {
        for (device, why) in self.plane.ended() {
            if let Some(state) = self.rollout.devices.get_mut(&device) {
                state.changed(now);
            }
            self.happened("agent", What::Ended { device, why });
        }
    }

    /// Finds devices that are no longer as they are to be.
    pub(super) fn look(&mut self, now: Instant) {
        for (device, target) in self.targets().unwrap_or_default() {
            let state = self.rollout.devices.get_mut(&device);
            let Some(state) = state.filter(|state| state.is_done()) else { continue };
            match self.plane.is_deployed(&target) {
                Ok(true) => state.calm_down(now),
                // Groups of processes come and go by themselves, and with them what a device is to have.
                Ok(false) if target.labels.iter().all(|(_, of)| !of.starts_with("cgroup:")) => {
                    let times = state.changed(now);
                    self.happened("agent", What::Changed { device, times });
                }
                Ok(false) | Err(_) => state.renew(),
            }
        }
    }

    fn install(&mut self, now: Instant, target: &Target) {
        match self.plane.install(target) {
            Ok(Installed { summary, warnings }) => {
                let state = self.rollout.devices.entry(target.device.clone()).or_default();
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
                self.rollout.devices.remove(device);
                self.happened("agent", What::Removed { device: device.to_owned() });
            }
            Err(why) => self.failed(now, device, &why),
        }
    }

    fn failed(&mut self, now: Instant, device: &str, why: &str) {
        let state = self.rollout.devices.entry(device.to_owned()).or_default();
        let is_news = state.why() != Some(why);
        state.failed(now, why);
        if is_news {
            self.happened("agent", What::Failed { device: device.to_owned(), why: why.to_owned() });
        }
    }

    fn not_remembered(&mut self, now: Instant, why: &str) {
        for device in self.targets().unwrap_or_default().into_keys() {
            let is_due = |state: &Device| state.is_due(now);
            if self.rollout.devices.get(&device).is_none_or(is_due) {
                self.failed(now, &device, why);
            }
        }
    }
}
