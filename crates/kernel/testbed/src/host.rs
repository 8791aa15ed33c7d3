//! A host: a network namespace with one device.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use netlink_packet_route::route::RouteMetric;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::{Error, Home};

/// What a host is made from.
#[derive(Debug, Clone, Default)]
pub struct HostSpec {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Bytes of the largest IP packet.
    pub mtu: u32,
    /// Bytes that a program at the device may write before a packet.
    pub headroom: u32,
    /// Packets that wait at most between its kernel and its device.
    pub queue: u32,
    /// How its TCP treats those whom it talks to.
    pub route: RouteSpec,
    /// Settings of its kernel, each as the path below /proc/sys/net and what is written there.
    pub settings: Vec<(&'static str, String)>,
}

/// TCP settings of a host's routes (ip-route(8)); `None` means the kernel's default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteSpec {
    /// Segments of the initial congestion window.
    pub initial_window: Option<u32>,
    /// Segments of the initial receive window.
    pub initial_receive_window: Option<u32>,
    /// Milliseconds of the smallest retransmission timeout.
    pub rto_min: Option<u32>,
    /// Whether every segment is acknowledged at once.
    pub quick_acks: bool,
}

/// A host, which is gone when this is dropped and its device is.
#[derive(Debug)]
pub struct Host {
    namespace: Namespace,
    /// The number of its device, in its network namespace.
    pub device: u32,
    /// Those that it was given.
    pub(crate) addresses: Vec<IpAddr>,
}

/// The device of every host.
pub(crate) const DEVICE: &str = "eth0";

impl Host {
    /// Makes a host around the device that `make` puts into its network namespace.
    pub(crate) fn with_device<T>(
        home: &Home,
        spec: &HostSpec,
        make: impl FnOnce(&mut Netlink) -> Result<T, Error>,
    ) -> Result<(Host, T), Error> {
        let ((made, device), namespace) = home.make(|| {
            spec.settings.iter().try_for_each(|(path, value)| set(path, value))?;
            let mut netlink = Netlink::open()?;
            let made = make(&mut netlink)?;
            netlink.set_up(index_of("lo")?, None, None)?;
            let device = index_of(DEVICE)?;
            netlink.set_up(device, Some(spec.mtu + spec.headroom), Some(spec.queue))?;
            for &address in &spec.addresses {
                netlink.add_address(device, address)?;
                netlink.add_default_route(device, address, &spec.metrics())?;
            }
            spec.addresses.iter().try_for_each(|&own| netlink.wait_until_it_is_own(own))?;
            Ok((made, device))
        })?;
        Ok((Host { namespace, device, addresses: spec.addresses.clone() }, made))
    }

    /// Does something as this host: sockets that are made stay the host's.
    ///
    /// # Errors
    /// When the kernel does not let the thread in.
    pub fn within<T>(&self, home: &Home, act: impl FnOnce() -> T) -> Result<T, Error> {
        home.within(&self.namespace, act)
    }

    /// Waits until its device carries packets.
    pub(crate) fn wait_until_it_carries(&self, home: &Home) -> Result<(), Error> {
        let wait = || Netlink::open()?.wait_until_it_carries(index_of(DEVICE)?);
        home.within(&self.namespace, wait)?
    }

    /// Ends connections that are no longer needed, after one more retry. A namespace exists as long as one of its
    /// connections, which otherwise retries for minutes.
    ///
    /// # Errors
    /// When the kernel does not let the thread in.
    pub fn give_up_connections(&self, home: &Home) -> Result<(), Error> {
        home.within(&self.namespace, || set("ipv4/tcp_orphan_retries", "1"))?
    }

    /// From now on its sockets have this congestion control, as long as they choose no other. False where the kernel
    /// lets no other namespace than its first choose it (`net.ipv4.tcp_allowed_congestion_control`).
    ///
    /// # Errors
    /// When the kernel does not let the thread in.
    pub fn prefer_congestion_control(&self, home: &Home, name: &str) -> Result<bool, Error> {
        home.within(&self.namespace, || set("ipv4/tcp_congestion_control", name).is_ok())
    }

    /// A descriptor of its network namespace, for a program that is to run there.
    ///
    /// # Errors
    /// When there are too many open files.
    pub fn namespace(&self) -> io::Result<File> {
        self.namespace.try_clone()
    }
}

impl HostSpec {
    fn metrics(&self) -> Vec<RouteMetric> {
        let mut metrics = self.route.metrics();
        // The device takes more than a packet has; what a packet has then is the route's to say.
        metrics.extend((self.headroom > 0).then_some(RouteMetric::Mtu(self.mtu)));
        metrics
    }
}

impl RouteSpec {
    fn metrics(&self) -> Vec<RouteMetric> {
        let given = [
            self.initial_window.map(RouteMetric::InitCwnd),
            self.initial_receive_window.map(RouteMetric::InitRwnd),
            self.rto_min.map(RouteMetric::RtoMin),
            // Without it the kernel keeps to its own least timeout.
            self.rto_min.map(|_| RouteMetric::Lock(1 << RTAX_RTO_MIN)),
            self.quick_acks.then_some(RouteMetric::QuickAck(1)),
        ];
        given.into_iter().flatten().collect()
    }
}

/// The number of the least timeout among the metrics of a route (linux/rtnetlink.h).
const RTAX_RTO_MIN: u32 = 13;

pub(crate) fn index_of(device: &str) -> Result<u32, Error> {
    let refused = Error::kernel("a device is missing");
    if_nametoindex(device).map_err(|errno| match errno {
        // The C library asks through a socket, and says so where it gets none; of no device it says ENODEV.
        Errno::ENOENT => refused(Errno::EMFILE),
        errno => refused(errno),
    })
}

/// Writes a setting of the network namespace of the thread.
pub(crate) fn set(path: &str, value: &str) -> Result<(), Error> {
    let path = Path::new("/proc/sys/net").join(path);
    std::fs::write(&path, value).map_err(|source| {
        let value = value.to_owned();
        Error::Setting { path, value, source }
    })
}
