//! Staged roll-outs: which machines apply a new version first, and which verdict the others need.

use std::time::Duration;

use super::file::{FleetFile, MachineFile, RolloutFile};
use super::remarks::Remarks;
use super::select::fits;

/// The longest wait of machines; for longer ones, use two repositories.
const MAX_DAYS: u64 = 7;
/// The range of the measurement: a window has 24 parts, of at least a second each.
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

/// Refuses a roll-out without a first machine, that lasts too long, or that needs verdicts without measurements.
pub(super) fn check(file: &FleetFile, remarks: &mut Remarks<'_>) {
    let Some(rollout) = &file.rollout else { return };
    if Duration::from_nanos(rollout.after.nanos()) > Duration::from_secs(MAX_DAYS * 24 * 3600) {
        let message = format!("`after` can be at most {MAX_DAYS} days");
        remarks.mistake("rollout.after", message, "write a time such as \"30 min\"");
    }
    if !file.machines.iter().any(|(_, machine)| rollout.is_first(machine)) {
        let help = "then no machine would be first: name a tag that a machine has";
        remarks.mistake("rollout.first", "no machine has one of these tags", help);
    }
    if rollout.watch.is_some() && !(MIN_WATCH..=MAX_WATCH).contains(&rollout.window()) {
        let message = "`watch` must be between 24 s and 1 h";
        remarks.mistake("rollout.watch", message, "write a time such as \"5 min\"");
    }
    if rollout.verdicts && rollout.watch.is_none() {
        let message = "`verdicts` requires `watch`";
        remarks.mistake(
            "rollout.verdicts",
            message,
            "set how long each machine measures: watch = \
            \"5 min\"",
        );
    }
}
