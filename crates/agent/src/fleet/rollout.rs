//! Which machines take a new version first.

use std::time::Duration;

use shortflow_text::Document;

use super::file::{FleetFile, MachineFile, RolloutFile};
use super::select::fits;

/// The longest that machines may wait: whoever wants more is better served by two repositories.
const MOST_DAYS: u64 = 7;

impl RolloutFile {
    /// How long a machine waits before it takes a new version.
    pub(super) fn wait(&self, machine: &MachineFile) -> Duration {
        let is_first = |pattern: &String| machine.tags.iter().any(|tag| fits(pattern, tag));
        match self.first.iter().any(is_first) {
            true => Duration::ZERO,
            false => Duration::from_nanos(self.after.nanos()),
        }
    }
}

/// Refuses a roll-out with which nobody is first, or that lasts too long.
pub(super) fn check(file: &FleetFile, document: &mut Document) {
    let Some(rollout) = &file.rollout else { return };
    if Duration::from_nanos(rollout.after.nanos()) > Duration::from_secs(MOST_DAYS * 24 * 3600) {
        let message = format!("machines may wait {MOST_DAYS} days at most");
        document.mistake("rollout.after", message, "write a time such as \"30 min\"");
    }
    if !file.machines.iter().any(|(_, machine)| rollout.wait(machine).is_zero()) {
        let help = "nobody would be first: name a tag that a machine has";
        document.mistake("rollout.first", "no machine has one of these tags", help);
    }
}
