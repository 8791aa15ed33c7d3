//! Builds without eBPF.

use crate::error::Program;
use crate::{Error, Link};

/// The program that writes a [`Record`](crate::Record) before each packet; not available in this build.
#[derive(Debug)]
pub enum SenderProgram {}

impl SenderProgram {
    /// Loads the program.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn load() -> Result<SenderProgram, Error> {
        Err(Error::LeftOut(Program::Sender))
    }

    /// Lets it see all that the device of this number sends, in the network namespace of the thread, for as long
    /// as the device is there. The record comes after the header of the link layer.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn attach(&self, _device: u32, _link: Link) -> Result<(), Error> {
        match *self {}
    }
}
