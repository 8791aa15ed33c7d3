//! The data plane on which an agent deploys policies.

mod inline;
mod kernel;
mod stub;
mod tcp;

use std::collections::BTreeMap;

use shortflow_deploy::Warning;

use crate::fleet::Target;

pub use kernel::KernelPlane;
pub use stub::StubPlane;

/// Why something cannot be done at a device: a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Trouble(pub String);

/// What was deployed on a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// The roles and the rate, as they follow the name of the policy.
    pub summary: String,
    /// Conditions on this machine that may spoil the deployment.
    pub warnings: Vec<Warning>,
}

/// Installs policies. A failure leaves a device as it was, or between two harmless steps; the next call continues
/// from there.
pub trait DataPlane {
    /// Deploys the policy of the target on its device.
    ///
    /// # Errors
    /// When that cannot be done.
    fn install(&mut self, target: &Target) -> Result<Installed, Trouble>;

    /// Whether the device is as the target says, as far as one sees without touching it.
    ///
    /// # Errors
    /// When one cannot look.
    fn is_deployed(&mut self, target: &Target) -> Result<bool, Trouble>;

    /// Takes away what stands at a device; one that is not there has nothing.
    ///
    /// # Errors
    /// When that cannot be done.
    fn remove(&mut self, device: &str) -> Result<(), Trouble>;

    /// What has ended by itself at devices, and why; reported once.
    fn ended(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The interface numbers of devices by name; a renamed device keeps its number and its deployment. `None` if they
    /// are unknown.
    ///
    /// # Errors
    /// When one cannot look.
    fn numbers(&mut self) -> Result<BTreeMap<String, u32>, Trouble> {
        Ok(BTreeMap::new())
    }

    /// The counters of its queues and edge, as in [`status`](Self::status); asked every second.
    ///
    /// # Errors
    /// When one cannot look.
    fn counters(&mut self, device: &str) -> Result<serde_json::Value, Trouble> {
        self.status(device)
    }

    /// How a device stands, as a program reads it.
    ///
    /// # Errors
    /// When one cannot look.
    fn status(&mut self, device: &str) -> Result<serde_json::Value, Trouble>;
}
