//! The socket operations that are needed to limit reads and writes.

use std::io::{self, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected socket.
pub trait Socket: AsFd + Send + Sized {
    /// Reads what has come, or waits for it until the timeout.
    ///
    /// # Errors
    /// When nothing has come in time, or the connection is broken.
    fn receive(&self, bytes: &mut [u8]) -> io::Result<usize>;

    /// How long [`receive`](Socket::receive) waits; not zero.
    ///
    /// # Errors
    /// When the system refuses.
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;

    /// The same connection once more.
    ///
    /// # Errors
    /// When there is no descriptor left.
    fn clone_handle(&self) -> io::Result<Self>;

    /// Closes the connection for all readers and writers.
    fn close(&self);
}

macro_rules! socket {
    ($name:ty) => {
        impl Socket for $name {
            fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
                (&mut &*self).read(bytes)
            }

            fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
                self.set_read_timeout(Some(timeout))
            }

            fn clone_handle(&self) -> io::Result<Self> {
                self.try_clone()
            }

            fn close(&self) {
                // If it is closed already, that is what was wanted.
                let _ = self.shutdown(Shutdown::Both);
            }
        }
    };
}

socket!(TcpStream);
socket!(UnixStream);
