//! Builds without eBPF.

use super::{Arrival, EarlyCounter, EarlyPlan};
use crate::Error;
use crate::error::Program;

/// The program for early drops; this build has none.
#[derive(Debug)]
pub enum EarlyProgram {}

impl EarlyProgram {
    /// Whether this build includes it.
    pub const IS_BUILT: bool = false;

    /// Loads the program.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn load(_plan: &EarlyPlan) -> Result<EarlyProgram, Error> {
        Err(Error::LeftOut(Program::Early))
    }

    /// Loads the program for trials.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn load_to_try(_plan: &EarlyPlan) -> Result<EarlyProgram, Error> {
        Err(Error::LeftOut(Program::Early))
    }

    /// Shows it a packet.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn try_packet(&self, _arrival: Arrival<'_>, _out: &mut Vec<u8>) -> Result<bool, Error> {
        match *self {}
    }

    /// What has become of the packets of a queue's level.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn counter(&self, _queue: usize, _level: usize) -> Result<EarlyCounter, Error> {
        match *self {}
    }
}
