//! Strict priority over any number of queues.

use shortflow_packet::Packet;
use shortflow_units::Instant;

use super::classes::{Classes, forward_to_classes, is_ready};
use crate::classifier::Classifier;
use crate::{Drops, ParamsError, QueueDiscipline, Queued, Verdict};

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

    forward_to_classes!();
}
