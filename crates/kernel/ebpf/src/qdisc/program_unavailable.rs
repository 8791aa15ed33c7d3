//! Builds without eBPF.

use super::{QdiscCounts, QdiscPlan};
use crate::Error;
use crate::error::Program;

/// The discipline in the kernel; not available in this build.
#[derive(Debug)]
pub enum QdiscProgram {}

/// The discipline of a device; not available in this build.
#[derive(Debug)]
pub enum QdiscAtDevice {}

impl QdiscProgram {
    /// How the kinds of all disciplines begin.
    pub const PREFIX: &str = "shortflow";

    /// Whether the kernel has programs as queueing disciplines: this build cannot load one.
    pub fn is_possible() -> Option<bool> {
        Some(false)
    }

    /// Registers the discipline.
    ///
    /// # Errors
    /// Always: it was left out.
    pub fn register(_plan: &QdiscPlan, _texts: [&str; 2]) -> Result<QdiscProgram, Error> {
        Err(Error::LeftOut(Program::Qdisc))
    }

    /// The kind by which tc knows it.
    pub fn kind(&self) -> &str {
        match *self {}
    }
}

impl QdiscAtDevice {
    /// The discipline of this kind: this build cannot look.
    ///
    /// # Errors
    /// Never.
    pub fn find(_kind: &str) -> Result<Option<QdiscAtDevice>, Error> {
        Ok(None)
    }

    /// Whether it can follow this plan.
    pub fn can_follow(&self, _plan: &QdiscPlan) -> bool {
        match *self {}
    }

    /// Lets it follow another plan.
    ///
    /// # Errors
    /// Never: this build has no such program.
    pub fn follow(&self, _plan: &QdiscPlan, _texts: [&str; 2]) -> Result<(), Error> {
        match *self {}
    }

    /// The two texts that stay with it.
    ///
    /// # Errors
    /// Never: this build has no such program.
    pub fn texts(&self) -> Result<[String; 2], Error> {
        match *self {}
    }

    /// The counters of so many queues.
    ///
    /// # Errors
    /// Never: this build has no such program.
    pub fn counts(&self, _queues: usize) -> Result<Option<QdiscCounts>, Error> {
        match *self {}
    }
}
