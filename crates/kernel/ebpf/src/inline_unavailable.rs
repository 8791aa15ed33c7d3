//! Stands for the program where this build does not include it.

use std::os::fd::AsRawFd;

use crate::Error;
use crate::error::Program;

/// What the program must know before it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineSettings {
    /// The length of the longest frame that the router can take, in bytes.
    pub max_frame: u32,
    /// How long the router may be silent, in nanoseconds.
    pub max_silence: u64,
    /// The Ethernet addresses of the bridge and of its ports.
    pub own: Vec<[u8; 6]>,
}

/// The program at one device. Nobody has it.
#[derive(Debug)]
pub enum InlineProgram {}

impl InlineProgram {
    /// The names that the kernel lists for the program, one for each form of it (programs/inline.bpf.c).
    pub const NAMES: [&str; 2] = ["in_pieces", "in_one_piece"];

    /// The maximum number of receive queues of a device.
    pub const MAX_QUEUES: u32 = 64;

    /// The maximum number of own addresses.
    pub const MAX_OWN: usize = 16;

    /// Always fails.
    ///
    /// # Errors
    /// This build does not include the program.
    pub fn load(_: &InlineSettings) -> Result<InlineProgram, Error> {
        Err(Error::LeftOut(Program::Inline))
    }

    /// Nobody has one.
    ///
    /// # Errors
    /// None.
    pub fn listen(&self, _: u32, _: &impl AsRawFd) -> Result<(), Error> {
        match *self {}
    }

    /// Nobody has one.
    ///
    /// # Errors
    /// None.
    pub fn attach(&mut self, _: u32) -> Result<(), Error> {
        match *self {}
    }

    /// Nobody has one.
    pub fn is_alive(&self, _: u64) {
        match *self {}
    }

    /// Nobody has one.
    pub fn frames(&self) -> [u64; 5] {
        match *self {}
    }
}
