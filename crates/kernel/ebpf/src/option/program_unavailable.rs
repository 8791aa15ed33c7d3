//! Builds without eBPF.

use std::os::fd::BorrowedFd;

use crate::Error;
use crate::error::Program;

/// The option at a cgroup; not available in this build.
#[derive(Debug)]
pub enum SocketOption {}

impl SocketOption {
    /// The option at this cgroup.
    ///
    /// # Errors
    /// Always: this build cannot look.
    pub fn find(_cgroup: BorrowedFd<'_>) -> Result<Option<SocketOption>, Error> {
        Err(Error::LeftOut(Program::Option))
    }

    /// Gives sockets the option.
    ///
    /// # Errors
    /// Always: this build does not include it.
    pub fn attach(_cgroup: BorrowedFd<'_>) -> Result<SocketOption, Error> {
        Err(Error::LeftOut(Program::Option))
    }

    /// Takes the option away.
    ///
    /// # Errors
    /// Never: there is no option.
    pub fn detach(self, _cgroup: BorrowedFd<'_>) -> Result<(), Error> {
        match self {}
    }

    /// Whether a program at a device reads it.
    pub fn is_used(&self) -> bool {
        match *self {}
    }
}
