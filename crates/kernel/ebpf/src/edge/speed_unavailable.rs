//! Builds without eBPF.

use super::Cost;
use crate::Error;
use crate::error::Program;

/// How long it would be measured.
#[derive(Debug, Clone, Copy)]
pub struct Effort;

impl Effort {
    /// What figures are made of.
    pub const FULL: Effort = Effort;
    /// For a first look.
    pub const QUICK: Effort = Effort;

    /// What the program takes for a packet.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn costs(self, _progress: &mut dyn FnMut(&str)) -> Result<Vec<Cost>, Error> {
        Err(Error::LeftOut(Program::Edge))
    }
}
