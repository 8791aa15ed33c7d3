//! Counts packets per class of a policy, and warns of classes without packets.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shortflow_elements::{Conditioner, QueueDiscipline};
use shortflow_measure::{Warning, WarningKind};
use shortflow_policy::{ClassId, ClassRule};
use shortflow_scenario::Scenario;

use crate::case::input_warning;

/// Packets per class, over all places where its role is bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(ClassId, u64)>", into = "Vec<(ClassId, u64)>")]
pub struct ClassCounts(BTreeMap<ClassId, u64>);

/// Packets per class in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClassUse {
    /// Until the end of the warm-up.
    pub warm_up: ClassCounts,
    /// In the whole run.
    pub whole: ClassCounts,
}

impl ClassCounts {
    /// Adds the counts of a role's classes at one place.
    pub fn add_conditioner(&mut self, role: &str, conditioner: &Conditioner) {
        for (number, class) in conditioner.counters().iter().enumerate() {
            self.add(role, false, &[number], class.packets.iter().sum());
        }
    }

    /// Adds the counts of the classes of a role's queue at one place.
    pub fn add_queue(&mut self, role: &str, queue: &dyn QueueDiscipline) {
        queue.class_counts(&mut Vec::new(), &mut |numbers, count| {
            self.add(role, true, numbers, count);
        });
    }

    fn add(&mut self, role: &str, is_of_queue: bool, numbers: &[usize], count: u64) {
        let id = ClassId { role: role.to_owned(), is_of_queue, numbers: numbers.to_vec() };
        *self.0.entry(id).or_default() += count;
    }

    fn merge(&mut self, other: ClassCounts) {
        other.0.into_iter().for_each(|(id, count)| *self.0.entry(id).or_default() += count);
    }

    fn get(&self, id: &ClassId) -> Option<u64> {
        self.0.get(id).copied()
    }
}

// A map whose keys are no texts is a list in JSON.
impl From<Vec<(ClassId, u64)>> for ClassCounts {
    fn from(counts: Vec<(ClassId, u64)>) -> Self {
        ClassCounts(counts.into_iter().collect())
    }
}

impl From<ClassCounts> for Vec<(ClassId, u64)> {
    fn from(counts: ClassCounts) -> Self {
        counts.0.into_iter().collect()
    }
}

impl ClassUse {
    /// The sum of two replicas.
    #[must_use]
    pub fn and(mut self, other: ClassUse) -> ClassUse {
        self.warm_up.merge(other.warm_up);
        self.whole.merge(other.whole);
        self
    }

    /// A warning for all bound classes with conditions that matched no packet, and one for those that matched none
    /// after the warm-up. The classes in `unreachable` already have a warning. Classes without conditions need none.
    pub fn warnings(&self, scenario: &Scenario, unreachable: &BTreeSet<ClassId>) -> Vec<Warning> {
        let classes = || scenario.policy.iter().flat_map(|policy| &policy.classes);
        let of = |idle: Idle| -> Option<Warning> {
            let is_meant = |class: &&ClassRule| self.idle(&class.id) == Some(idle);
            let found = classes().filter(|class| !unreachable.contains(&class.id));
            warning(&found.filter(is_meant).collect::<Vec<_>>(), idle)
        };
        [Idle::Always, Idle::SinceWarmUp].into_iter().filter_map(of).collect()
    }

    fn idle(&self, id: &ClassId) -> Option<Idle> {
        // The counts are unknown if a role is not bound, or if a queue does not count.
        let whole = self.whole.get(id)?;
        let before = self.warm_up.get(id).unwrap_or(0);
        match whole {
            0 => Some(Idle::Always),
            _ if whole == before => Some(Idle::SinceWarmUp),
            _ => None,
        }
    }
}

/// When a class matched no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idle {
    Always,
    SinceWarmUp,
}

/// The warning for these classes, at the place of the first.
fn warning(classes: &[&ClassRule], idle: Idle) -> Option<Warning> {
    let first = classes.first()?;
    let names = ClassRule::names(classes);
    let (message, help) = match idle {
        Idle::Always => (
            format!("no packet matched {names}"),
            "fine if the scenario has no such traffic; otherwise compare `match` with the packets of hosts, and with the \
             classes before it",
        ),
        Idle::SinceWarmUp => (
            format!("no packet matched {names} after the warm-up, only before its end"),
            "shorten `warm_up`, or start the traffic later",
        ),
    };
    let found = first.spot.warning(message, help);
    Some(Warning { kind: WarningKind::UnmatchedClass, ..input_warning(&found) })
}
