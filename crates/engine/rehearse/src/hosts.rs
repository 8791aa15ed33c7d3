//! The hosts of a run.

use shortflow_run as run;
use shortflow_scenario::{IpVersion, Scenario};
use shortflow_testbed::{Device, Error, Home, Host, HostSpec, Missing, PortKind, Ports};

use crate::applications::Applications;
use crate::traffic::Place;

/// The hosts of a run, by their nodes. They are gone soon after this is dropped.
pub(crate) struct Hosts {
    home: Home,
    all: Vec<Option<Host>>,
    /// What the other ends of cables are in.
    ports: Ports,
}

impl Hosts {
    /// No host yet; those that are made have ports of this kind.
    pub(crate) fn none(ports: PortKind) -> Result<Hosts, Error> {
        let home = Home::find()?;
        let ports = Ports::new(&home, ports)?;
        Ok(Hosts { home, all: Vec::new(), ports })
    }

    /// Makes a host for the next node, and its device, which `fit` prepares by its number, inside.
    pub(crate) fn add(
        &mut self,
        spec: &HostSpec,
        fit: impl FnOnce(u32) -> Result<(), run::Error>,
    ) -> Result<Device, run::Error> {
        let lacking = |what: Error| run::Error::Machine(what.to_string());
        let (host, device) = self.ports.host(&self.home, spec).map_err(lacking)?;
        host.within(&self.home, || fit(host.device)).map_err(lacking)??;
        self.all.push(Some(host));
        Ok(device)
    }

    /// The next node is a router, which is no host.
    pub(crate) fn add_none(&mut self) {
        self.all.push(None);
    }

    /// The hosts of `scenario`, whose workloads are asked to speak this version of IP, and tell `applications` what they know.
    pub(crate) fn place<'h>(
        &'h self,
        scenario: &'h Scenario,
        asked: IpVersion,
        applications: Option<&'h Applications>,
    ) -> Place<'h> {
        let addresses = &*scenario.addresses;
        Place { home: &self.home, hosts: &self.all, addresses, asked, applications }
    }

    /// Packets that were lost between them and their devices. It is asked once, at the end.
    pub(crate) fn lost(&self, devices: &[Option<Device>]) -> Result<u64, Error> {
        let with_devices = self.all.iter().zip(devices);
        let pairs = with_devices.filter_map(|(host, device)| host.as_ref().zip(device.as_ref()));
        pairs.map(|(host, device)| device.lost(&self.home, host)).sum()
    }
}

impl Hosts {
    /// A warning about hosts whose device, address or route a program has removed.
    pub(crate) fn change_notes(&self, scenario: &Scenario) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for (host, node) in self.all.iter().zip(&scenario.nodes) {
            let Some(host) = host else { continue };
            let name = &node.name;
            let what = match host.missing(&self.home)? {
                None => continue,
                Some(Missing::Device) => format!("eth0 of {name} was removed"),
                Some(Missing::Up) => format!("eth0 of {name} was set down"),
                Some(Missing::Address(address)) => {
                    format!("{address} was removed from eth0 of {name}")
                }
                Some(Missing::Route) => format!("the default route of {name} was removed"),
            };
            notes.push(format!(
                "By the end {what}, by a program or a shell on that host: figures of {name} after \
                    that are those of a host without network."
            ));
        }
        Ok(notes)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in self.all.iter().flatten() {
            // What the kernel does not let go at once it lets go later.
            let _ = host.give_up_connections(&self.home);
        }
    }
}
