//! A packet socket (packet(7)) at the other end of a host's cable.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

use super::cable::{ADDRESS, End};
use crate::Error;

/// A packet socket, which strips the header of Ethernet from what it receives, and puts one before what it sends.
#[derive(Debug)]
pub struct Packet {
    socket: OwnedFd,
    /// Where packets of IPv4 and of IPv6 go.
    to: [libc::sockaddr_ll; 2],
}

/// `PACKET_IGNORE_OUTGOING` of linux/if_packet.h: what the socket sends does not come back to it.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `PACKET_QDISC_BYPASS` of linux/if_packet.h: nothing lies between the socket and the device.
const PACKET_QDISC_BYPASS: libc::c_int = 20;

/// What the kernel counts for a waiting packet besides its bytes, and more.
const OVERHEAD: u32 = 1024;

impl Packet {
    /// Opens a socket at an end in the namespace of the thread.
    pub(super) fn bind(end: &End) -> Result<Packet, Error> {
        let socket = open().map_err(Error::NoPacketSockets)?;
        let failed = || Error::kernel("cannot set up a packet socket");
        let room = end.queue.saturating_mul(end.mtu + OVERHEAD) as libc::c_int;
        // In a user namespace a socket has what everybody may have (`net.core.rmem_max`).
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room)
            .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, room))
            .map_err(failed())?;
        for option in [PACKET_IGNORE_OUTGOING, PACKET_QDISC_BYPASS] {
            set(&socket, libc::SOL_PACKET, option, 1).map_err(failed())?;
        }
        let to = |protocol: libc::c_int| address(end.index, protocol);
        bind(&socket, &to(libc::ETH_P_ALL)).map_err(failed())?;
        Ok(Packet { socket, to: [to(libc::ETH_P_IP), to(libc::ETH_P_IPV6)] })
    }

    #[allow(unsafe_code)]
    pub(super) fn read(&self, packet: &mut [u8]) -> io::Result<usize> {
        let (place, room) = (packet.as_mut_ptr().cast(), packet.len());
        // SAFETY: the socket is open, and the kernel writes `room` bytes at most to a place that has as many.
        let length = unsafe { libc::recv(self.socket.as_raw_fd(), place, room, 0) };
        usize::try_from(length).map_err(|_| io::Error::last_os_error())
    }

    #[allow(unsafe_code)]
    pub(super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let to = &raw const self.to[usize::from(is_v6)];
        let (place, length) = (packet.as_ptr().cast(), packet.len());
        let of = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the socket is open, and the kernel reads the packet and the address, which live until it returns.
        let sent =
            unsafe { libc::sendto(self.socket.as_raw_fd(), place, length, 0, to.cast(), of) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Packet {
    /// Packets of the host that came faster than they were read, since this was asked last.
    #[allow(unsafe_code)]
    pub(super) fn lost(&self) -> u64 {
        // SAFETY: all zeros are statistics: plain numbers.
        let mut found: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&found) as libc::socklen_t;
        let (socket, place) = (self.socket.as_raw_fd(), (&raw mut found).cast());
        let option = libc::PACKET_STATISTICS;
        // SAFETY: the kernel writes as many bytes at most as the statistics have.
        let _ =
            unsafe { libc::getsockopt(socket, libc::SOL_PACKET, option, place, &raw mut length) };
        u64::from(found.tp_drops)
    }
}

impl AsFd for Packet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[allow(unsafe_code)]
fn open() -> Result<OwnedFd, Errno> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call has no pointers. It receives nothing before it is bound: its protocol is 0.
    let socket = Errno::result(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Sets an option that is a number.
#[allow(unsafe_code)]
fn set(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    to: libc::c_int,
) -> nix::Result<()> {
    let (value, length) = ((&raw const to).cast(), size_of_val(&to) as libc::socklen_t);
    // SAFETY: the kernel reads one number, which lives until it returns.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) };
    Errno::result(done).map(|_| ())
}

/// The host at the other end of a cable.
fn address(index: u32, protocol: libc::c_int) -> libc::sockaddr_ll {
    let mut address = [0; 8];
    address[..ADDRESS.len()].copy_from_slice(&ADDRESS);
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (protocol as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: ADDRESS.len() as u8,
        sll_addr: address,
    }
}

#[allow(unsafe_code)]
fn bind(socket: &OwnedFd, to: &libc::sockaddr_ll) -> nix::Result<()> {
    let (address, length) = ((&raw const *to).cast(), size_of_val(to) as libc::socklen_t);
    // SAFETY: the kernel reads one address, which lives until it returns.
    let done = unsafe { libc::bind(socket.as_raw_fd(), address, length) };
    Errno::result(done).map(|_| ())
}
