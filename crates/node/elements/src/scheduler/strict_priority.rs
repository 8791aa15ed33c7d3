//! Strict priority over any number of queues.

use shortflow_packet::{Packet, SenderUpdate};
use shortflow_units::{Instant, Rate};

use super::classes::{Classes, is_ready};
use crate::classifier::Classifier;
use crate::{Backlog, Drops, ParamsError, QueueDiscipline, Queued, Verdict};

/// Serves the first child that can return a packet. The packet in transmission is not interrupted. A child
/// that is held back by a shaper is skipped. One step per child.
pub struct StrictPriority {
    classes: Classes,
    /// The number of packets in all children: if it is 0, no child is asked.
    held: usize,
}

impl StrictPriority {
    /// A scheduler over `children`; the first is served first. `classifier` returns the child of a packet.
    /// Packets that it does not match go to the child `otherwise`.
    pub fn new(
        classifier: Classifier,
        children: Vec<Box<dyn QueueDiscipline>>,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        Ok(StrictPriority { classes: Classes::new(classifier, children, otherwise)?, held: 0 })
    }

    /// Updates the count after a child has accepted `taken` packets, and returned or dropped others.
    #[inline]
    fn count(&mut self, taken: usize, given: &Option<Queued>, dropped: usize) {
        self.held = self.held + taken - usize::from(given.is_some()) - dropped;
    }
}

impl QueueDiscipline for StrictPriority {
    fn reserve(&mut self, packets: usize, flows: usize) {
        self.classes.reserve(packets, flows);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let before = drops.len();
        self.classes.enqueue(now, packet, drops);
        self.count(1, &None, drops.len() - before);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        let before = drops.len();
        let mut ready =
            self.classes.queues().iter_mut().filter(|child| is_ready(child.as_ref(), now));
        let given = ready.find_map(|child| child.dequeue(now, drops));
        self.count(0, &given, drops.len() - before);
        given
    }

    /// If no packet is held, only the child of the packet can return one.
    #[inline]
    fn pass(&mut self, now: Instant, packet: &Packet) -> Option<Verdict> {
        if self.held > 0 {
            return None;
        }
        self.classes.pass(now, packet)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        if self.held == 0 { None } else { self.classes.ready_at() }
    }

    fn backlog(&self) -> Backlog {
        self.classes.backlog()
    }

    fn ecn_marks(&self) -> u64 {
        self.classes.ecn_marks()
    }

    fn listens(&self) -> bool {
        self.classes.listens()
    }

    fn on_sender_event(&mut self, now: Instant, news: &SenderUpdate) {
        self.classes.on_sender_event(now, news);
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.classes.counters(visit);
    }

    fn class_counts(&self, around: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize], u64)) {
        self.classes.class_counts(around, visit);
    }

    #[inline]
    fn departed(&mut self, now: Instant) {
        self.classes.departed(now);
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.classes.set_rate(now, rate);
    }
}
