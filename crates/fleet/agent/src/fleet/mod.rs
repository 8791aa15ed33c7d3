//! The assignment of policies to machines.

mod check;
mod file;
mod interface;
mod labels;
mod remarks;
mod rollout;
mod select;
mod tcp;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use shortflow_deploy::{Options, Owners, Site, TcpPlan, TcpRefusal, Unwanted, Wanted, compile_tcp};
use shortflow_policy::Policy;
use shortflow_text::Diagnostics;
use shortflow_units::{LinkLayer, Rate};

use crate::bundle::Bundle;

pub(crate) use tcp::TCP;
pub use tcp::TcpPlace;
pub(crate) use written::Written;

/// A checked fleet: what every device of every machine is to do.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// Its name.
    pub name: String,
    /// The machines, in the order of the text.
    pub machines: Vec<Machine>,
    /// How many there are, also where only one is kept.
    pub count: usize,
    /// The names of those that are first.
    pub first: Vec<String>,
    /// How long machines measure what short flows meet before and after they take a new version; zero where they do not.
    pub watch: Duration,
    /// Whether machines that are not first need the verdict of those that are.
    pub needs_verdicts: bool,
    /// Warnings: allowed, but probably unintended.
    pub warnings: Diagnostics,
}

/// A machine, and what its devices are to do.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// How long it waits before it takes a new version, while others are first.
    pub wait: Duration,
    /// Whether it is one of those that are first.
    pub is_first: bool,
    /// For each device, in the order of the text: the name of its interface, and what it is to do, if anything.
    pub devices: Vec<(String, String, Option<Target>)>,
}

/// What one device is to do.
#[derive(Debug, Clone)]
pub struct Target {
    /// The name of the interface: what the device is for, as `wan` (a role of RFC 3460, §5.4).
    pub interface: String,
    /// The device; of two devices both, as `eth1,eth2`; of the machine's own TCP `(tcp)`.
    pub device: String,
    /// The two devices between which packets are routed inline; `None` for one device at which the policy is deployed.
    pub between: Option<Between>,
    /// The connections in whose TCP the policy is, instead of at a device.
    pub tcp: Option<TcpPlace>,
    /// The rate at which packets leave, where the policy has a queue there.
    pub rate: Option<Rate>,
    /// What a packet takes on the link of the bottleneck, where the policy has a queue there.
    pub link_layer: Option<LinkLayer>,
    /// The file of the policy.
    pub file: String,
    /// The text of the policy.
    pub text: Arc<str>,
    /// Keys of it that are changed.
    pub set: Vec<(String, String)>,
    /// The policy, with these changes.
    pub policy: Arc<Policy>,
    /// The roles of the policy that the device plays.
    pub roles: Vec<String>,
    /// Whether the nearest alternative replaces what a kernel does not support.
    pub nearest: bool,
    /// The priority of the assignment.
    pub priority: i64,
    /// Labels of connections that the policy matches, and whose they are on this machine.
    pub labels: Vec<(String, String)>,
}

/// Two devices between which packets are routed inline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    /// The devices.
    pub devices: [String; 2],
    /// The rate from the second to the first; by default that from the first to the second.
    pub rate_back: Option<Rate>,
}

/// Whether the name of a device stands for two devices: no device has a comma in its name.
pub(crate) fn is_between(device: &str) -> bool {
    device.contains(',')
}

impl Fleet {
    /// What the texts of a repository come to.
    ///
    /// # Errors
    /// All mistakes in them, each with its place.
    pub fn check(bundle: &Bundle) -> Result<Fleet, Diagnostics> {
        Written::parse(bundle).check(bundle, None)
    }

    /// The machine of this name.
    pub fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    /// The targets of a machine by device; `None` if the fleet does not have the machine.
    pub fn targets(&self, machine: &str) -> Option<BTreeMap<&str, &Target>> {
        Some(self.machine(machine)?.targets())
    }
}

impl Machine {
    /// What its devices are to do, by their names.
    pub fn targets(&self) -> BTreeMap<&str, &Target> {
        let targets = self
            .devices
            .iter()
            .filter_map(|(_, device, target)| Some((device.as_str(), target.as_ref()?)));
        targets.collect()
    }
}

impl Target {
    /// What is to be in TCP, of a target there.
    ///
    /// # Errors
    /// What TCP cannot do.
    pub(crate) fn tcp_plan(&self, place: &TcpPlace) -> Result<TcpPlan, TcpRefusal> {
        let role = self.roles.first().map(String::as_str);
        compile_tcp(&self.policy, role, place.growth, place.window_rate)
    }

    /// The policy's state at a device with the other properties of `site`, on a machine with these owners of labels.
    ///
    /// # Errors
    /// When the roles are not those of one device, or all that is refused of them.
    pub fn wanted(&self, site: Site, owners: &Owners) -> Result<Wanted, Unwanted> {
        let site =
            Site { rate: self.rate, link_layer: self.link_layer, nearest: self.nearest, ..site };
        let wanted = Wanted::from_policy_with_owners(&self.policy, &self.roles, &site, owners)?;
        Ok(wanted.with_options(Options {
            rate: self.rate,
            link_layer: self.link_layer,
            set: self.set.clone(),
            labels: self.labels.clone(),
            cgroup: None,
            nearest: self.nearest,
        }))
    }
}
