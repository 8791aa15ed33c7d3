//! Builds without eBPF.

use super::{PlansCounts, PlansPrefix, PlansSettings};
use crate::Error;
use crate::error::Program;

/// The program for plans; this build has none.
#[derive(Debug)]
pub enum PlansProgram {}

impl PlansProgram {
    /// Loads the program.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn load(_settings: &PlansSettings) -> Result<PlansProgram, Error> {
        Err(Error::LeftOut(Program::Plans))
    }

    /// Gives the packets of a prefix to a class.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn insert(&self, _prefixes: &[(PlansPrefix, u16)]) -> Result<(), Error> {
        match *self {}
    }

    /// Shows it a packet.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn try_packet(&self, _packet: &[u8]) -> Result<u32, Error> {
        match *self {}
    }

    /// What it has seen.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn counts(&self) -> Result<PlansCounts, Error> {
        match *self {}
    }

    /// Lets it see what a device sends.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn attach(&self, _device: u32) -> Result<(), Error> {
        match *self {}
    }
}

/// The program as it is at a device; this build knows none.
#[derive(Debug)]
pub enum PlansAtDevice {}

impl PlansAtDevice {
    /// The one that is at a device.
    ///
    /// # Errors
    /// Never: this build finds none.
    pub fn find(_device: u32) -> Result<Option<PlansAtDevice>, Error> {
        Ok(None)
    }

    /// Gives the packets of prefixes to classes.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn insert(&self, _prefixes: &[(PlansPrefix, u16)], _root: u16) -> Result<(), Error> {
        match *self {}
    }

    /// Gives the packets of prefixes to nobody.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn remove(&self, _prefixes: &[PlansPrefix]) -> Result<(), Error> {
        match *self {}
    }

    /// What it has seen.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn counts(&self) -> Result<PlansCounts, Error> {
        match *self {}
    }

    /// Takes the program away.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn detach(self, _device: u32) -> Result<(), Error> {
        match self {}
    }
}
