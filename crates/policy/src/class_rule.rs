//! The classes of a policy with their places in its text, so that something can be said of each.

use shortflow_elements::classifier::MultiField;
use shortflow_text::Spot;

/// Which class of a policy: the same for a rule in the text and for what elements count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassId {
    /// The role.
    pub role: String,
    /// Whether it is a class of the role's queue, and not one of those that condition.
    pub is_of_queue: bool,
    /// Its number, after those of the classes around it, outermost first.
    pub numbers: Vec<usize>,
}

/// A class that asks for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRule {
    /// Which class it is.
    pub id: ClassId,
    /// What messages call it: ``the class `voice` ``, or `class 2 of drr`.
    pub name: String,
    /// What it asks for.
    pub rule: MultiField,
    /// Where that is written.
    pub spot: Spot,
}

impl ClassId {
    /// Whether the other is of the same list.
    pub fn is_beside(&self, other: &ClassId) -> bool {
        let around = |id: &ClassId| id.numbers.split_last().map(|(_, around)| around.to_vec());
        (&self.role, self.is_of_queue) == (&other.role, other.is_of_queue)
            && around(self) == around(other)
    }

    /// The class at a path of the text such as `roles.core.queue.shaper.queue.drr.classes.1.match`, whose own number
    /// is `number`. The numbers of the classes around it stand in the path.
    pub(crate) fn from_path(path: &str, number: usize) -> Option<ClassId> {
        let mut parts = path.split('.').skip(1);
        let role = parts.next()?.to_owned();
        let is_of_queue = parts.next()? == "queue";
        let mut numbers: Vec<usize> = parts.filter_map(|part| part.parse().ok()).collect();
        *numbers.last_mut()? = number;
        Some(ClassId { role, is_of_queue, numbers })
    }
}

/// What the list of classes around a path such as `….drr.classes.1.match` belongs to: `drr`.
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
