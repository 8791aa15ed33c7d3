//! Deficit round robin over any number of queues.

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Instant};

use super::classes::{Classes, forward_to_classes, is_ready};
use crate::classifier::Classifier;
use crate::params::above_zero;
use crate::{Drops, ParamsError, QueueDiscipline, Queued};

/// Serves its children in turn, each with its quantum in *bytes* (Shreedhar & Varghese 1995, §3). Unused
/// credit and debt carry over to the next turn, so shares of the link follow the quanta, whatever the sizes
/// of packets.
///
/// A queue does not report the size of its next packet. A child therefore sends while its deficit counter is
/// above zero and goes into debt with its last packet. In the paper a child waits until its counter suffices.
/// Over any time the shares differ by less than one packet. A child that is empty, or held back by a shaper,
/// loses the rest of its turn but not its debt. Debts matter only while others wait: a packet that arrives
/// while all children are empty finds no debt.
///
/// One step per child and round. More than one round is needed only if all children are in debt by more than
/// their quanta, which never happens with quanta of at least a largest packet.
pub struct DeficitRoundRobin {
    classes: Classes,
    quanta: Vec<i64>,
    deficits: Vec<i64>,
    /// The child whose turn it is.
    turn: usize,
}

impl DeficitRoundRobin {
    /// A scheduler over `children`, each with its quantum. `classifier` returns the child of a packet.
    /// Packets that it does not match go to the child `otherwise`.
    pub fn new(
        classifier: Classifier,
        children: Vec<(Bytes, Box<dyn QueueDiscipline>)>,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        let (quanta, children): (Vec<Bytes>, _) = children.into_iter().unzip();
        let classes = Classes::new(classifier, children, otherwise)?;
        let quanta = quanta.into_iter().map(checked_quantum).collect::<Result<Vec<_>, _>>()?;
        let mut deficits = vec![0; quanta.len()];
        deficits[0] = quanta[0];
        Ok(DeficitRoundRobin { classes, quanta, deficits, turn: 0 })
    }

    fn next_turn(&mut self) {
        self.turn = self.classes.after(self.turn);
        self.deficits[self.turn] += self.quanta[self.turn];
    }
}

/// Checks `quantum`, and converts it to the step of a deficit counter, in bytes.
pub fn checked_quantum(quantum: Bytes) -> Result<i64, ParamsError> {
    let quantum = above_zero("quantum", quantum)?;
    match i64::try_from(quantum.0) {
        Ok(bytes) if bytes <= MAX_QUANTUM => Ok(bytes),
        _ => Err(ParamsError::new(
            "quantum",
            format!("quantum must be at most {}; found {quantum}", Bytes(MAX_QUANTUM as u64)),
        )),
    }
}

/// Far above any packet, and far below the limit of a deficit counter.
const MAX_QUANTUM: i64 = 1_000_000_000;

impl QueueDiscipline for DeficitRoundRobin {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        if self.classes.ready_at().is_none() {
            self.deficits.iter_mut().for_each(|deficit| *deficit = (*deficit).max(0));
        }
        self.classes.enqueue(now, packet, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        // Ends when each child had its turn and none had a packet.
        let mut silent = 0;
        while silent <= self.classes.len() {
            let turn = self.turn;
            let child = self.classes.queues()[turn].as_mut();
            let is_ready = is_ready(child, now);
            if is_ready && self.deficits[turn] > 0 {
                if let Some(queued) = child.dequeue(now, drops) {
                    self.deficits[turn] -= i64::from(queued.packet.size);
                    return Some(queued);
                }
            } else if is_ready {
                silent = 0;
                self.next_turn();
                continue;
            }
            silent += 1;
            self.deficits[turn] = self.deficits[turn].min(0);
            self.next_turn();
        }
        None
    }

    fn ready_at(&self) -> Option<Instant> {
        self.classes.ready_at()
    }

    forward_to_classes!();
}
