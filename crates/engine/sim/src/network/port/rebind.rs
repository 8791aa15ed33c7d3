//! Replaces the queue of a port that contains packets.
//!
//! The packets of the old queue move into the new one, in the order in which they would have been sent.
//! Departures that were fixed on arrival stay fixed: those packets leave first, and the new queue begins
//! after them.

use shortflow_elements::{Backlog, DropReason, Drops, QueueDiscipline};
use shortflow_packet::Packet;
use shortflow_units::{Bytes, Instant, Length};

use super::{Buffer, Passage, Port, Served};
use crate::network::pool::Pool;
use crate::network::waiting::Waiting;

/// A packet that moves, and its arrival time at the port.
type Moving = (Packet, Instant);

impl Port {
    /// Gives the port the queue of a policy, or else a drop-tail FIFO of `limit`.
    /// [`departs_at`](Port::departs_at) may then change. Returns the packets to put on the wire, in this
    /// order. Packets that the new queue refuses are dropped into `drops`.
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
        self.buffer = Buffer::Policy(Served::new(queue));
        let Buffer::Policy(served) = &mut self.buffer else { unreachable!("it was just made so") };
        for (packet, _) in moving {
            served.queue.enqueue(now, packet, drops);
        }
        if self.line.free_at <= now {
            return self.serve(now, pool, drops).sent.into_iter().collect();
        }
        served.departs_at = served.next_at(self.line.free_at);
        Vec::new()
    }

    /// Removes all packets from a queue that is asked. It need not wait, for example for tokens. The packets
    /// of other ports stay.
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

    /// A packet that has waited joins a plain FIFO. Returns its arrival time, or `None` if there is no room.
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

    /// The packets on the wire that wait before a queue that is asked, because they arrived before that
    /// queue.
    pub(super) fn backlog_ahead(&self, now: Instant) -> Backlog {
        let mut ahead = Backlog::default();
        self.ahead(now).for_each(|(size, _)| ahead.add_sized(Bytes(u64::from(size))));
        ahead
    }

    /// The sizes and transmission times of the packets that wait on the wire, the last one first.
    pub(super) fn ahead(&self, now: Instant) -> impl Iterator<Item = (u32, Instant)> + use<'_> {
        let behind = self.wire.iter().skip(1).zip(&self.wire).rev();
        // The next transmission begins when the previous packet has left, one propagation delay before that
        // arrives.
        let begins = move |(passage, before): (&Passage, &Passage)| {
            let begins = before.arrives - self.line.delay;
            (begins > now).then(|| (passage.parcel.size(), begins))
        };
        behind.map_while(begins)
    }

    /// The same as the waiting packets of a port with fixed departures.
    fn waiting_ahead(&self, now: Instant) -> Waiting {
        let mut waiting = Waiting::nothing();
        self.ahead(now).for_each(|(size, begins)| waiting.push(size, begins));
        waiting
    }
}
