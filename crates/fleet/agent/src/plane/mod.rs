//! The data plane on which an agent deploys policies.

mod kernel;
mod stub;

use std::collections::BTreeMap;

use crate::fleet::Target;

pub use kernel::KernelPlane;
pub use stub::StubPlane;

/// Why something cannot be done at a device: a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Trouble(pub String);

/// Installs policies. A failure leaves a device as it was, or between two harmless steps; the next call continues
/// from there.
pub trait DataPlane {
    /// Lets a device be as the target says, and says what that is.
    ///
    /// # Errors
    /// When that cannot be done.
    fn install(&mut self, target: &Target) -> Result<String, Trouble>;

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

    /// The interface numbers of devices by name; a renamed device keeps its number and its deployment. `None` if they
    /// are unknown.
    ///
    /// # Errors
    /// When one cannot look.
    fn numbers(&mut self) -> Result<BTreeMap<String, u32>, Trouble> {
        Ok(BTreeMap::new())
    }

    /// How its queues stand and what became of packets, as [`status`](Self::status) says it of all; asked every second.
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
