//! The classes of a policy with their positions in its text, so that messages can point to them.

use serde::{Deserialize, Serialize};
use shortflow_elements::classifier::MultiField;
use shortflow_text::Spot;

/// Identifies a class of a policy, both in its text and in the counters of elements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClassId {
    /// The role.
    pub role: String,
    /// Whether it is a class of the role's queue, not one of the role's own `classes`.
    pub is_of_queue: bool,
    /// Its index, after the indices of the classes that contain it, outermost first.
    pub numbers: Vec<usize>,
}

/// A class with conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRule {
    /// Its identity.
    pub id: ClassId,
    /// Its name in messages: ``the class `voice` ``, or `class 2 of drr`.
    pub name: String,
    /// Its conditions.
    pub rule: MultiField,
    /// Their position in the text.
    pub spot: Spot,
}

/// The limit on named classes per warning.
const MAX_NAMED: usize = 3;

impl ClassRule {
    /// The first of these classes by name and role, and how many more there are, for a warning about all of them.
    pub fn names(classes: &[&ClassRule]) -> String {
        let (named, others) = classes.split_at(classes.len().min(MAX_NAMED));
        let of_role = |some: &[&ClassRule]| {
            let names: Vec<&str> = some.iter().map(|class| class.name.as_str()).collect();
            format!("{} in the role `{}`", names.join(", "), some[0].id.role)
        };
        let by_role = named.chunk_by(|a, b| a.id.role == b.id.role);
        let names = by_role.map(of_role).collect::<Vec<_>>().join("; ");
        match others.len() {
            0 => names,
            1 => format!("{names}; and 1 more class"),
            n => format!("{names}; and {n} more classes"),
        }
    }
}

impl ClassId {
    /// Whether both classes are in the same list.
    pub fn is_beside(&self, other: &ClassId) -> bool {
        let around = |id: &ClassId| id.numbers.split_last().map(|(_, around)| around.to_vec());
        (&self.role, self.is_of_queue) == (&other.role, other.is_of_queue)
            && around(self) == around(other)
    }

    /// The class at a path of the text such as `roles.core.queue.shaper.queue.drr.classes.1.match`. `number`
    /// is its own index; the path gives the indices of the classes that contain it.
    pub(crate) fn from_path(path: &str, number: usize) -> Option<ClassId> {
        let mut parts = path.split('.').skip(1);
        let role = parts.next()?.to_owned();
        let is_of_queue = parts.next()? == "queue";
        let mut numbers: Vec<usize> = parts.filter_map(|part| part.parse().ok()).collect();
        *numbers.last_mut()? = number;
        Some(ClassId { role, is_of_queue, numbers })
    }
}

/// The scheme that owns the list of classes in a path such as `….drr.classes.1.match`: `drr`.
pub(crate) fn scheme(path: &str) -> Option<&str> {
    path.rsplit('.').nth(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_named_by_the_numbers_of_the_classes_around_it() {
        let inner =
            "roles.core.queue.shaper.queue.drr.classes.1.queue.strict-priority.bands.2.match";
        let id = ClassId::from_path(inner, 3).unwrap();
        assert_eq!((id.role.as_str(), id.is_of_queue, id.numbers), ("core", true, vec![1, 3]));
        assert_eq!(scheme(inner), Some("strict-priority"));
        let id = ClassId::from_path("roles.2.classes.0.match", 0).unwrap();
        assert_eq!((id.role.as_str(), id.is_of_queue, id.numbers), ("2", false, vec![0]));
    }
}
