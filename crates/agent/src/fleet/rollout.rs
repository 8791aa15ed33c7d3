//! Which machines take a new version first, and what has to be found of it before the others do.

use std::time::Duration;

use super::file::{FleetFile, MachineFile, RolloutFile};
use super::remarks::Remarks;
use super::select::fits;

/// The longest that machines may wait: whoever wants more is better served by two repositories.
const MAX_DAYS: u64 = 7;
/// The shortest and longest that machines may measure: a second is the least part of a window, of which there are 24.
const MIN_WATCH: Duration = Duration::from_secs(24);
const MAX_WATCH: Duration = Duration::from_secs(3600);

impl RolloutFile {
    /// Whether a machine is one of those that are first.
    pub(super) fn is_first(&self, machine: &MachineFile) -> bool {
        let is_first = |pattern: &String| machine.tags.iter().any(|tag| fits(pattern, tag));
        self.first.iter().any(is_first)
    }

    /// How long a machine waits before it takes a new version.
    pub(super) fn wait(&self, machine: &MachineFile) -> Duration {
        match self.is_first(machine) {
            true => Duration::ZERO,
            false => Duration::from_nanos(self.after.nanos()),
        }
    }

    /// How long machines measure before and after; zero where they do not.
    pub(super) fn window(&self) -> Duration {
        self.watch.map(|watch| Duration::from_nanos(watch.nanos())).unwrap_or_default()
    }
}

/// Refuses a roll-out with which nobody is first, that lasts too long, or that needs what nobody finds.
pub(super) fn check(file: &FleetFile, remarks: &mut Remarks<'_>) {
    let Some(rollout) = &file.rollout else { return };
    if Duration::from_nanos(rollout.after.nanos()) > Duration::from_secs(MAX_DAYS * 24 * 3600) {
        let message = format!("machines may wait {MAX_DAYS} days at most");
        remarks.mistake("rollout.after", message, "write a time such as \"30 min\"");
    }
    if !file.machines.iter().any(|(_, machine)| rollout.is_first(machine)) {
        let help = "nobody would be first: name a tag that a machine has";
        remarks.mistake("rollout.first", "no machine has one of these tags", help);
    }
    if rollout.watch.is_some() && !(MIN_WATCH..=MAX_WATCH).contains(&rollout.window()) {
        let message = "machines may measure from 24 s to 1 h before and after";
        remarks.mistake("rollout.watch", message, "write a time such as \"5 min\"");
    }
    if rollout.verdicts && rollout.watch.is_none() {
        let message = "nobody would find anything: there is no `watch`";
        remarks.mistake("rollout.verdicts", message, "say how long is measured: watch = \"5 min\"");
    }
}
