//! A port: the sending end of a link, with its queue, its line and the packets on the wire.
//!
//! A plain port is a drop-tail FIFO, and many policy queues are a FIFO behind a gate. Their departures follow
//! from arrivals: the arrival time of a packet at the far end is known when it joins the queue. The port
//! therefore needs one event per packet, or none (see [`crate::network::through`]). A port with another queue
//! asks the queue at each departure, and needs an event at the end of a transmission only while a packet
//! waits. The packet that is being sent is not in the queue.

mod output;
mod rebind;

use std::collections::VecDeque;

use shortflow_elements::queue::AnyGate;
use shortflow_elements::{
    Arrival, Backlog, DropReason, Drops, Gate, OutputGate, QueueDiscipline, Queued, Verdict,
};
use shortflow_packet::{Ecn, Packet, SenderUpdate};
use shortflow_units::{Duration, Instant, Length};

use crate::network::line::Line;
use crate::network::pool::{Parcel, Pool};
use crate::network::prefetch::{prefetch_after, prefetch_start};
use crate::network::waiting::Waiting;
use crate::record::counters::{Count, Counters};

/// The consequences of a change at a port whose queue is asked.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// The packet that is being sent now, to be put on the wire.
    pub(crate) sent: Option<Passage>,
    /// The next departure has changed.
    pub(crate) departure: bool,
}

/// A wire's ring of at most this size never shrinks.
const SMALL_WIRE: usize = 32;

/// Entries of a wire's ring that are prefetched: more than one cache line.
const AHEAD: usize = 4;

/// A packet with a fixed departure.
#[derive(Debug)]
pub(crate) struct Passage {
    /// When it arrives at the far end.
    pub(crate) arrives: Instant,
    pub(crate) parcel: Parcel,
}

/// The sending end of a link.
pub(crate) struct Port {
    /// Packets with fixed departures, in order: waiting (if departures follow from arrivals), being sent, on
    /// the wire.
    wire: VecDeque<Passage>,
    /// The wire's ring never shrinks below this.
    small_wire: usize,
    /// The waiting part of the wire's packets: empty if the queue is asked.
    waiting: Waiting,
    buffer: Buffer,
    line: Line,
    /// When the last packet was booked. The next one must not be earlier.
    booked_at: Instant,
    /// ECN marks of earlier queues.
    replaced_marks: u64,
    pub(crate) counters: Counters,
}

/// The queue of a port: which packets wait, and in which order they are sent.
enum Buffer {
    /// Drop-tail FIFO with a limit.
    Plain(Length),
    /// A policy's queue that is a FIFO behind a gate.
    Gated(AnyGate),
    /// Another queue of a policy, which is asked at each departure.
    Policy(Served),
}

/// A policy's queue that is asked at each departure.
struct Served {
    queue: Box<dyn QueueDiscipline>,
    /// When it is asked next.
    departs_at: Instant,
    /// It is not yet notified that its last packet has left.
    is_sending: bool,
    /// The TCPs of its host ask it before they send.
    is_asked: bool,
}

impl Served {
    fn new(mut queue: Box<dyn QueueDiscipline>) -> Self {
        let is_asked = queue.output_gate().is_some();
        Served { queue, departs_at: Instant::NEVER, is_sending: false, is_asked }
    }

    /// When it is asked next, if its line is free from `free_at` on.
    #[inline]
    fn next_at(&mut self, free_at: Instant) -> Instant {
        let ready = self.queue.ready_at().map_or(Instant::NEVER, |ready| ready.max(free_at));
        match self.gate() {
            Some(gate) => ready.min(gate.wakes_at()),
            None => ready,
        }
    }

    /// What the TCPs of its host ask.
    #[inline]
    fn gate(&mut self) -> Option<&mut dyn OutputGate> {
        if self.is_asked { self.queue.output_gate() } else { None }
    }

    /// Notifies the queue, before any other call at `now`, that its last packet left when the line became
    /// idle.
    #[inline]
    fn tell(&mut self, now: Instant, free_at: Instant) {
        if self.is_sending && free_at <= now {
            self.queue.departed(free_at);
            self.is_sending = false;
        }
    }
}

impl Port {
    /// A port with a drop-tail FIFO of `limit`.
    pub(crate) fn plain(line: Line, limit: Length, counters: Counters) -> Self {
        Port::new(Buffer::Plain(limit), line, counters)
    }

    /// A port with a FIFO behind `gate`.
    pub(crate) fn gated(gate: AnyGate, line: Line, counters: Counters) -> Self {
        Port::new(Buffer::Gated(gate), line, counters)
    }

    /// A port with a policy's queue.
    pub(crate) fn with_queue(
        queue: Box<dyn QueueDiscipline>,
        line: Line,
        counters: Counters,
    ) -> Self {
        Port::new(Buffer::Policy(Served::new(queue)), line, counters)
    }

    fn new(buffer: Buffer, line: Line, counters: Counters) -> Self {
        let (wire, waiting) = (VecDeque::new(), Waiting::nothing());
        let (booked_at, small_wire) = (Instant::START, SMALL_WIRE);
        Port { wire, small_wire, waiting, buffer, line, booked_at, replaced_marks: 0, counters }
    }

    /// Whether departures follow from arrivals, so that packets join by [`book`](Self::book), not by
    /// [`enqueue`](Self::enqueue).
    #[inline]
    pub(crate) fn is_booked(&self) -> bool {
        !matches!(self.buffer, Buffer::Policy(_))
    }

    /// A port whose departures follow from arrivals accepts a packet, which is then put on the
    /// [wire](Self::carry). Returns its arrival time at the far end, or the reason for refusing it.
    #[inline(always)]
    pub(crate) fn book(
        &mut self,
        now: Instant,
        parcel: &mut Parcel,
        pool: &mut Pool,
    ) -> Result<Instant, DropReason> {
        let Buffer::Plain(limit) = &self.buffer else {
            let (verdict, arrives) = self.book_gated(now, parcel);
            return match verdict {
                Verdict::Pass => Ok(arrives),
                Verdict::Mark => {
                    pool.mark(parcel);
                    Ok(arrives)
                }
                Verdict::Drop(reason) => Err(reason),
            };
        };
        assert!(now >= self.booked_at, "packets join a port in the order of time");
        self.booked_at = now;
        self.waiting.begin(now, &self.wire, self.line.delay, |_, _, _| {});
        let starts = self.line.free_at.max(now);
        if starts > now {
            if !self.waiting.has_room(*limit, parcel.size()) {
                return Err(DropReason::Overlimit);
            }
            self.waiting.push(parcel.size(), starts);
        }
        self.counters.arrived(parcel.arrival());
        self.counters.waits(parcel.size(), now, starts);
        Ok(self.line.send(starts, parcel.size()))
    }

    /// The gate's decision on a packet, and its arrival time at the far end if it joins.
    #[inline(never)]
    fn book_gated(&mut self, now: Instant, parcel: &Parcel) -> (Verdict, Instant) {
        let Port { buffer: Buffer::Gated(gate), waiting, line, wire, counters, booked_at, .. } =
            self
        else {
            unreachable!("a queue that is asked takes packets by `enqueue`")
        };
        assert!(now >= *booked_at, "packets join a port in the order of time");
        waiting.begin(now, wire, line.delay, |begins, ends, parcel| {
            gate.begin(begins, ends, parcel.arrival());
        });
        let starts = line.free_at.max(now);
        let planned = line.plan(starts, parcel.size());
        let verdict = if starts > now {
            gate.admit(now, parcel.arrival())
        } else {
            gate.pass(now, planned.ends, parcel.arrival())
        };
        if matches!(verdict, Verdict::Drop(_)) {
            return (verdict, Instant::NEVER);
        }
        if starts > now {
            waiting.push(parcel.size(), starts);
        }
        *booked_at = now;
        counters.arrived(parcel.arrival());
        counters.waits(parcel.size(), now, starts);
        (verdict, line.take_up(planned))
    }

    /// A queue that is asked accepts a packet, which is lent to it. This packet, or others in the queue, may
    /// be dropped into `drops`.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: Packet,
        pool: &mut Pool,
        drops: &mut Drops,
    ) -> Changed {
        self.counters.arrived(Arrival::from(&packet));
        let Buffer::Policy(served) = &mut self.buffer else {
            unreachable!("where departures follow from arrivals, packets join by `book`")
        };
        self.counters.stood(now, || served.queue.backlog());
        served.tell(now, self.line.free_at);
        if self.line.free_at <= now {
            if let Some(verdict) = served.queue.pass(now, &packet) {
                return self.passed(now, packet, verdict, pool, drops);
            }
            served.queue.enqueue(now, packet, drops);
            let next = served.queue.dequeue(now, drops);
            return self.send(now, next, pool);
        }
        served.queue.enqueue(now, packet, drops);
        // If a departure is due after the line is free, a shaper delays it, and this packet may pass the
        // others.
        if served.departs_at <= self.line.free_at {
            return Changed::default();
        }
        let Some(ready) = served.queue.ready_at() else { return Changed::default() };
        let before = std::mem::replace(&mut served.departs_at, ready.max(self.line.free_at));
        Changed { sent: None, departure: served.departs_at != before }
    }

    /// Whether the policy's queue needs reports about the senders of its packets.
    pub(crate) fn listens(&self) -> bool {
        matches!(&self.buffer, Buffer::Policy(served) if served.queue.listens())
    }

    /// Reports an event at a sender to the policy's queue, which may release waiting packets.
    #[cold]
    pub(crate) fn tell(
        &mut self,
        now: Instant,
        news: &SenderUpdate,
        pool: &mut Pool,
        drops: &mut Drops,
    ) -> Changed {
        let Buffer::Policy(served) = &mut self.buffer else { return Changed::default() };
        if !served.queue.listens() {
            return Changed::default();
        }
        served.tell(now, self.line.free_at);
        served.queue.on_sender_event(now, news);
        if self.line.free_at <= now {
            return self.serve(now, pool, drops);
        }
        let departs_at = served.next_at(self.line.free_at);
        let before = std::mem::replace(&mut served.departs_at, departs_at);
        Changed { sent: None, departure: departs_at != before }
    }

    /// Visits the counters of the policy's queue since the start.
    pub(crate) fn queue_counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        if let Buffer::Policy(served) = &self.buffer {
            served.queue.counters(visit);
        }
    }

    /// The policy's queue, if it is asked at each departure.
    pub(crate) fn policy_queue(&self) -> Option<&dyn QueueDiscipline> {
        match &self.buffer {
            Buffer::Policy(served) => Some(&*served.queue),
            _ => None,
        }
    }

    /// Asks the queue for its next packet. The line is idle, unless the queue only wakes connections.
    pub(crate) fn serve(&mut self, now: Instant, pool: &mut Pool, drops: &mut Drops) -> Changed {
        let Port { buffer: Buffer::Policy(served), line, counters, .. } = self else {
            unreachable!("where departures follow from arrivals, there are no events for them")
        };
        counters.stood(now, || served.queue.backlog());
        served.tell(now, line.free_at);
        if let Some(gate) = served.gate() {
            gate.wake(now);
            if line.free_at > now {
                return self.change_departure(now);
            }
        }
        let next = served.queue.dequeue(now, drops);
        self.send(now, next, pool)
    }

    /// Sends a packet that the queue, which is empty, has let pass. The line is idle.
    #[inline]
    fn passed(
        &mut self,
        now: Instant,
        mut packet: Packet,
        verdict: Verdict,
        pool: &mut Pool,
        drops: &mut Drops,
    ) -> Changed {
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark => packet.ecn = Ecn::Ce,
            Verdict::Drop(reason) => {
                drops.push(packet, reason);
                return Changed::default();
            }
        }
        let Port { buffer: Buffer::Policy(served), line, counters, .. } = self else {
            unreachable!("the queue has let the packet pass")
        };
        served.is_sending = true;
        counters.wait_ended(now, now);
        let parcel = pool.take_back(packet);
        let sent = Some(Passage { arrives: line.send(now, parcel.size()), parcel });
        let before = std::mem::replace(&mut served.departs_at, Instant::NEVER);
        Changed { sent, departure: before != Instant::NEVER }
    }

    /// Sends the packet that the queue has returned. The line is idle.
    #[inline]
    fn send(&mut self, now: Instant, next: Option<Queued>, pool: &mut Pool) -> Changed {
        let Port { buffer: Buffer::Policy(served), line, counters, .. } = self else {
            unreachable!("the queue has given a packet")
        };
        served.is_sending = next.is_some();
        let sent = next.map(|queued| {
            let parcel = pool.take_back(queued.packet);
            counters.wait_ended(queued.since, now);
            Passage { arrives: line.send(now, parcel.size()), parcel }
        });
        let departs_at = served.next_at(line.free_at);
        let before = std::mem::replace(&mut served.departs_at, departs_at);
        Changed { sent, departure: departs_at != before }
    }

    /// Whether it is a FIFO behind a gate.
    #[inline]
    pub(crate) fn has_gate(&self) -> bool {
        matches!(self.buffer, Buffer::Gated(_))
    }

    /// Prefetches the state of a policy's queue for a packet that joins soon.
    #[inline]
    pub(crate) fn prefetch_queue(&self) {
        match &self.buffer {
            Buffer::Plain(_) => {}
            Buffer::Gated(gate) => {
                if let AnyGate::Red(gate) = gate {
                    prefetch_start(&**gate);
                }
                let begins_next = self.waiting.first(&self.wire).or(self.wire.back());
                begins_next.inspect(|passage| prefetch_after(*passage, 0));
            }
            Buffer::Policy(served) => prefetch_start(&*served.queue),
        }
    }

    /// Puts a packet on the wire. Returns true if it is the only one there.
    #[inline(always)]
    pub(crate) fn carry(&mut self, passage: Passage) -> bool {
        let place = self.wire.push_back_mut(passage);
        prefetch_after(place, AHEAD);
        self.wire.len() == 1
    }

    /// Removes the packet that arrives at the far end at `now`.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Instant) -> Parcel {
        self.begin(now);
        let passage = self.wire.pop_front().expect("an arrival was due");
        self.give_back();
        passage.parcel
    }

    /// Removes the stubs of all packets that have arrived by `now`, and counts them. Returns their number.
    pub(crate) fn retire(&mut self, now: Instant) -> u64 {
        self.begin(now);
        let mut retired = 0;
        while let Some(stub) = self.wire.pop_front_if(|first| first.arrives <= now) {
            self.counters.forwarded(&stub.parcel);
            retired += 1;
        }
        self.give_back();
        retired
    }

    /// Begins all transmissions that are due by `now`.
    #[inline(always)]
    fn begin(&mut self, now: Instant) {
        let Port { buffer, waiting, wire, line, .. } = self;
        waiting.begin(now, wire, line.delay, |begins, ends, parcel| {
            if let Buffer::Gated(gate) = buffer {
                gate.begin(begins, ends, parcel.arrival());
            }
        });
    }

    /// Releases memory of the wire's ring after a burst, so that it stays in the cache.
    #[inline(always)]
    fn give_back(&mut self) {
        if self.wire.capacity() > self.small_wire + 8 * self.wire.len() {
            self.wire.shrink_to(self.wire.capacity() / 4);
        }
    }

    /// From now on no memory is released, so that later bursts need no allocation.
    pub(crate) fn keep_room(&mut self) {
        self.small_wire = usize::MAX / 2;
    }

    /// Whether the wire's ring must grow for a further packet.
    #[inline]
    pub(crate) fn wire_is_full(&self) -> bool {
        self.wire.len() == self.wire.capacity()
    }

    /// The number of packets on the wire.
    pub(crate) fn on_wire(&self) -> u64 {
        self.wire.len() as u64
    }

    /// The next arrival at the far end. Prefetches the one after it.
    #[inline]
    pub(crate) fn next(&self) -> Option<&Passage> {
        let next = self.wire.front()?;
        prefetch_after(next, AHEAD);
        Some(next)
    }

    /// When the policy's queue is to be served next.
    #[inline]
    pub(crate) fn departs_at(&self) -> Instant {
        match &self.buffer {
            Buffer::Plain(_) | Buffer::Gated(_) => Instant::NEVER,
            Buffer::Policy(served) => served.departs_at,
        }
    }

    /// The waiting packets at `now`, as an AQM counts them: without the packet that is being sent.
    pub(crate) fn backlog(&mut self, now: Instant) -> Backlog {
        self.begin(now);
        match &self.buffer {
            Buffer::Plain(_) | Buffer::Gated(_) => self.waiting.backlog(),
            Buffer::Policy(served) => {
                let Backlog { packets, bytes } = served.queue.backlog();
                let ahead = self.backlog_ahead(now);
                Backlog { packets: packets + ahead.packets, bytes: bytes + ahead.bytes }
            }
        }
    }

    /// Transmission time until `now`.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.line.busy(now)
    }

    /// Restarts counting; queueing times count until `until`.
    pub(crate) fn restart_counters(&mut self, now: Instant, until: Instant) {
        self.begin(now);
        self.line.restart(now);
        self.counters.restart(self.held(), self.all_ecn_marks(), now, until);
        let ahead: Vec<(u32, Instant)> = match &self.buffer {
            Buffer::Policy(_) => self.ahead(now).collect(),
            Buffer::Plain(_) | Buffer::Gated(_) => Vec::new(),
        };
        let Port { buffer, waiting, wire, line, counters, booked_at, .. } = self;
        match buffer {
            Buffer::Plain(_) => {
                for (size, begins) in waiting.beginnings(wire, line.delay) {
                    counters.waits(size, now, begins);
                }
            }
            Buffer::Gated(_) => {
                // Of packets that arrived at `now`, the last one waits longest.
                let newest = waiting.backlog().packets as usize;
                for (number, (size, begins)) in (1..).zip(waiting.beginnings(wire, line.delay)) {
                    let came = if number == newest { *booked_at } else { Instant::START };
                    counters.waits(size, came, begins);
                }
            }
            Buffer::Policy(_) => {
                for (size, begins) in ahead {
                    counters.waits(size, now, begins);
                }
            }
        }
    }

    /// Counts the queueing times of waiting packets up to `now`.
    pub(crate) fn settle_waits(&mut self, now: Instant) {
        if let Buffer::Policy(served) = &mut self.buffer {
            self.counters.stood(now, || served.queue.backlog());
        }
    }

    /// The average queue that the policy's AQM keeps.
    pub(crate) fn average(&self) -> Option<f64> {
        match &self.buffer {
            Buffer::Plain(_) => None,
            Buffer::Gated(gate) => gate.average(),
            Buffer::Policy(served) => served.queue.average(),
        }
    }

    /// Packets that the policy's AQM marked since counting began; 0 at a port that is not reported.
    pub(crate) fn ecn_marks(&self) -> u64 {
        self.counters.ecn_marks_of(self.all_ecn_marks())
    }

    fn all_ecn_marks(&self) -> u64 {
        let own = match &self.buffer {
            Buffer::Plain(_) => 0,
            Buffer::Gated(gate) => gate.ecn_marks(),
            Buffer::Policy(served) => served.queue.ecn_marks(),
        };
        self.replaced_marks + own
    }

    /// All packets in the port: waiting, being sent, on the wire.
    pub(crate) fn held(&self) -> Count {
        let mut held = Count { packets: self.wire.len() as u64, bytes: 0 };
        held.bytes = self.wire.iter().map(|passage| u64::from(passage.parcel.size())).sum();
        if let Buffer::Policy(served) = &self.buffer {
            held.packets += served.queue.backlog().packets;
            held.bytes += served.queue.backlog().bytes.0;
        }
        held
    }
}
