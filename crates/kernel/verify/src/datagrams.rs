//! Datagrams whose code points can be set and read.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use shortflow_packet::Dscp;
use socket2::{Domain, Protocol, Socket, Type};

/// How long one waits for a datagram before one looks whether to stop.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A socket that sets the code point of its datagrams, and reads that of received ones.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: UdpSocket,
}

impl Datagrams {
    /// At an address of this machine; port 0 is one of the kernel's choice. `::` takes those of IPv4, too.
    pub(crate) fn at(address: SocketAddr) -> io::Result<Datagrams> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
            socket.set_recv_tclass_v6(true)?;
        }
        // Those that come over IPv4 to a socket of both have theirs in this option.
        socket.set_recv_tos_v4(true)?;
        socket.set_read_timeout(Some(POLL_INTERVAL))?;
        socket.bind(&address.into())?;
        Ok(Datagrams { socket: socket.into() })
    }

    /// To `peer`, marked so. What does not come from there is not seen.
    pub(crate) fn to(peer: SocketAddr, code_point: Dscp) -> io::Result<Datagrams> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let datagrams = Datagrams::at(SocketAddr::new(any, 0))?;
        datagrams.mark(peer, code_point)?;
        datagrams.socket.connect(peer)?;
        Ok(datagrams)
    }

    fn mark(&self, peer: SocketAddr, code_point: Dscp) -> io::Result<()> {
        mark(&socket2::SockRef::from(&self.socket), peer, code_point)
    }

    /// Sends to whom it is connected.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send(bytes).map(|_| ())
    }

    /// Sends a datagram with this code point.
    pub(crate) fn send_to(&self, bytes: &[u8], to: SocketAddr, marked: Dscp) -> io::Result<()> {
        self.mark(to, marked)?;
        self.socket.send_to(bytes, to).map(|_| ())
    }

    /// The next datagram: its length, with which code point it came, and from whom; none when nothing came for
    /// [`POLL_INTERVAL`].
    pub(crate) fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<Received>> {
        let mut space = nix::cmsg_space!(i32, i32);
        let mut buffers = [IoSliceMut::new(bytes)];
        let message = recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut buffers,
            Some(&mut space),
            MsgFlags::empty(),
        );
        let message = match message {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            other => other?,
        };
        let code_point = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4Tos(tos) => Dscp::new(tos >> 2),
            ControlMessageOwned::Ipv6TClass(class) => Dscp::new(u8::try_from(class).ok()? >> 2),
            _ => None,
        });
        Ok(Some(Received {
            length: message.bytes,
            code_point: code_point.unwrap_or_default(),
            from: message.address.as_ref().and_then(address),
        }))
    }
}

/// A datagram that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub(crate) length: usize,
    pub(crate) code_point: Dscp,
    pub(crate) from: Option<SocketAddr>,
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

/// Gives what a socket sends to `peer` a code point.
pub(crate) fn mark(socket: &Socket, peer: SocketAddr, code_point: Dscp) -> io::Result<()> {
    let class = u32::from(code_point.value()) << 2;
    let is_v4 = |address: Ipv6Addr| address.to_ipv4_mapped().is_some();
    match peer {
        SocketAddr::V6(v6) if !is_v4(*v6.ip()) => socket.set_tclass_v6(class),
        _ => socket.set_tos_v4(class),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram marked EF that comes to a socket of both families, and goes back marked AF11.
    #[test]
    fn code_points_are_written_and_read_over_ipv4_and_ipv6() {
        let there = Datagrams::at("[::]:0".parse().unwrap()).unwrap();
        let port = there.socket.local_addr().unwrap().port();
        for host in ["127.0.0.1", "::1"] {
            let peer = SocketAddr::new(host.parse().unwrap(), port);
            let here = match Datagrams::to(peer, Dscp::EF) {
                Ok(here) => here,
                Err(why) => {
                    assert_ne!(host, "127.0.0.1", "{why}");
                    eprintln!("skipped: needs IPv6 on loopback: {why}");
                    continue;
                }
            };
            here.send(b"there").unwrap();
            let mut bytes = [0; 16];
            let came = there.receive(&mut bytes).unwrap().expect("it came");
            assert_eq!((came.length, came.code_point), (5, Dscp::EF), "{host}");
            let back: Dscp = "AF11".parse().unwrap();
            there.send_to(b"back", came.from.unwrap(), back).unwrap();
            let came = here.receive(&mut bytes).unwrap().expect("it came back");
            assert_eq!((&bytes[..came.length], came.code_point), (&b"back"[..], back), "{host}");
            assert!(here.receive(&mut bytes).unwrap().is_none(), "nothing else");
        }
    }
}
