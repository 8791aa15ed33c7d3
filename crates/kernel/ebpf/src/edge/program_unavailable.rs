//! Builds without eBPF.

use super::{EdgeCounter, EdgePlan, EdgeTable, EdgeTimes, Trial};
use crate::error::Program;
use crate::option::SocketOption;
use crate::{Error, Link};

/// The program that conditions packets; this build has none.
#[derive(Debug)]
pub enum EdgeProgram {}

impl EdgeProgram {
    /// Loads the program.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn load(_plan: &EdgePlan, _link: Link) -> Result<EdgeProgram, Error> {
        Err(Error::LeftOut(Program::Edge))
    }

    /// Whether the kernel takes the program.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn probe() -> Result<(), Error> {
        Err(Error::LeftOut(Program::Edge))
    }

    /// Loads the program for a socket option.
    ///
    /// # Errors
    /// Always: this build does not include it.
    pub fn load_with_option(
        _plan: &EdgePlan,
        _link: Link,
        _option: &SocketOption,
    ) -> Result<EdgeProgram, Error> {
        Err(Error::LeftOut(Program::Edge))
    }

    /// Loads the program with a given clock and given random numbers.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn load_to_try(_plan: &EdgePlan) -> Result<EdgeProgram, Error> {
        Err(Error::LeftOut(Program::Edge))
    }

    /// Shows it a packet.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn try_packet(&self, _trial: Trial<'_>, _out: &mut Vec<u8>) -> Result<bool, Error> {
        match *self {}
    }

    /// What each class has seen of green, yellow and red packets.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn counters(&self) -> Result<Vec<[EdgeCounter; 3]>, Error> {
        match *self {}
    }

    /// What the table of each class has seen; nothing of a class without one.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn tables(&self) -> Result<Vec<EdgeTable>, Error> {
        match *self {}
    }

    /// How long the connections of each class took, in groups by what they have sent; none of a class that does not know flows.
    ///
    /// # Errors
    /// Never: there is no program.
    pub fn times(&self) -> Result<Vec<Option<[EdgeTimes; 4]>>, Error> {
        match *self {}
    }
}
