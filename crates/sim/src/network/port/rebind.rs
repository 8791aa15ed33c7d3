//! A port that is given another queue while packets are in it.
//!
//! What the old queue holds moves into the new one, in the order in which it would have been sent. Where
//! departures were fixed on arrival they stay so: those packets go first, and the new queue begins when the line
//! has sent them.

use shortflow_elements::{Backlog, DropReason, Drops, Packet, QueueDiscipline};
use shortflow_units::{Bytes, Instant, Length};

use super::{Buffer, Passage, Port, Served};
use crate::network::pool::Pool;
use crate::network::waiting::Waiting;

/// A packet that moves, and when it came to the port.
type Moving = (Packet, Instant);

impl Port {
    /// Gives the port the queue of a policy, or where there is none a drop-tail FIFO of `limit`. Then
    /// [`departs_at`](Port::departs_at) may be another; and these packets are to be put on the wire, in this
    /// order. Packets that the new queue does not take end in `drops`.
    pub(crate) fn rebind(
        &mut self,
        now: Instant,
        queue: Option<Box<dyn QueueDiscipline>>,
        limit: Length,
        pool: &mut Pool,
        drops: &mut Drops,
    ) -> Vec<Passage> {
        self.begin(now);
        self.replaced_marks = self.all_ecn_marks();
        let moving = self.empty_queue(now, drops);
        let Some(queue) = queue else {
            self.buffer = Buffer::Plain(limit);
            return moving
                .into_iter()
                .filter_map(|moving| self.book_moved(now, limit, moving, pool, drops))
                .collect();
        };
        self.waiting = Waiting::nothing();
        let served = Served { queue, departs_at: Instant::NEVER, is_sending: false };
        self.buffer = Buffer::Policy(served);
        let Buffer::Policy(served) = &mut self.buffer else { unreachable!("it was just made so") };
        for (packet, _) in moving {
            served.queue.enqueue(now, packet, drops);
        }
        if self.line.free_at <= now {
            return self.serve(now, pool, drops).sent.into_iter().collect();
        }
        let ready = served.queue.ready_at();
        served.departs_at = ready.map_or(Instant::NEVER, |ready| ready.max(self.line.free_at));
        Vec::new()
    }

    /// Takes everything out of a queue that is asked. What it waits for, such as tokens, it is given: it is over.
    /// Of other ports the packets stay where they are.
    fn empty_queue(&mut self, now: Instant, drops: &mut Drops) -> Vec<Moving> {
        let waiting = self.waiting_ahead(now);
        let Port { buffer: Buffer::Policy(served), line, counters, .. } = self else {
            return Vec::new();
        };
        counters.stood(now, || served.queue.backlog());
        served.tell(now, line.free_at);
        let (mut moving, mut at) = (Vec::new(), now);
        while served.queue.backlog().packets > 0 {
            if let Some(queued) = served.queue.dequeue(at, drops) {
                moving.push((queued.packet, queued.since));
            } else if let Some(ready) = served.queue.ready_at() {
                assert!(ready > at && ready < Instant::NEVER, "a queue gives what is ready");
                at = ready;
            }
        }
        self.waiting = waiting;
        moving
    }

    /// A packet that has waited joins a plain FIFO: when it arrives, unless there is no room.
    fn book_moved(
        &mut self,
        now: Instant,
        limit: Length,
        (packet, since): Moving,
        pool: &mut Pool,
        drops: &mut Drops,
    ) -> Option<Passage> {
        let begins = self.line.free_at.max(now);
        if begins > now {
            if !self.waiting.has_room(limit, packet.size) {
                drops.push(packet, DropReason::Overlimit);
                return None;
            }
            self.waiting.push(packet.size, begins);
        }
        self.booked_at = now;
        self.counters.waits_on(packet.size, since, now, begins);
        let parcel = pool.take_back(packet);
        Some(Passage { arrives: self.line.send(begins, parcel.size()), parcel })
    }

    /// What waits on the wire before a queue that is asked, since it was there before that queue.
    pub(super) fn backlog_ahead(&self, now: Instant) -> Backlog {
        let mut ahead = Backlog::default();
        self.ahead(now).for_each(|(size, _)| ahead.add_sized(Bytes(u64::from(size))));
        ahead
    }

    /// The size of each packet that waits on the wire, and when its transmission begins, the last first.
    pub(super) fn ahead(&self, now: Instant) -> impl Iterator<Item = (u32, Instant)> + use<'_> {
        let behind = self.wire.iter().skip(1).zip(&self.wire).rev();
        // The next begins when the one before has left, a propagation delay before that arrives.
        let begins = move |(passage, before): (&Passage, &Passage)| {
            let begins = before.arrives - self.line.delay;
            (begins > now).then(|| (passage.parcel.size(), begins))
        };
        behind.map_while(begins)
    }

    /// The same as what waits in a port whose departures are fixed.
    fn waiting_ahead(&self, now: Instant) -> Waiting {
        let mut waiting = Waiting::nothing();
        self.ahead(now).for_each(|(size, begins)| waiting.push(size, begins));
        waiting
    }
}
