//! Queues of classes, with their totals.

use shortflow_packet::{Packet, SenderUpdate};
use shortflow_units::{Instant, Rate};

use crate::classifier::Classifier;
use crate::{Backlog, Drops, ParamsError, QueueDiscipline, Verdict};

/// Children, each the queue of a class.
pub(super) struct Classes {
    classifier: Classifier,
    children: Vec<Box<dyn QueueDiscipline>>,
    /// Packets given to each child.
    given: Vec<u64>,
    otherwise: usize,
}

impl Classes {
    /// Classes over `children`. Packets that `classifier` does not match belong to `otherwise`.
    pub(super) fn new(
        classifier: Classifier,
        children: Vec<Box<dyn QueueDiscipline>>,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        let greatest = classifier.greatest_class().unwrap_or(0).max(otherwise);
        if greatest >= children.len() {
            return Err(ParamsError::new(
                "classes",
                format!("class {greatest} has no queue; there are {} queues", children.len()),
            ));
        }
        let given = vec![0; children.len()];
        Ok(Classes { classifier, children, given, otherwise })
    }

    /// Gives `packet` to its class, whose number it returns.
    #[inline]
    pub(super) fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) -> usize {
        let child = self.class_of(&packet);
        self.given[child] += 1;
        self.children[child].enqueue(now, packet, drops);
        child
    }

    /// As [`QueueDiscipline::pass`] of the queue of `packet`'s class.
    #[inline]
    pub(super) fn pass(&mut self, now: Instant, packet: &Packet) -> Option<Verdict> {
        let child = self.class_of(packet);
        let verdict = self.children[child].pass(now, packet)?;
        self.given[child] += 1;
        Some(verdict)
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        self.classifier.classify(packet).unwrap_or(self.otherwise)
    }

    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// The queues, in the order of the classes.
    #[inline]
    pub(super) fn queues(&mut self) -> &mut [Box<dyn QueueDiscipline>] {
        &mut self.children
    }

    /// The class whose turn follows that of `class`.
    #[inline]
    pub(super) fn after(&self, class: usize) -> usize {
        if class + 1 == self.children.len() { 0 } else { class + 1 }
    }

    pub(super) fn ready_at(&self) -> Option<Instant> {
        self.children.iter().filter_map(|child| child.ready_at()).min()
    }

    /// As [`QueueDiscipline::ready_at`] of the queue of `class`.
    pub(super) fn ready_at_of(&self, class: usize) -> Option<Instant> {
        self.children[class].ready_at()
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.children.iter().map(|child| child.backlog()).fold(Backlog::default(), |sum, held| {
            Backlog { packets: sum.packets + held.packets, bytes: sum.bytes + held.bytes }
        })
    }

    pub(super) fn ecn_marks(&self) -> u64 {
        self.children.iter().map(|child| child.ecn_marks()).sum()
    }

    pub(super) fn listens(&self) -> bool {
        self.children.iter().any(|child| child.listens())
    }

    /// Each child knows its own connections.
    pub(super) fn on_sender_event(&mut self, now: Instant, news: &SenderUpdate) {
        self.children.iter_mut().for_each(|child| child.on_sender_event(now, news));
    }

    pub(super) fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.children.iter().for_each(|child| child.counters(visit));
    }

    /// As [`QueueDiscipline::class_counts`].
    pub(super) fn class_counts(
        &self,
        around: &mut Vec<usize>,
        visit: &mut dyn FnMut(&[usize], u64),
    ) {
        for (class, (child, given)) in self.children.iter().zip(&self.given).enumerate() {
            around.push(class);
            visit(around, *given);
            child.class_counts(around, visit);
            around.pop();
        }
    }

    /// Any child may hold all of it.
    pub(super) fn reserve(&mut self, packets: usize, flows: usize) {
        self.children.iter_mut().for_each(|child| child.reserve(packets, flows));
    }

    /// The packet of some child has left: each knows whether it was its own.
    #[inline]
    pub(super) fn departed(&mut self, now: Instant) {
        self.children.iter_mut().for_each(|child| child.departed(now));
    }

    /// Each child may get the whole line.
    pub(super) fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.children.iter_mut().for_each(|child| child.set_rate(now, rate));
    }
}

/// In the queue discipline of a scheduler over `self.classes`: what does not depend on the order of service, and goes to
/// all classes, or is their sum. A scheduler that keeps an order of its children defines itself what can change it.
macro_rules! forward_to_classes {
    () => {
        fn on_sender_event(
            &mut self,
            now: shortflow_units::Instant,
            news: &shortflow_packet::SenderUpdate,
        ) {
            self.classes.on_sender_event(now, news);
        }

        fn set_rate(&mut self, now: shortflow_units::Instant, rate: shortflow_units::Rate) {
            self.classes.set_rate(now, rate);
        }

        $crate::scheduler::classes::forward_to_classes!(what order does not change);
    };
    (what order does not change) => {
        fn backlog(&self) -> $crate::Backlog {
            self.classes.backlog()
        }

        fn ecn_marks(&self) -> u64 {
            self.classes.ecn_marks()
        }

        fn listens(&self) -> bool {
            self.classes.listens()
        }

        fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
            self.classes.counters(visit);
        }

        fn class_counts(&self, around: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize], u64)) {
            self.classes.class_counts(around, visit);
        }

        fn reserve(&mut self, packets: usize, flows: usize) {
            self.classes.reserve(packets, flows);
        }

        #[inline]
        fn departed(&mut self, now: shortflow_units::Instant) {
            self.classes.departed(now);
        }
    };
}

pub(super) use forward_to_classes;

/// Whether `queue` may return a packet at `now`.
#[inline]
pub(super) fn is_ready(queue: &dyn QueueDiscipline, now: Instant) -> bool {
    queue.ready_at().is_some_and(|ready_at| ready_at <= now)
}
