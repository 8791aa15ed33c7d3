//! Devices are brought to do what they are to, and tried again where that fails.

use std::time::{Duration, Instant};

use super::Agent;
use crate::event::What;
use crate::fleet::Target;
use crate::plane::DataPlane;

/// How often one looks whether devices are as they are to be.
pub(super) const EVERY: Duration = Duration::from_secs(10);
/// How long one waits after the first failure; each further one doubles it, up to the most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MOST_WAIT: Duration = Duration::from_secs(60);

/// How far a device has come.
#[derive(Debug, Clone, Default)]
pub(super) struct Device {
    /// Whether it is as it is to be, as far as is known.
    pub(super) is_done: bool,
    /// Why it is not.
    pub(super) why: Option<String>,
    failures: u32,
    /// When it is tried again; none where at once.
    next: Option<Instant>,
}

impl Device {
    /// What it is to do may have changed.
    pub(super) fn renew(&mut self) {
        *self = Device { why: self.why.take(), ..Device::default() };
    }

    fn failed(&mut self, now: Instant, why: &str) {
        let wait = FIRST_WAIT * 2u32.pow(self.failures.min(6));
        self.failures += 1;
        self.next = Some(now + wait.min(MOST_WAIT));
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
    pub(super) fn look(&mut self) {
        for (device, target) in self.targets().unwrap_or_default() {
            let Some(state) = self.devices.get_mut(&device).filter(|state| state.is_done) else {
                continue;
            };
            if !self.plane.stands(&target).unwrap_or(false) {
                state.renew();
            }
        }
    }

    fn install(&mut self, now: Instant, target: &Target) {
        match self.plane.install(target) {
            Ok(told) => {
                let done = Device { is_done: true, ..Device::default() };
                self.devices.insert(target.device.clone(), done);
                let (device, policy) = (target.device.clone(), target.policy.name.clone());
                self.happened("agent", What::Installed { device, policy, told });
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
