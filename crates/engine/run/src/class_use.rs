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

/// The limit on named classes per list. Above it only the first is named.
const MAX_NAMED: usize = 3;

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

    /// A warning for each bound class with conditions that matched no packet, or no packet after the warm-up.
    /// The classes in `unreachable` already have a warning. Classes without conditions need none.
    pub fn warnings(&self, scenario: &Scenario, unreachable: &BTreeSet<ClassId>) -> Vec<Warning> {
        let classes = scenario.policy.iter().flat_map(|policy| &policy.classes);
        let idle = classes.filter(|class| !unreachable.contains(&class.id));
        let idle = idle.filter_map(|class| Some((class, self.idle(&class.id)?)));
        let idle: Vec<(&ClassRule, Idle)> = idle.collect();
        let beside = |a: &(&ClassRule, Idle), b: &(&ClassRule, Idle)| {
            a.1 == b.1 && a.0.id.is_beside(&b.0.id)
        };
        let mut warnings = Vec::new();
        for group in idle.chunk_by(beside) {
            let named = if group.len() > MAX_NAMED { &group[..1] } else { group };
            let others = group.len() - named.len();
            warnings.extend(named.iter().map(|(class, idle)| warning(class, *idle, others)));
        }
        warnings
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

fn warning(class: &ClassRule, idle: Idle, others: usize) -> Warning {
    let name = format!("{} in the role `{}`", class.name, class.id.role);
    let others = match others {
        0 => String::new(),
        1 => "; 1 more class in its list did not either".to_owned(),
        _ => format!("; {others} more classes in its list did not either"),
    };
    let (message, help) = match idle {
        Idle::Always => (
            format!("{name} matched no packet{others}"),
            "compare its `match` with the packets of hosts, and with the classes before it",
        ),
        Idle::SinceWarmUp => (
            format!("{name} matched no packet after the warm-up, only before its end{others}"),
            "shorten `warm_up`, or start its traffic later",
        ),
    };
    let found = class.spot.warning(message, help);
    Warning { kind: WarningKind::UnmatchedClass, ..input_warning(&found) }
}
