//! Start-time fair queueing over any number of queues.

use shortflow_packet::{Packet, SenderUpdate};
use shortflow_units::{Bytes, Instant, Rate};

use super::classes::{Classes, forward_to_classes};
use crate::classifier::Classifier;
use crate::params::above_zero;
use crate::queue::{Ranking, Shaper, ShaperParams};
use crate::{Drops, ParamsError, QueueDiscipline, Queued};

/// What a child of [`FairShares`] gets of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRange {
    at_least: Rate,
    at_most: Option<Rate>,
}

impl RateRange {
    /// `at_least` when it has packets, and never more than `at_most`, by default the whole line.
    pub fn new(at_least: Rate, at_most: Option<Rate>) -> Result<Self, ParamsError> {
        let at_least = above_zero("at_least", at_least)?;
        match at_most {
            Some(most) if most < at_least => Err(ParamsError::new(
                "at_most",
                format!("at_most must not be below at_least, which is {at_least}; found {most}"),
            )),
            _ => Ok(RateRange { at_least, at_most }),
        }
    }

    /// What it gets when it has packets, if all children together have at most the rate of the line.
    pub fn at_least(&self) -> Rate {
        self.at_least
    }

    /// What it never exceeds.
    pub fn at_most(&self) -> Option<Rate> {
        self.at_most
    }
}

/// Shares the line among its children in proportion to their rates (Goyal, Vin & Cheng 1996, start-time fair queueing).
/// A child gets at least its rate of a line whose rate is at least the sum of all rates. What some children leave, the
/// others share in the same proportion, each up to its own limit.
///
/// Each packet has a start tag: the finish tag of the packet before it in its child, or the virtual time if that is
/// later. Its finish tag is its start tag and its bytes divided by the child's rate. The packet with the smallest start
/// tag leaves next, and the virtual time is its start tag. So no packet's size must be known in advance, and children can
/// be queues of any kind. A child that is empty, or held back by a shaper, earns nothing for later.
///
/// O(log n) for n children, plus the classifier.
pub struct FairShares {
    classes: Classes,
    /// The rate and the last finish tag of each child.
    shares: Vec<(u64, u128)>,
    /// Children with a packet that may leave now, by its start tag and their number.
    ready: Ranking<(u128, u32)>,
    /// Children with packets that wait, by when the next may leave and their number.
    waiting: Ranking<(Instant, u32)>,
    virtual_time: u128,
    /// The largest finish tag so far. The virtual time jumps to it when all children are empty.
    greatest: u128,
}

/// What a child with a limit can save at least while it waits for its turn, so that waiting costs it nothing: a frame with
/// room for tags, as HTB's classes do on a device. More is what it earns in a millisecond.
const FRAME: Bytes = Bytes(1600);

/// What a byte costs at one bit per second, in units of tags.
const BYTE: u128 = 8 << 40;

impl FairShares {
    /// A scheduler over `children`, each with its rates. `classifier` returns the child of a packet. Packets that it does
    /// not match go to the child `otherwise`.
    pub fn new(
        classifier: Classifier,
        children: Vec<(RateRange, Box<dyn QueueDiscipline>)>,
        otherwise: usize,
    ) -> Result<Self, ParamsError> {
        let shares = children.iter().map(|(rates, _)| (rates.at_least.bits_per_sec(), 0));
        let shares: Vec<(u64, u128)> = shares.collect();
        let limited = |(rates, queue): (RateRange, Box<dyn QueueDiscipline>)| {
            let Some(most) = rates.at_most else { return Ok(queue) };
            let saved = Bytes(most.bits_per_sec() / 8 / 1000).max(FRAME);
            let shaper = Shaper::new(ShaperParams::new(most, saved)?, queue);
            Ok(Box::new(shaper) as Box<dyn QueueDiscipline>)
        };
        let children: Vec<_> = children.into_iter().map(limited).collect::<Result<_, _>>()?;
        let classes = Classes::new(classifier, children, otherwise)?;
        let (mut ready, mut waiting) = (Ranking::new(), Ranking::new());
        ready.reserve(shares.len());
        waiting.reserve(shares.len());
        Ok(FairShares { classes, shares, ready, waiting, virtual_time: 0, greatest: 0 })
    }

    /// Puts `child` where it belongs after its queue has changed.
    fn place(&mut self, now: Instant, child: usize) {
        let ready_at = self.classes.queues()[child].ready_at();
        let number = child as u32;
        let is_ready = ready_at.is_some_and(|at| at <= now);
        if self.ready.contains(number) {
            if is_ready {
                return;
            }
            self.ready.remove(number);
        }
        match ready_at {
            Some(at) if !is_ready => return self.waiting.set(number, (at, number)),
            Some(_) => {
                let start = self.virtual_time.max(self.shares[child].1);
                self.ready.set(number, (start, number));
            }
            None => {}
        }
        if self.waiting.contains(number) {
            self.waiting.remove(number);
        }
    }

    fn place_all(&mut self, now: Instant) {
        (0..self.shares.len()).for_each(|child| self.place(now, child));
    }

    /// Makes those ready whose time has come.
    fn wake(&mut self, now: Instant) {
        while let Some(((at, child), _)) = self.waiting.first()
            && at <= now
        {
            self.place(now, child as usize);
        }
    }
}

impl QueueDiscipline for FairShares {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        if self.ready.first().is_none() && self.waiting.first().is_none() {
            self.virtual_time = self.greatest;
        }
        let child = self.classes.enqueue(now, packet, drops);
        self.place(now, child);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        self.wake(now);
        while let Some(((start, number), _)) = self.ready.first() {
            let child = number as usize;
            let queued = self.classes.queues()[child].dequeue(now, drops);
            let Some(queued) = queued else {
                self.place(now, child);
                if self.ready.first() == Some(((start, number), number)) {
                    return None;
                }
                continue;
            };
            self.virtual_time = start;
            let (rate, finish) = &mut self.shares[child];
            *finish = start + u128::from(queued.packet.size) * BYTE / u128::from(*rate);
            self.greatest = self.greatest.max(*finish);
            self.ready.remove(number);
            self.place(now, child);
            return Some(queued);
        }
        None
    }

    fn ready_at(&self) -> Option<Instant> {
        match self.ready.first() {
            Some((_, child)) => self.classes.ready_at_of(child as usize),
            None => self.waiting.first().map(|((at, _), _)| at),
        }
    }

    fn on_sender_event(&mut self, now: Instant, news: &SenderUpdate) {
        self.classes.on_sender_event(now, news);
        self.place_all(now);
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.classes.set_rate(now, rate);
        self.place_all(now);
    }

    forward_to_classes!(what order does not change);
}
