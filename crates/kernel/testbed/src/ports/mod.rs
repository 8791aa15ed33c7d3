//! How packets of hosts reach the router.
//!
//! ```text
//! eth0 (TUN) ═══════════════════════════ Device::Tun
//! eth0 (veth) ══ its other end (veth) ── Device::Packet or Device::Xdp
//!                └ namespace of all other ends ┘
//! ```

mod cable;
mod packet;
mod tun;
mod xdp;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::host::DEVICE;
use crate::{Error, Home, Host, HostSpec};
use cable::Cables;
pub(crate) use cable::compute_checksums;
use packet::Packet;
use tun::Tun;
use xdp::Xdp;

/// The kinds of ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PortKind {
    /// A TUN device for each host: IP packets, one for each read and write.
    #[default]
    Tun,
    /// A cable (veth) for each host, with a packet socket (AF_PACKET) at its other end.
    Packet,
    /// The same with an AF_XDP socket, which shares memory with the kernel.
    Xdp,
}

impl PortKind {
    /// All of them.
    pub const ALL: [PortKind; 3] = [PortKind::Tun, PortKind::Packet, PortKind::Xdp];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PortKind::Tun => "tun",
            PortKind::Packet => "packet",
            PortKind::Xdp => "xdp",
        }
    }
}

/// Makes hosts with ports of one kind.
#[derive(Debug)]
pub enum Ports {
    /// With TUN devices.
    Tun,
    /// With cables, whose other ends are here.
    Packet(Cables),
    /// The same for AF_XDP.
    Xdp(Cables),
}

impl Ports {
    /// Prepares for hosts with ports of this kind.
    ///
    /// # Errors
    /// When the machine lacks what they need.
    pub fn new(home: &Home, kind: PortKind) -> Result<Ports, Error> {
        Ok(match kind {
            PortKind::Tun => Ports::Tun,
            PortKind::Packet => Ports::Packet(Cables::new(home)?),
            PortKind::Xdp => Ports::Xdp(Cables::new(home)?),
        })
    }

    /// Makes a host, and the device over which it sends and is sent to.
    ///
    /// # Errors
    /// When the machine lacks something, or the kernel does not take a setting.
    pub fn host(&mut self, home: &Home, spec: &HostSpec) -> Result<(Host, Device), Error> {
        match self {
            Ports::Tun => {
                let (host, tun) = Host::with_device(home, spec, |_| Tun::create(DEVICE))?;
                Ok((host, Device::Tun(tun)))
            }
            Ports::Packet(cables) => {
                let (host, packet) = cables.host(home, spec, Packet::bind)?;
                Ok((host, Device::Packet(packet)))
            }
            Ports::Xdp(cables) => {
                let (host, xdp) = cables.host(home, spec, Xdp::bind)?;
                Ok((host, Device::Xdp(Box::new(xdp))))
            }
        }
    }
}

/// Where the IP packets of a host come out and go in.
#[derive(Debug)]
pub enum Device {
    /// The descriptor of a TUN device.
    Tun(Tun),
    /// A packet socket at the other end of a host's cable.
    Packet(Packet),
    /// An AF_XDP socket there.
    Xdp(Box<Xdp>),
}

impl Device {
    /// Reads the next packet that the host sends, without any header before IP; an error of kind `WouldBlock` if
    /// there is no packet.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn read(&mut self, packet: &mut [u8]) -> io::Result<usize> {
        match self {
            Device::Tun(tun) => tun.read(packet),
            Device::Packet(socket) => socket.read(packet),
            Device::Xdp(socket) => socket.read(packet),
        }
    }

    /// Gives the host a packet.
    ///
    /// # Errors
    /// Whatever the kernel says, such as `InvalidInput` of a packet that is none.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        match self {
            Device::Tun(tun) => tun.write(packet),
            Device::Packet(socket) => socket.write(packet),
            Device::Xdp(socket) => socket.write(packet),
        }
    }
}

impl Device {
    /// How many packets its host has sent faster than they were read, and were lost between the two. It is asked
    /// once, at the end.
    ///
    /// # Errors
    /// When the kernel does not let the thread in.
    pub fn lost(&self, home: &Home, host: &Host) -> Result<u64, Error> {
        match self {
            Device::Tun(_) => host.within(home, tun::lost),
            Device::Packet(socket) => Ok(socket.lost()),
            Device::Xdp(socket) => Ok(socket.lost()),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Device::Tun(tun) => tun.as_fd(),
            Device::Packet(socket) => socket.as_fd(),
            Device::Xdp(socket) => socket.as_fd(),
        }
    }
}
