//! The hosts of a run.

use shortflow_testbed::{Device, Error, Home, Host, HostSpec, PortKind, Ports};

use crate::ip::IpVersion;
use crate::traffic::Place;

/// The hosts of a run, by their nodes. They are gone soon after this is dropped.
pub(crate) struct Hosts {
    home: Home,
    all: Vec<Option<Host>>,
    /// What the other ends of cables are in.
    _ports: Ports,
}

impl Hosts {
    /// Makes a host for each node that has a specification, and its device of this kind.
    pub(crate) fn make(
        specs: &[Option<HostSpec>],
        ports: PortKind,
    ) -> Result<(Hosts, Vec<Option<Device>>), Error> {
        let home = Home::find()?;
        let mut ports = Ports::new(&home, ports)?;
        let make = |spec: &Option<_>| spec.as_ref().map(|spec| ports.host(&home, spec)).transpose();
        let made = specs.iter().map(make).collect::<Result<Vec<_>, _>>()?;
        let (all, devices) = made.into_iter().map(Option::unzip).unzip();
        Ok((Hosts { home, all, _ports: ports }, devices))
    }

    /// The hosts, whose workloads speak this version of IP.
    pub(crate) fn place(&self, ip: IpVersion) -> Place<'_> {
        Place { home: &self.home, hosts: &self.all, ip }
    }

    /// Packets that were lost between them and their devices. It is asked once, at the end.
    pub(crate) fn lost(&self, devices: &[Option<Device>]) -> Result<u64, Error> {
        let with_devices = self.all.iter().zip(devices);
        let pairs = with_devices.filter_map(|(host, device)| host.as_ref().zip(device.as_ref()));
        pairs.map(|(host, device)| device.lost(&self.home, host)).sum()
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
