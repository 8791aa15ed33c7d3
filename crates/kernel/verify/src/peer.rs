//! The other end: returns probes, and accepts transfers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::datagrams::{Datagrams, POLL_INTERVAL};
use crate::error::Error;
use crate::message::Message;

/// The default port of a peer.
pub const PORT: u16 = 7807;

/// The maximum number of open connections.
const MAX_CONNECTIONS: usize = 256;
/// A connection that is silent for longer is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A transfer begins with this byte and its length in eight bytes.
pub(crate) const TRANSFER: u8 = b't';
/// An endless flow begins with this byte.
pub(crate) const FLOW: u8 = b'f';
/// The answer to a complete transfer.
pub(crate) const TAKEN: u8 = b'.';

/// The other end: waits for probes and transfers.
#[derive(Debug)]
pub struct Peer {
    datagrams: Datagrams,
    listener: TcpListener,
    address: SocketAddr,
    served: Arc<Tally>,
}

/// What a peer has served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Probes sent back.
    pub probes: u64,
    /// Complete transfers.
    pub transfers: u64,
}

#[derive(Debug, Default)]
struct Tally {
    probes: AtomicU64,
    transfers: AtomicU64,
    open: AtomicUsize,
}

impl Peer {
    /// Listens at an address of this machine, with UDP and TCP at the same port.
    ///
    /// # Errors
    /// If another program uses the port.
    pub fn at(address: SocketAddr) -> Result<Peer, Error> {
        let taken = |error| Error::Listen(address, error);
        let listener = TcpListener::bind(address).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let datagrams = Datagrams::at(address).map_err(taken)?;
        Ok(Peer { datagrams, listener, address, served: Arc::default() })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is true.
    ///
    /// # Errors
    /// If its sockets fail.
    pub fn serve(&self, stop: &AtomicBool) -> Result<Served, Error> {
        std::thread::scope(|scope| {
            let echo = Builder::new().spawn_scoped(scope, || self.send_back(stop));
            let echo = echo.map_err(Error::socket("cannot wait for probes"))?;
            let taken = self.take(stop);
            let echoed = echo.join().expect("no echo panics");
            taken.and(echoed).map_err(Error::socket("cannot wait for probes"))
        })?;
        let Tally { probes, transfers, .. } = &*self.served;
        let [probes, transfers] = [probes, transfers].map(|count| count.load(Ordering::Relaxed));
        Ok(Served { probes, transfers })
    }

    /// Returns each probe with the code point with which it arrived, in its header and in its text.
    fn send_back(&self, stop: &AtomicBool) -> io::Result<()> {
        let mut bytes = [0; Message::LENGTH + 1];
        while !stop.load(Ordering::Relaxed) {
            // Whoever goes away makes the next call fail, and nobody else's concern.
            let Ok(Some(came)) = self.datagrams.receive(&mut bytes) else { continue };
            let Some(message) = Message::read(&bytes[..came.length]) else { continue };
            // What has been here already goes round between two peers for ever.
            let (Some(from), None) = (came.from, message.arrived) else { continue };
            let back = Message { arrived: Some(came.code_point), ..message };
            if self.datagrams.send_to(&back.bytes(), from, came.code_point).is_ok() {
                self.served.probes.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Takes connections, each in a thread of its own, which ends with `stop` or its silence.
    fn take(&self, stop: &AtomicBool) -> io::Result<()> {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let mut waiting = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
                match poll(&mut waiting, PollTimeout::try_from(POLL_INTERVAL).expect("it is short"))
                {
                    Ok(0) | Err(Errno::EINTR) => continue,
                    other => other?,
                };
                let Ok((connection, _)) = self.listener.accept() else {
                    // There is no descriptor left, which passes.
                    std::thread::sleep(POLL_INTERVAL);
                    continue;
                };
                if self.served.open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                    self.served.open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let served = &self.served;
                let attend = move || {
                    // Who breaks off has no transfer that counts.
                    let _ = attend(connection, served, stop);
                    served.open.fetch_sub(1, Ordering::Relaxed);
                };
                if Builder::new().spawn_scoped(scope, attend).is_err() {
                    served.open.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    }
}

/// Takes what a connection brings.
fn attend(mut connection: TcpStream, served: &Tally, stop: &AtomicBool) -> io::Result<()> {
    connection.set_nonblocking(false)?;
    connection.set_read_timeout(Some(POLL_INTERVAL))?;
    connection.set_write_timeout(Some(IDLE_TIMEOUT))?;
    connection.set_nodelay(true)?;
    let mut bytes = vec![0; 1 << 16];
    let mut take = |connection: &mut TcpStream, max: u64| -> io::Result<usize> {
        let max = bytes.len().min(usize::try_from(max).unwrap_or(usize::MAX));
        read(connection, &mut bytes[..max], stop)
    };
    let mut head = [0; 1];
    match read(&mut connection, &mut head, stop)? {
        1 => {}
        _ => return Ok(()),
    }
    let mut left = match head[0] {
        FLOW => u64::MAX,
        TRANSFER => {
            let mut length = [0; 8];
            let mut got = 0;
            while got < length.len() {
                match read(&mut connection, &mut length[got..], stop)? {
                    0 => return Ok(()),
                    more => got += more,
                }
            }
            u64::from_be_bytes(length)
        }
        _ => return Ok(()),
    };
    while left > 0 {
        match take(&mut connection, left)? {
            0 => return Ok(()),
            more => left -= more as u64,
        }
    }
    connection.write_all(&[TAKEN])?;
    served.transfers.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Reads some; nothing at the end, after [`IDLE_TIMEOUT`], or when it is to stop.
fn read(connection: &mut TcpStream, bytes: &mut [u8], stop: &AtomicBool) -> io::Result<usize> {
    let mut silent = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) && silent < IDLE_TIMEOUT {
        match connection.read(bytes) {
            Err(error) if is_patience(&error) => silent += POLL_INTERVAL,
            other => return other,
        }
    }
    Ok(0)
}

/// Whether nothing came for a while.
pub(crate) fn is_patience(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use shortflow_packet::Dscp;

    use super::*;
    use crate::transfers::transfers;

    /// Strangers send rubbish, a message that has been to a peer already, and half a transfer; then somebody means it.
    #[test]
    fn strangers_get_nothing_and_keep_nobody_from_a_transfer() {
        let peer = Peer::at("127.0.0.1:0".parse().unwrap()).unwrap();
        let (address, stop) = (peer.address(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| peer.serve(&stop));
            let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
            stranger.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            let been = Message { run: 1, stream: 2, number: 3, arrived: Some(Dscp::EF) };
            for rubbish in [&[][..], b"sfv1", &[0; 1500], &been.bytes()] {
                stranger.send_to(rubbish, address).unwrap();
            }
            assert!(stranger.recv(&mut [0; 2000]).is_err(), "nothing comes back");
            for rubbish in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"t\0\0", b""] {
                TcpStream::connect(address).unwrap().write_all(rubbish).unwrap();
            }
            let found = transfers(address, 20_000, Duration::from_millis(300), &stop).unwrap();
            assert!(found.times.len() == 2 && found.failed == 0, "{found:?}");
            stop.store(true, Ordering::Relaxed);
            let served = serving.join().unwrap().unwrap();
            assert_eq!(served, Served { probes: 0, transfers: 2 });
        });
    }
}
