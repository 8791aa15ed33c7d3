//! Sockets of hosts.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;
use shortflow_packet::Dscp;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::kernel::SocketSpec;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Begins to connect to `to`; the socket becomes writable when the result is known. Also returns whether its SYN has
/// left: it has not if a program inside has removed the host's route there.
pub(crate) fn connect(to: SocketAddr, spec: &SocketSpec) -> io::Result<(Socket, bool)> {
    let socket = stream(to.ip(), spec)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((socket, true)),
        Err(error) if has_no_way(&error) => Ok((socket, false)),
        Err(error) => Err(error),
        Ok(()) => Ok((socket, true)),
    }
}

/// Whether the host has no device, address or route by which to send.
fn has_no_way(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(
        errno,
        Some(Errno::ENETUNREACH | Errno::EHOSTUNREACH | Errno::ENETDOWN | Errno::EADDRNOTAVAIL)
    )
}

/// Waits for connections at `at`.
pub(crate) fn listen(at: SocketAddr, spec: &SocketSpec) -> io::Result<Socket> {
    let socket = stream(at.ip(), spec)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Whether a socket that could not be accepted will not be so for as long as nothing is closed.
pub(crate) fn is_lasting(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM))
}

fn stream(family: IpAddr, spec: &SocketSpec) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(domain(family), kind, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(spec.congestion.as_bytes())?;
    socket.set_tcp_mss(spec.mss)?;
    socket.set_tcp_nodelay(!spec.nagle)?;
    if let Some(window) = spec.receive_window {
        // The kernel doubles it, and offers about half of what it then has.
        socket.set_recv_buffer_size(window as usize)?;
        clamp_window(&socket, window)?;
    }
    Ok(socket)
}

/// Sends datagrams from `from` to `to`, with this code point.
pub(crate) fn sender(from: SocketAddr, to: SocketAddr, dscp: Dscp) -> io::Result<Socket> {
    let socket = Socket::new(domain(from.ip()), Type::DGRAM.nonblocking().cloexec(), None)?;
    socket.bind(&from.into())?;
    socket.connect(&to.into())?;
    let class = u32::from(dscp.value()) << 2;
    if from.is_ipv4() {
        socket.set_tos_v4(class)?
    } else {
        socket.set_tclass_v6(class)?
    }
    Ok(socket)
}

/// Receives datagrams at `at`.
pub(crate) fn receiver(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(domain(at.ip()), Type::DGRAM.nonblocking().cloexec(), None)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.bind(&at.into())?;
    Ok(socket.into())
}

/// Bytes of datagrams that wait for the load generator.
const RECEIVE_BUFFER: usize = 4 << 20;

fn domain(address: IpAddr) -> Domain {
    if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 }
}

/// The port of an address of the internet.
pub(crate) fn port(address: &SockAddr) -> u16 {
    address.as_socket().map_or(0, |address| address.port())
}

/// Offers at most this window (tcp(7): TCP_WINDOW_CLAMP).
fn clamp_window(socket: &Socket, window: u32) -> io::Result<()> {
    let value = window as libc::c_int;
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    #[allow(unsafe_code)]
    // SAFETY: the descriptor is open, and the kernel reads an int, which lives until it returns.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const value).cast(),
            size,
        )
    };
    Errno::result(done).map(|_| ()).map_err(io::Error::from)
}
