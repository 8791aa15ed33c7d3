//! What else has a device: a deployed policy, or another router.

use shortflow_deploy::{Observed, Received, Tc, inline_router};

use crate::Error;
use crate::ip::described;

/// A policy that is deployed on what a device sends or receives.
pub(crate) struct Deployed {
    /// The device; `eth1 (received)` for what it receives.
    pub(crate) device: String,
    pub(crate) policy: String,
    /// The command that removes it.
    pub(crate) undeploy: String,
}

/// Refuses a device whose packets a router would take from a policy or from another router.
pub(crate) fn is_free(device: &str) -> Result<(), Error> {
    has_no_router(device)?;
    match deployed_on(device) {
        Some(Deployed { device, policy, undeploy }) => {
            Err(Error::Deployed { device, policy, undeploy })
        }
        None => Ok(()),
    }
}

/// Refuses a device of another router.
pub(crate) fn has_no_router(device: &str) -> Result<(), Error> {
    match inline_router(device)? {
        Some(router) => Err(Error::Routed { device: device.to_owned(), router }),
        None => Ok(()),
    }
}

/// The policy that is deployed on a device, which packets of a router would bypass.
pub(crate) fn deployed_on(device: &str) -> Option<Deployed> {
    let undeploy = format!("shortflow undeploy --dev {device}");
    let sent = Tc::new(device).observe().ok();
    if let Some(policy) = sent.as_ref().and_then(Observed::policy) {
        let (device, policy) = (device.to_owned(), policy.to_owned());
        return Some(Deployed { device, policy, undeploy });
    }
    // A deployment that is only begun leads no packet away yet, and has no policy.
    let received = Received::observe(device).ok().filter(Received::is_known)?;
    Some(Deployed {
        device: Received::name(device),
        policy: received.observed.policy()?.to_owned(),
        undeploy: format!("{undeploy} --ingress"),
    })
}

/// Refuses a device with an XDP program of somebody else.
pub(crate) fn other_program(device: &str) -> Error {
    // `XDP_ATTACHED_SKB` of linux/if_link.h.
    let is_generic = described(device).is_ok_and(|found| found["xdp"]["mode"] == 2);
    let mode = if is_generic { "xdpgeneric" } else { "xdp" };
    Error::OtherProgram { device: device.to_owned(), mode }
}
