//! One end of a connection, which sends and receives meaningless bytes.

use std::io::{self, ErrorKind, Read, Write};

use nix::sys::epoll::EpollFlags;
use socket2::Socket;

use super::tcp_info::TcpInfo;
use crate::applications::HandedIn;

/// Stands for an endless number of bytes.
pub(crate) const ENDLESS: u64 = u64::MAX;

/// Bytes read or written at a time.
const CHUNK: usize = 1 << 16;

static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// A socket, and what is still to be done over it.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) socket: Socket,
    /// Bytes that the application has written and the kernel has not taken.
    to_write: u64,
    /// Bytes that it has written in all, for others to look at.
    handed_in: HandedIn,
    /// Those of them that the kernel was not yet asked to take.
    fresh: u64,
    /// The application has nothing more to write.
    closes: bool,
    /// It was shut down.
    is_shut: bool,
    /// Bytes that have come.
    pub(crate) received: u64,
    /// The other end has closed.
    pub(crate) peer_closed: bool,
    /// What is waited for.
    pub(crate) waits_for: EpollFlags,
    /// Its SYN could not leave: it waits for ever, as where all of them are lost.
    pub(crate) is_stuck: bool,
    /// The kernel's report at the time the connection was accepted: only SYN-ACKs.
    pub(crate) first_info: TcpInfo,
}

impl End {
    /// An end over which nothing was said.
    pub(crate) fn new(socket: Socket, waits_for: EpollFlags, handed_in: HandedIn) -> Self {
        End {
            socket,
            to_write: 0,
            handed_in,
            fresh: 0,
            closes: false,
            is_shut: false,
            received: 0,
            peer_closed: false,
            waits_for,
            is_stuck: false,
            first_info: TcpInfo::default(),
        }
    }

    /// Whether its SYN could leave.
    pub(crate) fn stuck_unless(self, has_left: bool) -> Self {
        End { is_stuck: !has_left, ..self }
    }

    /// The end of the server, which its kernel has just accepted.
    pub(crate) fn accepted(socket: Socket, handed_in: HandedIn) -> Self {
        let first_info = TcpInfo::query(&socket);
        End { first_info, ..End::new(socket, EpollFlags::EPOLLIN, handed_in) }
    }

    /// The application writes this number of bytes; [`ENDLESS`] never end.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.to_write = self.to_write.saturating_add(bytes);
        self.fresh = self.fresh.saturating_add(bytes);
        self.handed_in.add(bytes);
    }

    /// The application has nothing more to write.
    pub(crate) fn close(&mut self) {
        self.closes = true;
    }

    /// As [`flush`](End::flush); and tells whether the application has written something of which the window lets
    /// nothing go.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(crate) fn flush_and_look(&mut self) -> io::Result<bool> {
        if self.fresh == 0 {
            return self.flush().map(|()| false);
        }
        let (before, waiting) = (TcpInfo::query(&self.socket), self.to_write);
        self.flush()?;
        let after = TcpInfo::query(&self.socket);
        let taken = waiting - self.to_write;
        let unsent = u64::from(after.unsent);
        // What was sent meanwhile is missing.
        Ok(after.is_established && unsent > 0 && unsent >= u64::from(before.unsent) + taken)
    }

    /// Gives the kernel what it takes.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.fresh = 0;
        while self.to_write > 0 {
            let bytes = self.to_write.min(CHUNK as u64) as usize;
            match (&self.socket).write(&ZEROS[..bytes]) {
                Ok(taken) if self.to_write != ENDLESS => self.to_write -= taken as u64,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.closes && !self.is_shut {
            self.is_shut = true;
            self.socket.shutdown(std::net::Shutdown::Write)?;
        }
        Ok(())
    }

    /// Reads what has come; how many bytes that is.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(crate) fn drain(&mut self, scratch: &mut [u8]) -> io::Result<u64> {
        let mut came = 0;
        loop {
            match (&self.socket).read(scratch) {
                Ok(0) => {
                    self.peer_closed = true;
                    break;
                }
                Ok(bytes) => {
                    came += bytes as u64;
                    if bytes < scratch.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.received += came;
        Ok(came)
    }

    /// Whether both ways are closed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_shut && self.peer_closed
    }

    /// What it waits for now; once it has come to its end, not even for that.
    pub(crate) fn wants(&self) -> EpollFlags {
        let mut wanted = EpollFlags::empty();
        wanted.set(EpollFlags::EPOLLIN, !self.peer_closed);
        wanted.set(EpollFlags::EPOLLOUT, self.to_write > 0);
        wanted
    }
}

/// A place to read into.
pub(crate) fn scratch() -> Vec<u8> {
    vec![0; CHUNK]
}
