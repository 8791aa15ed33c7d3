//! Renamed devices, which keep their deployment.

use std::collections::BTreeMap;

use super::Agent;
use crate::event::What;
use crate::plane::DataPlane;

impl<P: DataPlane> Agent<P> {
    /// Finds devices that have another name than when something was deployed there. What has no assignment by that name is
    /// remembered, so that it is taken away.
    pub(super) fn follow_names(&mut self) {
        let Ok(now) = self.plane.numbers() else { return };
        let known = self.store.device_numbers();
        let mut next = BTreeMap::new();
        for (device, number) in known.clone() {
            let name =
                now.iter().find(|(_, other)| **other == number).map(|(name, _)| name.clone());
            let is_settled = match name {
                // With a device everything goes that stands there.
                None => true,
                Some(name) => name != device && self.is_given_back(&device, &name),
            };
            if !is_settled {
                next.insert(device, number);
            }
        }
        next.retain(|device, number| {
            now.get(device) != Some(number) || self.store.devices().contains(device)
        });
        self.add_numbers(&now, &mut next);
        self.keep_numbers(&known, &next);
    }

    /// Lets what was deployed at `device` be taken away where it is now. Whether that is remembered, or need not be.
    fn is_given_back(&mut self, device: &str, name: &str) -> bool {
        let is_wanted = self.targets().unwrap_or_default().contains_key(name);
        if is_wanted || self.store.devices().contains(name) {
            return true;
        }
        let mut devices = self.store.devices().clone();
        devices.insert(name.to_owned());
        let is_remembered = self.store.remember(devices).is_ok();
        if is_remembered {
            let (from, to) = (device.to_owned(), name.to_owned());
            self.happened("agent", What::Renamed { from, to });
        }
        is_remembered
    }

    /// Notes the number of every device at which something stands now.
    pub(super) fn note_numbers(&mut self) {
        let Ok(now) = self.plane.numbers() else { return };
        let known = self.store.device_numbers();
        let mut next = known.clone();
        self.add_numbers(&now, &mut next);
        self.keep_numbers(&known, &next);
    }

    fn add_numbers(&self, now: &BTreeMap<String, u32>, numbers: &mut BTreeMap<String, u32>) {
        let targets = self.targets().unwrap_or_default();
        let done = self.rollout.devices.iter().filter(|(device, state)| {
            state.is_done() && targets.contains_key(*device) && !numbers.contains_key(*device)
        });
        let done: Vec<&String> = done.map(|(device, _)| device).collect();
        numbers.extend(
            done.into_iter().filter_map(|device| Some((device.clone(), *now.get(device)?))),
        );
    }

    /// What cannot be written is looked at again the next time.
    fn keep_numbers(&self, known: &BTreeMap<String, u32>, next: &BTreeMap<String, u32>) {
        if known != next {
            let _ = self.store.set_device_numbers(next);
        }
    }
}
