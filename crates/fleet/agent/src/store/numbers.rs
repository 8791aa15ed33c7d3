//! The interface numbers of devices, which stay the same when devices are renamed.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use shortflow_deploy::namespace_id;

use super::{Store, StoreError};

/// Interface numbers, and their scope: they restart with the machine, and in each network namespace.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Numbers {
    of: String,
    devices: BTreeMap<String, u32>,
}

impl Store {
    /// The numbers that devices had when something was deployed there.
    pub(crate) fn device_numbers(&self) -> BTreeMap<String, u32> {
        let kept = self.read::<Numbers>("numbers.json").filter(|kept| kept.of == counted_in());
        kept.map(|kept| kept.devices).unwrap_or_default()
    }

    /// Writes them down.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn set_device_numbers(
        &self,
        devices: &BTreeMap<String, u32>,
    ) -> Result<(), StoreError> {
        self.set("numbers.json", Some(&Numbers { of: counted_in(), devices: devices.clone() }))
    }
}

/// This start of the machine, and the network namespace of the process.
fn counted_in() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace_id().unwrap_or_default())
}
