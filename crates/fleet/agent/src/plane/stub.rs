//! A data plane without devices, for tests and for trials with many agents on one machine.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shortflow_deploy::Warning;

use super::{DataPlane, Installed, Trouble};
use crate::fleet::Target;

/// Keeps in mind what it was asked for, and touches nothing.
#[derive(Debug, Default)]
pub struct StubPlane {
    /// The last target of each device.
    pub devices: BTreeMap<String, String>,
    /// Devices at which everything fails.
    pub broken: Vec<String>,
    /// How often something was installed or removed.
    pub calls: usize,
    /// The status of each device; by default its last target.
    pub stands: BTreeMap<String, Value>,
    /// The warnings of every deployment.
    pub warnings: Vec<Warning>,
    /// The numbers of devices that have some.
    pub numbers: BTreeMap<String, u32>,
}

impl StubPlane {
    fn try_at(&mut self, device: &str) -> Result<(), Trouble> {
        self.calls += 1;
        match self.broken.iter().any(|broken| broken == device) {
            true => Err(Trouble(format!("no device `{device}`"))),
            false => Ok(()),
        }
    }
}

impl DataPlane for StubPlane {
    fn install(&mut self, target: &Target) -> Result<Installed, Trouble> {
        self.try_at(&target.device)?;
        self.devices.insert(target.device.clone(), target.summary());
        Ok(Installed { summary: String::new(), warnings: self.warnings.clone() })
    }

    fn is_deployed(&mut self, target: &Target) -> Result<bool, Trouble> {
        Ok(self.devices.get(&target.device) == Some(&target.summary()))
    }

    fn remove(&mut self, device: &str) -> Result<(), Trouble> {
        self.try_at(device)?;
        self.devices.remove(device);
        Ok(())
    }

    fn numbers(&mut self) -> Result<BTreeMap<String, u32>, Trouble> {
        Ok(self.numbers.clone())
    }

    fn status(&mut self, device: &str) -> Result<Value, Trouble> {
        let reported = || json!(self.devices.get(device));
        Ok(self.stands.get(device).cloned().unwrap_or_else(reported))
    }
}
