//! How far a machine has come with the versions of its source: three states that change independently.
//!
//! ```text
//! Candidate   what the source has next           devices             the trial of the active version
//!
//!   None ─▶ Refused                                Due ◀──▶ Done       None ─▶ Installing ◀─▶ Measuring
//!    │ ▲                                            │ ▲                            ▲              │
//!    ▼ │                                            └─┘ failed                     └── new window ┤
//!  Waiting ─▶ NotKept ─▶ the active version                               stays, or goes back ◀───┘
//! ```
//!
//! A version that is good, and for which no other machine is waited, is written to the disk and becomes the active
//! one; its devices are due, and its trial begins. This module has no I/O: [`Agent`](crate::Agent) reads, writes and
//! deploys, and notes here what came of it.

mod candidate;
mod devices;
mod trials;

use std::collections::BTreeMap;

pub(crate) use candidate::{Candidate, NotKept, Release, Waiting};
pub(crate) use devices::Device;
pub(crate) use trials::{Report, Trials};

/// The three states of a machine.
#[derive(Debug, Default)]
pub(crate) struct Rollout {
    /// What the source has next.
    pub(crate) candidate: Candidate,
    /// The version that a user has released, until it is active.
    pub(crate) released: Option<Release>,
    /// What each device holds; one that is missing was not tried yet.
    pub(crate) devices: BTreeMap<String, Device>,
    /// The trial of the active version.
    pub(crate) trials: Trials,
}

impl Rollout {
    /// Whether a user has released the version with this digest.
    pub(crate) fn is_released(&self, digest: &str) -> bool {
        self.released.as_ref().is_some_and(|release| release.digest == digest)
    }
}
