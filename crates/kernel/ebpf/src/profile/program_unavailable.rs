//! Builds without eBPF.

use std::os::fd::BorrowedFd;

use super::{TcpFilter, TcpHook, TcpParts, TcpSettings, TcpState, TcpWalk};
use crate::Error;
use crate::error::Program;

/// A profile in the kernel; not available in this build.
#[derive(Debug)]
pub enum TcpProfile {}

impl TcpProfile {
    /// Gives the kernel a congestion control.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn install(_: &str, _: &TcpFilter, _: &TcpSettings) -> Result<TcpProfile, Error> {
        Err(Error::LeftOut(Program::Profile))
    }

    /// The one that is in the kernel in these parts.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn find(_: &str, _: &TcpFilter, _: &TcpParts) -> Result<Option<TcpProfile>, Error> {
        Err(Error::LeftOut(Program::Profile))
    }

    /// None: without eBPF nobody can look.
    pub fn left_over(_: &str) -> Option<u32> {
        None
    }

    /// Takes away a control.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn remove_left_over(_: u32) -> Result<(), Error> {
        Err(Error::LeftOut(Program::Profile))
    }

    /// Its parts.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn parts(&self) -> Result<TcpParts, Error> {
        match *self {}
    }

    /// Attaches a program.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn attach(&mut self, _: TcpHook, _: BorrowedFd<'_>) -> Result<(), Error> {
        match *self {}
    }

    /// Whether a program is at the cgroup.
    pub fn is_attached(&self, _: TcpHook, _: BorrowedFd<'_>) -> bool {
        match *self {}
    }

    /// Detaches a program.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn detach(&self, _: TcpHook, _: BorrowedFd<'_>) -> Result<(), Error> {
        match *self {}
    }

    /// Gives it to live connections.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn take_over(&self) -> Result<TcpWalk, Error> {
        match *self {}
    }

    /// Gives connections back what they had.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn give_back(&self) -> Result<TcpWalk, Error> {
        match *self {}
    }

    /// Gives connections that it is not for back what they had.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn give_back_others(&self) -> Result<TcpWalk, Error> {
        match *self {}
    }

    /// Is for other connections from now on.
    pub fn select(&mut self, _: &TcpFilter) {
        match *self {}
    }

    /// Takes the congestion control away.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn unregister(self) -> Result<(), Error> {
        match self {}
    }

    /// Has another profile from now on.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn change(&self, _: &TcpSettings) -> Result<(), Error> {
        match *self {}
    }

    /// What it counts.
    ///
    /// # Errors
    /// Never: it does not exist.
    pub fn state(&self) -> Result<TcpState, Error> {
        match *self {}
    }
}
