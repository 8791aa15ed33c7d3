//! A port: the sending end of a link, with its queue, its line and the packets on the wire.
//!
//! A plain port is a drop-tail FIFO, whose departures follow from the arrivals: a packet's arrival
//! at the far end is known when it joins the queue, so the port needs one event per packet. A port
//! with a policy's queue asks its queue at each departure, and needs an event at the end of a
//! transmission only while a packet waits. The packet that is being sent is not in the queue.

use shortflow_elements::{Backlog, DropReason, Drops, Packet, QueueDiscipline};
use shortflow_units::{Duration, Instant, Length, Rate, Transmission};

use crate::counters::{Count, Counters};
use crate::pool::{Cursor, List, Pool, Slot};

/// What a port needs from the calendar after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Changed {
    /// The next arrival at the far end is another than before.
    pub(crate) arrival: bool,
    /// The next departure is another than before.
    pub(crate) departure: bool,
}

/// The sending end of a link.
pub(crate) struct Port {
    buffer: Buffer,
    line: Transmission,
    delay: Duration,
    /// Bytes that the link adds to each packet.
    overhead: u32,
    /// When the line falls idle.
    free_at: Instant,
    /// When a policy's queue is asked next.
    departs_at: Instant,
    /// Packets whose departure is fixed, in order: waiting (plain ports only), being sent, on the
    /// wire.
    wire: List,
    /// Marks that the policy's AQM had given when counting began.
    ecn_marks_before: u64,
    pub(crate) counters: Counters,
}

/// The part of a port that holds packets before they are sent.
enum Buffer {
    /// Drop-tail FIFO. The packets are in `Port::wire`; those from `first_waiting` on wait. When
    /// the transmission of each begins stands in its `enqueued_at`.
    Plain { limit: Length, waiting: Backlog, first_waiting: Cursor },
    /// A policy's queue.
    Policy(Box<dyn QueueDiscipline>),
}

impl Port {
    /// A port with a drop-tail FIFO of `limit`.
    pub(crate) fn plain(
        rate: Rate,
        delay: Duration,
        overhead: u32,
        limit: Length,
        counters: Counters,
    ) -> Self {
        let buffer =
            Buffer::Plain { limit, waiting: Backlog::default(), first_waiting: Cursor::NOWHERE };
        Port::new(buffer, rate, delay, overhead, counters)
    }

    /// A port with a policy's queue.
    pub(crate) fn with_queue(
        queue: Box<dyn QueueDiscipline>,
        rate: Rate,
        delay: Duration,
        overhead: u32,
        counters: Counters,
    ) -> Self {
        Port::new(Buffer::Policy(queue), rate, delay, overhead, counters)
    }

    fn new(buffer: Buffer, rate: Rate, delay: Duration, overhead: u32, counters: Counters) -> Self {
        Port {
            buffer,
            line: Transmission::at(rate),
            delay,
            overhead,
            free_at: Instant::START,
            departs_at: Instant::NEVER,
            wire: List::default(),
            ecn_marks_before: 0,
            counters,
        }
    }

    /// Takes a packet. It, or others held, may end in `drops`.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        slot: Slot,
        pool: &mut Pool,
        drops: &mut Drops,
    ) -> Changed {
        self.counters.arrived(pool.packet(&slot));
        match &mut self.buffer {
            Buffer::Plain { limit, waiting, first_waiting } => {
                begin_waiting(pool, waiting, first_waiting, now);
                if self.free_at > now {
                    let packet = pool.packet(&slot);
                    if is_full(*limit, waiting, packet) {
                        drops.push(pool.remove(slot), DropReason::Overlimit);
                        return Changed::default();
                    }
                    if waiting.packets == 0 {
                        *first_waiting = slot.cursor();
                    }
                    waiting.add(packet);
                }
                let starts = self.free_at.max(now);
                self.counters.waited(pool.packet(&slot), starts.since(now));
                Changed { arrival: self.transmit(starts, slot, pool), departure: false }
            }
            Buffer::Policy(queue) => {
                let mut packet = pool.remove(slot);
                packet.enqueued_at = now;
                queue.enqueue(now, packet, drops);
                if self.free_at <= now {
                    return self.serve(now, pool, drops);
                }
                if self.departs_at != Instant::NEVER {
                    return Changed::default();
                }
                let Some(ready) = queue.ready_at() else { return Changed::default() };
                self.departs_at = ready.max(self.free_at);
                Changed { arrival: false, departure: true }
            }
        }
    }

    /// Sends the policy queue's next packet over the line, which is idle.
    pub(crate) fn serve(&mut self, now: Instant, pool: &mut Pool, drops: &mut Drops) -> Changed {
        let Buffer::Policy(queue) = &mut self.buffer else {
            unreachable!("a plain port has no departures")
        };
        let next = queue.dequeue(now, drops);
        let ready = queue.ready_at();
        let before = self.departs_at;
        let mut arrival = false;
        if let Some(packet) = next {
            self.counters.waited(&packet, now.since(packet.enqueued_at));
            arrival = self.transmit(now, pool.insert(packet), pool);
        }
        self.departs_at = ready.map_or(Instant::NEVER, |ready| ready.max(self.free_at));
        Changed { arrival, departure: self.departs_at != before }
    }

    /// Puts a packet on the line at `starts`, which is not before the line is free. True when it
    /// is the only one there.
    #[inline]
    fn transmit(&mut self, starts: Instant, slot: Slot, pool: &mut Pool) -> bool {
        if starts > self.free_at {
            self.line.idle();
        }
        let packet = pool.packet_mut(&slot);
        packet.enqueued_at = starts;
        let time = self.line.time(packet.size + self.overhead);
        self.counters.busy += time;
        self.free_at = starts + time;
        let is_first = self.wire.is_empty();
        pool.append(&mut self.wire, slot, self.free_at + self.delay);
        is_first
    }

    /// Takes the packet that arrives at the far end.
    #[inline]
    pub(crate) fn arrive(&mut self, pool: &mut Pool) -> Slot {
        let first = pool.first(&self.wire);
        if let Buffer::Plain { waiting, first_waiting, .. } = &mut self.buffer
            && waiting.packets > 0
            && *first_waiting == first
        {
            begin_one(pool, waiting, first_waiting);
        }
        pool.take_first(&mut self.wire).expect("an arrival was due")
    }

    /// When the next packet arrives at the far end.
    #[inline]
    pub(crate) fn arrives_at(&self, pool: &Pool) -> Instant {
        pool.first_arrival(&self.wire)
    }

    /// When the policy's queue is to be served next.
    #[inline]
    pub(crate) fn departs_at(&self) -> Instant {
        self.departs_at
    }

    /// Whether the queue is asked at each departure.
    pub(crate) fn has_departures(&self) -> bool {
        matches!(self.buffer, Buffer::Policy(_))
    }

    /// What waits at `now`, as an AQM would count it: without the packet being sent.
    pub(crate) fn backlog(&mut self, now: Instant, pool: &Pool) -> Backlog {
        match &mut self.buffer {
            Buffer::Plain { waiting, first_waiting, .. } => {
                begin_waiting(pool, waiting, first_waiting, now);
                *waiting
            }
            Buffer::Policy(queue) => queue.backlog(),
        }
    }

    /// Time spent sending until `now`.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        // The plain FIFO's transmissions are booked ahead, without a gap up to `free_at`.
        self.counters.busy.saturating_sub(self.free_at.since(now))
    }

    /// Starts counting anew. The transmissions that are booked already count from here on.
    pub(crate) fn restart_counters(&mut self, now: Instant, pool: &Pool) {
        let held = self.held(pool);
        self.counters.restart(held, self.free_at.since(now));
        self.ecn_marks_before = self.all_ecn_marks();
    }

    /// The average queue that the policy's AQM keeps.
    pub(crate) fn average(&self) -> Option<f64> {
        match &self.buffer {
            Buffer::Plain { .. } => None,
            Buffer::Policy(queue) => queue.average(),
        }
    }

    /// Packets that the policy's AQM gave an ECN mark since counting began.
    pub(crate) fn ecn_marks(&self) -> u64 {
        self.all_ecn_marks() - self.ecn_marks_before
    }

    fn all_ecn_marks(&self) -> u64 {
        match &self.buffer {
            Buffer::Plain { .. } => 0,
            Buffer::Policy(queue) => queue.ecn_marks(),
        }
    }

    /// Everything inside the port: waiting, being sent, on the wire.
    pub(crate) fn held(&self, pool: &Pool) -> Count {
        let mut held = Count::default();
        let mut at = pool.first(&self.wire);
        while let Some(packet) = pool.at(at) {
            held.add(packet);
            at = pool.behind(at);
        }
        if let Buffer::Policy(queue) = &self.buffer {
            held.packets += queue.backlog().packets;
            held.bytes += queue.backlog().bytes.0;
        }
        held
    }
}

/// Takes out of `waiting` those whose transmission has begun by `now`: O(1) for each packet, once.
#[inline]
fn begin_waiting(pool: &Pool, waiting: &mut Backlog, first: &mut Cursor, now: Instant) {
    while waiting.packets > 0 && pool.at(*first).is_some_and(|next| next.enqueued_at <= now) {
        begin_one(pool, waiting, first);
    }
}

/// Takes the first out of `waiting`.
#[inline]
fn begin_one(pool: &Pool, waiting: &mut Backlog, first: &mut Cursor) {
    waiting.remove(pool.at(*first).expect("a packet waits"));
    *first = pool.behind(*first);
}

#[inline]
fn is_full(limit: Length, waiting: &Backlog, packet: &Packet) -> bool {
    match limit {
        Length::Packets(packets) => waiting.packets >= packets,
        Length::Bytes(bytes) => waiting.bytes + packet.bytes() > bytes,
    }
}
