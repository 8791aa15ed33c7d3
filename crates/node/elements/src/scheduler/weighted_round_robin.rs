//! Weighted round robin over any number of queues.

use shortflow_packet::Packet;
use shortflow_units::Instant;

use super::classes::{Classes, forward_to_classes, is_ready};
use crate::classifier::Classifier;
use crate::params::above_zero;
use crate::{Drops, ParamsError, QueueDiscipline, Queued};

/// Serves its children in turn, each with up to its weight in *packets* (Katevenis, Sidiropoulos &
/// Courcoubetis 1991). A child that is empty, or held back by a shaper, loses its turn. Shares of the link
/// follow the weights if packets have the same size. Otherwise use
/// [`DeficitRoundRobin`](super::DeficitRoundRobin), which counts bytes. At most one step per child.
pub struct WeightedRoundRobin {
    classes: Classes,
    weights: Vec<u32>,
    /// The child whose turn it is.
    turn: usize,
    /// Packets that it may still send.
    left: u32,
}

impl WeightedRoundRobin {
    /// A scheduler over `children`, each with its weight. `classifier` returns the child of a packet. Packets
    /// that it does not match go to the child `otherwise`.
    pub fn new(
        classifier: Classifier,
        children: Vec<(u32, Box<dyn QueueDiscipline>)>,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        let (weights, children): (Vec<u32>, _) = children.into_iter().unzip();
        let classes = Classes::new(classifier, children, otherwise)?;
        for &weight in &weights {
            checked_weight(weight)?;
        }
        Ok(WeightedRoundRobin { turn: 0, left: weights[0], classes, weights })
    }

    fn next_turn(&mut self) {
        self.turn = self.classes.after(self.turn);
        self.left = self.weights[self.turn];
    }
}

/// Checks `weight`, which must be above zero.
pub fn checked_weight(weight: u32) -> Result<u32, ParamsError> {
    above_zero("weight", weight)
}

impl QueueDiscipline for WeightedRoundRobin {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        self.classes.enqueue(now, packet, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        // The child is asked once more when its next turn comes.
        for _ in 0..=self.classes.len() {
            let child = self.classes.queues()[self.turn].as_mut();
            if self.left > 0
                && is_ready(child, now)
                && let Some(queued) = child.dequeue(now, drops)
            {
                self.left -= 1;
                return Some(queued);
            }
            self.next_turn();
        }
        None
    }

    fn ready_at(&self) -> Option<Instant> {
        self.classes.ready_at()
    }

    forward_to_classes!();
}
