//! The kernel of this machine, through `deploy`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use shortflow_deploy::{
    DeviceLock, DeviceStatus, Environment, Error, Kernel, Link, Root, Site, Tc, Translation,
    Wanted, Warning, examine_kernel, link, numbers, owners,
};

use super::inline::Routers;
use super::{DataPlane, Installed, Trouble, tcp};
use crate::fleet::{TCP, Target, is_between};

/// How long one waits for another command that works on the device.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The devices of the network namespace of the thread.
#[derive(Debug)]
pub struct KernelPlane {
    kernel: Kernel,
    /// The routers between devices; `None` if this agent may not route.
    routers: Option<Routers>,
}

impl KernelPlane {
    /// That of this machine, whose kernel is tried out once. `may_route`: it may route packets between two devices.
    pub fn of_this_machine(may_route: bool) -> KernelPlane {
        let routers = may_route.then(Routers::default);
        KernelPlane { kernel: examine_kernel().0, routers }
    }

    /// How a router between two devices stands.
    fn router(&self, devices: &str) -> Value {
        self.routers.as_ref().map_or(Value::Null, |routers| routers.status(devices))
    }

    fn wanted(&self, target: &Target, link: &Link) -> Result<Wanted, Trouble> {
        let kernel = self.kernel.clone();
        let site = Site {
            rate: None,
            speed: None,
            link_layer: None,
            link_header: link.header,
            kernel,
            nearest: false,
        };
        // Groups of processes are looked for whenever it is wanted: they come and go with services.
        let owners = owners(&target.policy, &target.labels)
            .map_err(|error| Trouble(one_line(&error.to_string())))?;
        let wanted = target
            .wanted(site, &owners)
            .map_err(|unwanted| Trouble(one_line(&unwanted.to_string())))?;
        Ok(match wanted.distinguishes_hosts() {
            true => wanted.behind(Translation::detect(&target.device)),
            false => wanted,
        })
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble(one_line(&error.to_string()))
    }
}

pub(super) fn one_line(text: &str) -> String {
    text.replace('\n', "; ")
}

impl DataPlane for KernelPlane {
    fn install(&mut self, target: &Target) -> Result<Installed, Trouble> {
        if let Some(between) = &target.between {
            let refused = || {
                let what = "this agent does not route between two devices; start it with --inline";
                Trouble(what.to_owned())
            };
            return self.routers.as_mut().ok_or_else(refused)?.install(target, between);
        }
        if let Some(place) = &target.tcp {
            return tcp::install(target, place);
        }
        let device = &target.device;
        let wanted = self.wanted(target, &link(device)?)?;
        let tc = Tc::new(device).with_lock(DeviceLock::take(device, LOCK_TIMEOUT)?);
        let mut observed = tc.observe()?;
        if wanted.tree.is_none() && observed.root == Root::Ours {
            tc.apply(&tc.plan_removal(&observed)?)?;
            observed = tc.observe()?;
        }
        let steps = wanted.steps(&tc, &observed, device)?;
        wanted.apply(tc, &observed, &steps)?;
        let environment = Environment::detect(device);
        let warnings = Warning::all(&target.policy, &wanted, device, &environment);
        Ok(Installed { summary: wanted.summary(), warnings })
    }

    fn is_deployed(&mut self, target: &Target) -> Result<bool, Trouble> {
        if target.between.is_some() {
            return Ok(self.routers.as_ref().is_some_and(|routers| routers.is_running(target)));
        }
        if let Some(place) = &target.tcp {
            return tcp::is_deployed(target, place);
        }
        let wanted = self.wanted(target, &link(&target.device)?)?;
        Ok(wanted.is_deployed(&Tc::new(&target.device))?)
    }

    fn remove(&mut self, device: &str) -> Result<(), Trouble> {
        if is_between(device) {
            self.routers.iter_mut().for_each(|routers| routers.stop(device));
            return Ok(());
        }
        if device == TCP {
            return tcp::remove();
        }
        match link(device) {
            Err(Error::NoDevice { .. }) => return Ok(()),
            other => other?,
        };
        let tc = Tc::new(device).with_lock(DeviceLock::take(device, LOCK_TIMEOUT)?);
        let observed = tc.observe()?;
        match tc.plan_removal(&observed) {
            Err(Error::NotDeployed { .. }) => Ok(()),
            steps => Ok(tc.remove(&observed, &steps?)?),
        }
    }

    fn ended(&mut self) -> Vec<(String, String)> {
        self.routers.as_mut().map(Routers::ended).unwrap_or_default()
    }

    fn numbers(&mut self) -> Result<BTreeMap<String, u32>, Trouble> {
        Ok(numbers()?)
    }

    fn counters(&mut self, device: &str) -> Result<Value, Trouble> {
        if is_between(device) {
            return Ok(self.router(device));
        }
        if device == TCP {
            return tcp::status();
        }
        Ok(DeviceStatus::of_counters(device)?.map_or(Value::Null, |status| status.json()))
    }

    fn status(&mut self, device: &str) -> Result<Value, Trouble> {
        if is_between(device) {
            return Ok(self.router(device));
        }
        if device == TCP {
            return tcp::status();
        }
        Ok(DeviceStatus::read(device)?.map_or(Value::Null, |status| status.json()))
    }
}
