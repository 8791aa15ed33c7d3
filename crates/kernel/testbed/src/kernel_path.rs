//! Two hosts with the kernel itself as the router between them, for comparison.

use crate::host::{DEVICE, index_of, set};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::ports::compute_checksums;
use crate::{Error, Home, Host, HostSpec};

/// Two hosts, each on a cable of a network namespace in which the kernel forwards packets of IPv4.
#[derive(Debug)]
pub struct KernelPath {
    /// The hosts at its ends.
    pub hosts: [Host; 2],
    router: Namespace,
}

/// Who computes the checksums of what the hosts send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// Nobody, as the kernel does between virtual devices.
    LeftToDevices,
    /// The hosts, so that packets are as on a wire.
    ByHosts,
}

/// What makes the kernel forward, and answer for the host behind it.
const FORWARDING: [&str; 2] = ["ipv4/ip_forward", "ipv4/conf/default/proxy_arp"];

impl KernelPath {
    /// The ends of the hosts' cables at the router.
    pub const ENDS: [&str; 2] = ["near", "far"];

    /// Does something at the router.
    ///
    /// # Errors
    /// If the thread cannot go there.
    pub fn at_router<T>(&self, home: &Home, act: impl FnOnce() -> T) -> Result<T, Error> {
        home.within(&self.router, act)
    }

    /// Makes both hosts and what is between them.
    ///
    /// # Errors
    /// When the machine lacks something, or the kernel does not take a setting.
    pub fn make(
        home: &Home,
        specs: [&HostSpec; 2],
        checksums: Checksums,
    ) -> Result<KernelPath, Error> {
        let ((), router) = home.make(|| {
            FORWARDING.into_iter().try_for_each(|path| set(path, "1"))?;
            // A kernel without any address of its own takes those of others for broadcasts.
            Netlink::open()?.set_up(index_of("lo")?, None, None)
        })?;
        let wired = |spec: &HostSpec, end: &str| {
            let cable = |netlink: &mut Netlink| {
                netlink.add_cable(DEVICE, end, router.as_fd())?;
                match checksums {
                    Checksums::LeftToDevices => Ok(()),
                    Checksums::ByHosts => compute_checksums(DEVICE),
                }
            };
            let (host, ()) = Host::with_device(home, spec, cable)?;
            home.within(&router, || {
                let mut netlink = Netlink::open()?;
                let device = index_of(end)?;
                // Else it answers for others after a while that is drawn at random.
                set(&format!("ipv4/neigh/{end}/proxy_delay"), "0")?;
                netlink.set_up(device, Some(spec.mtu), None)?;
                netlink.wait_until_it_carries(device)?;
                let addresses = spec.addresses.iter().filter(|address| address.is_ipv4());
                addresses.into_iter().try_for_each(|&address| netlink.add_route(device, address))
            })??;
            host.wait_until_it_carries(home)?;
            Ok(host)
        };
        let hosts = [wired(specs[0], Self::ENDS[0])?, wired(specs[1], Self::ENDS[1])?];
        Ok(KernelPath { hosts, router })
    }
}
