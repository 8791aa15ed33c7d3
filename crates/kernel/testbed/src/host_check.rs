//! Checks whether a host still has its addresses and routes: programs in it are root there, and can remove them.

use std::net::IpAddr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;

use crate::host::DEVICE;
use crate::{Error, Home, Host};

/// What a host lacks of what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Its device.
    Device,
    /// Its device is there, and was taken down.
    Up,
    /// One of its addresses.
    Address(IpAddr),
    /// The route by which it reaches the others.
    Route,
}

impl Host {
    /// What is missing of what the host was given.
    ///
    /// # Errors
    /// When the kernel does not let the thread in, or does not tell.
    pub fn missing(&self, home: &Home) -> Result<Option<Missing>, Error> {
        self.within(home, || {
            let reported =
                getifaddrs().map_err(Error::kernel("reading the addresses of a host"))?;
            let own: Vec<_> =
                reported.filter(|reported| reported.interface_name == DEVICE).collect();
            Ok(self.first_missing(&own))
        })?
    }

    fn first_missing(&self, own: &[InterfaceAddress]) -> Option<Missing> {
        let Some(device) = own.first() else { return Some(Missing::Device) };
        if !device.flags.contains(InterfaceFlags::IFF_UP) {
            return Some(Missing::Up);
        }
        let has =
            |&address: &IpAddr| own.iter().any(|reported| address_of(reported) == Some(address));
        let lost = self.addresses.iter().find(|address| !has(address)).copied();
        let without_route = || self.addresses.iter().any(|own| !has_default_route(own));
        lost.map(Missing::Address).or_else(|| without_route().then_some(Missing::Route))
    }
}

fn address_of(reported: &InterfaceAddress) -> Option<IpAddr> {
    let address = reported.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
}

/// Whether the namespace of the thread has a route from the device to all of this version of IP, by the kernel's tables.
fn has_default_route(version: &IpAddr) -> bool {
    let (table, device, [target, mask]) = match version {
        IpAddr::V4(_) => ("/proc/thread-self/net/route", 0, [1, 7]),
        IpAddr::V6(_) => ("/proc/thread-self/net/ipv6_route", 9, [0, 1]),
    };
    let reported = std::fs::read_to_string(table).unwrap_or_default();
    reported.lines().any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let is_zero =
            |at: usize| fields.get(at).is_some_and(|field| field.bytes().all(|b| b == b'0'));
        fields.get(device) == Some(&DEVICE) && is_zero(target) && is_zero(mask)
    })
}
