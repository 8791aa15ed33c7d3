//! Virtual Ethernet cables from hosts to a namespace with their other ends.
//!
//! The cables need no neighbour discovery: every host uses its own address also for the other end, and packets from
//! there carry that address too. The kernel offloads no checksum and no segmentation to a device: packets leave as
//! they would be on a wire.

use nix::errno::Errno;
use nix::libc;

use crate::host::{DEVICE, index_of, set};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::{Error, Home, Host, HostSpec};

/// The namespace in which the other ends of all hosts' cables are.
#[derive(Debug)]
pub struct Cables {
    namespace: Namespace,
    /// A socket to the kernel in it.
    netlink: Netlink,
    made: u32,
}

/// A locally administered address, as every host's device has it.
pub(super) const ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Bytes of the header of Ethernet.
pub(super) const ETHERNET: usize = 14;

/// The other end of a cable, as its socket must know it.
pub(super) struct End {
    /// Its number in the namespace of the thread.
    pub(super) index: u32,
    /// Bytes of the largest IP packet, with what a program writes before it.
    pub(super) mtu: u32,
    /// Packets of the host that wait at most.
    pub(super) queue: u32,
}

impl Cables {
    pub(super) fn new(home: &Home) -> Result<Cables, Error> {
        // The ends carry what others send, and say nothing themselves.
        let silent = || set("ipv6/conf/default/disable_ipv6", "1");
        let (netlink, namespace) = home.make(|| {
            silent()?;
            Netlink::open()
        })?;
        Ok(Cables { namespace, netlink, made: 0 })
    }

    /// Makes a host with a cable, and binds a socket to its other end by `bind`.
    pub(super) fn host<T>(
        &mut self,
        home: &Home,
        spec: &HostSpec,
        bind: impl FnOnce(&End) -> Result<T, Error>,
    ) -> Result<(Host, T), Error> {
        self.made += 1;
        let far = format!("host{}", self.made);
        let (namespace, there) = (&self.namespace, &mut self.netlink);
        let mut index = 0;
        let cable = |netlink: &mut Netlink| {
            netlink.add_cable(DEVICE, &far, namespace.as_fd())?;
            netlink.make_silent(index_of(DEVICE)?, ADDRESS)?;
            // No address of the link alone, and so no questions for routers.
            set(&format!("ipv6/conf/{DEVICE}/addr_gen_mode"), "1")?;
            compute_checksums(DEVICE)?;
            // First the other end: a device that is switched on before it loses packets for a while.
            index = there.index_of(&far)?;
            there.set_up(index, Some(spec.mtu + spec.headroom), None)
        };
        let (host, ()) = Host::with_device(home, spec, cable)?;
        let bound = home.within(namespace, || {
            there.wait_until_it_carries(index)?;
            bind(&End { index, mtu: spec.mtu + spec.headroom, queue: spec.queue })
        })??;
        host.wait_until_it_carries(home)?;
        Ok((host, bound))
    }
}

/// `ETHTOOL_STXCSUM` of linux/ethtool.h: whether a device computes checksums. Where it does not, the kernel
/// does, and gives it no segments to cut up either.
const ETHTOOL_STXCSUM: u32 = 0x17;

/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// `ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Lets the kernel compute the checksums of what a device sends.
#[allow(unsafe_code)]
pub(crate) fn compute_checksums(device: &str) -> Result<(), Error> {
    let failed = Error::kernel("cannot enable checksum offload of a device");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")
        .or_else(|_| std::net::UdpSocket::bind("0.0.0.0:0"))
        .map_err(|source| Error::Kernel { what: "cannot open a socket", source })?;
    let mut value = Value { command: ETHTOOL_STXCSUM, data: 0 };
    // SAFETY: all zeros are an `ifreq`: an empty name, and a union of plain numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(device.len() < request.ifr_name.len(), "a device's name has 15 bytes at most");
    for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    let socket = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the descriptor is open, and the request and the value that it points to live until the kernel returns.
    let done = unsafe { libc::ioctl(socket, SIOCETHTOOL as _, &raw mut request) };
    Errno::result(done).map(|_| ()).map_err(failed)
}
