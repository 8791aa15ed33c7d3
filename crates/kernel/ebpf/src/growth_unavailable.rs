//! Builds without eBPF.

use std::sync::Arc;

use crate::Error;
use crate::error::Program;

/// Aggregate-fair growth of the window as a congestion control of this kernel; not available in this build.
#[derive(Debug)]
pub enum AggregateFair {}

impl AggregateFair {
    /// What sockets would choose it by.
    pub fn name() -> &'static str {
        "aggregate_fair"
    }

    /// Lets the kernel have it.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn register() -> Result<Arc<AggregateFair>, Error> {
        Err(Error::LeftOut(Program::Growth))
    }
}
