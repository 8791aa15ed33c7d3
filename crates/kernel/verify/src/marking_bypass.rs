//! The marking program, and a temporary replacement that leaves packets to the peer unchanged.

use shortflow_deploy::{Edge, Error, Tc, converge_edge};

/// What marks at a device, which is changed to what lets probes pass, and back. Tokens and flows of the classes are kept.
#[derive(Debug)]
pub struct MarkingBypass {
    tc: Tc,
    device: String,
    policy: String,
    marking: Edge,
    passing: Edge,
    is_passing: bool,
}

impl MarkingBypass {
    /// The program of `policy` that is `marking` stands at the device; `passing` is to take its place.
    pub fn new(tc: Tc, device: &str, policy: &str, [marking, passing]: [Edge; 2]) -> MarkingBypass {
        let (device, policy) = (device.to_owned(), policy.to_owned());
        MarkingBypass { tc, device, policy, marking, passing, is_passing: false }
    }

    /// Lets probes pass as they are.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        // Whatever comes of it, the policy is to be put back.
        self.is_passing = true;
        self.put(&self.passing)
    }

    /// Lets them be marked again.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        if self.is_passing {
            self.put(&self.marking)?;
            self.is_passing = false;
        }
        Ok(())
    }

    fn put(&self, edge: &Edge) -> Result<(), Error> {
        let before = self.tc.observe()?.edge;
        let steps = converge_edge(&self.device, &before, &self.policy, Some(edge));
        self.tc.clone().with_edge(edge.clone(), before.memo).apply(&steps).map(|_| ())
    }
}

/// Puts the policy back, also when something fails between.
impl Drop for MarkingBypass {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
