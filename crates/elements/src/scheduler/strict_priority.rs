//! Strict priority over any number of queues.

use shortflow_units::Instant;

use crate::classifier::Classifier;
use crate::{Backlog, Drops, Packet, ParamsError, QueueDiscipline, Queued};

/// Serves the first child that may give a packet; the packet in transmission is not interrupted.
/// A child that is held back (by a shaper) is skipped. One step per child.
pub struct StrictPriority {
    classifier: Classifier,
    children: Vec<Box<dyn QueueDiscipline>>,
    otherwise: usize,
}

impl StrictPriority {
    /// A scheduler over `children`, the first of which is served first. `classifier` names the
    /// child of a packet; a packet that it does not match goes to the child `otherwise`.
    pub fn new(
        classifier: Classifier,
        children: Vec<Box<dyn QueueDiscipline>>,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        let greatest = classifier.greatest_class().unwrap_or(0).max(otherwise);
        if greatest >= children.len() {
            return Err(ParamsError::new(
                "children",
                format!("class {greatest} has no queue; there are {} queues", children.len()),
            ));
        }
        Ok(StrictPriority { classifier, children, otherwise })
    }
}

impl QueueDiscipline for StrictPriority {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let child = self.classifier.classify(&packet).unwrap_or(self.otherwise);
        self.children[child].enqueue(now, packet, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        self.children
            .iter_mut()
            .filter(|child| child.ready_at().is_some_and(|ready_at| ready_at <= now))
            .find_map(|child| child.dequeue(now, drops))
    }

    fn ready_at(&self) -> Option<Instant> {
        self.children.iter().filter_map(|child| child.ready_at()).min()
    }

    fn backlog(&self) -> Backlog {
        self.children.iter().map(|child| child.backlog()).fold(Backlog::default(), |sum, held| {
            Backlog { packets: sum.packets + held.packets, bytes: sum.bytes + held.bytes }
        })
    }

    fn ecn_marks(&self) -> u64 {
        self.children.iter().map(|child| child.ecn_marks()).sum()
    }
}
