//! Classes that take turns, each with a share and its own queue.

use shortflow_elements::classifier::Classifier;
use shortflow_elements::{ParamsError, QueueDiscipline};

use super::MatchKeys;
use crate::check::Checker;
use crate::scheme::Port;
use crate::schemes::queues::{QueueKeys, QueuePlan};
use crate::shadows;

/// A class in the text: its conditions, its share, its queue.
type WrittenClass<'k, T> = (&'k MatchKeys, Result<T, ParamsError>, &'k QueueKeys);

/// The parameters of a scheduler over classes, each with its share of type `T`.
#[derive(Debug, Clone)]
pub struct Turns<T> {
    classifier: Classifier,
    classes: Vec<(T, QueuePlan)>,
}

impl<T: Copy> Turns<T> {
    /// Assigns packets to classes. Packets that match no class belong to the last.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// Each class's share and queue, in the order of their turns.
    pub fn classes(&self) -> &[(T, QueuePlan)] {
        &self.classes
    }

    /// The classes of the list `key` below `path`, or `None` after a mistake.
    pub(crate) fn check<'k>(
        checker: &mut Checker<'_>,
        path: &str,
        key: &str,
        each: impl ExactSizeIterator<Item = WrittenClass<'k, T>>,
    ) -> Option<Turns<T>> {
        let count = each.len();
        if count == 0 {
            let help = "list at least one: { match = …, queue.fifo = { limit = \"100 pkt\" } }";
            let message = format!("the list of {key} is empty");
            checker.document.mistake(&format!("{path}.{key}"), message, help);
            return None;
        }
        let each: Vec<WrittenClass<'k, T>> = each.collect();
        let written: Vec<&MatchKeys> = each.iter().map(|(rule, ..)| *rule).collect();
        checker.reachable(&format!("{path}.{key}"), &written);
        let mut rules = Vec::new();
        let mut classes = Vec::new();
        for (index, (rule, share, queue)) in each.into_iter().enumerate() {
            let path = format!("{path}.{key}.{index}");
            rules.push((checker.rule(&format!("{path}.match"), index, rule), index));
            let share = checker.accept(&path, share);
            classes.extend(share.zip(queue.check(checker, &format!("{path}.queue"))));
        }
        shadows::warn_entries(checker.document, &format!("{path}.{key}"), &rules);
        (classes.len() == count).then(|| Turns { classifier: Classifier::new(rules), classes })
    }

    /// The queues of the classes.
    pub(crate) fn inner(&self) -> Vec<&QueuePlan> {
        self.classes.iter().map(|(_, queue)| queue).collect()
    }

    /// A new queue for each class, with its share.
    pub(crate) fn build(&self, port: &Port<'_>) -> Vec<(T, Box<dyn QueueDiscipline>)> {
        let each = self.classes.iter().enumerate();
        each.map(|(index, (share, queue))| (*share, queue.build(&port.inner(index)))).collect()
    }

    /// The class of packets that match no class.
    pub(crate) fn last(&self) -> usize {
        self.classes.len() - 1
    }
}
