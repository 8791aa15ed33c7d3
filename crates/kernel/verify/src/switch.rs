//! Temporarily replaces a policy on a device by one queue.

use shortflow_deploy::{Error, Tc, Tree};

/// The queues of a device, which are changed to one and back.
#[derive(Debug)]
pub struct Switch {
    tc: Tc,
    policy: Tree,
    one_queue: Tree,
    is_off: bool,
}

impl Switch {
    /// The queues of `policy` stand at the device; `one_queue` takes their place when it is off.
    pub fn new(tc: Tc, policy: Tree, one_queue: Tree) -> Switch {
        let one_queue = one_queue.instead_of(&policy);
        Switch { tc, policy, one_queue, is_off: false }
    }

    /// Replaces the policy's queue by one queue.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn off(&mut self) -> Result<(), Error> {
        // Whatever comes of it, the policy is to be put back.
        self.is_off = true;
        self.put(&self.one_queue)
    }

    /// Puts the policy's queues back.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub fn on(&mut self) -> Result<(), Error> {
        if self.is_off {
            self.put(&self.policy)?;
            self.is_off = false;
        }
        Ok(())
    }

    fn put(&self, tree: &Tree) -> Result<(), Error> {
        let steps = self.tc.plan(&self.tc.observe()?, tree)?;
        self.tc.apply(&steps).map(|_| ())
    }
}

/// Puts the policy back, also when something fails between.
impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.on();
    }
}
