//! A port: the sending end of a link, with its queue, its line and the packets on the wire.
//!
//! A plain port is a drop-tail FIFO, and many a policy's queue is a FIFO behind a gate. Their departures
//! follow from the arrivals: a packet's arrival at the far end is known when it joins the queue, so the
//! port needs one event per packet, or none (see [`crate::network::through`]). A port with another queue
//! asks it at each departure, and needs an event at the end of a transmission only while a packet waits.
//! The packet that is being sent is not in the queue.

mod rebind;

use std::collections::VecDeque;

use shortflow_elements::queue::AnyGate;
use shortflow_elements::{
    Arrival, Backlog, DropReason, Drops, Ecn, Gate, Packet, QueueDiscipline, Queued, SenderUpdate,
    Verdict,
};
use shortflow_units::{Duration, Instant, Length, LinkLayer, Rate};

use crate::network::line::Line;
use crate::network::pool::{Parcel, Pool};
use crate::network::prefetch::{prefetch_after, prefetch_start};
use crate::network::waiting::Waiting;
use crate::record::counters::{Count, Counters};

/// What follows from a change at a port that asks its queue.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// A packet that is being sent now, to be put on the wire.
    pub(crate) sent: Option<Passage>,
    /// The next departure is another than before.
    pub(crate) departure: bool,
}

/// A wire's ring that has room for no more than this never shrinks.
const SMALL_WIRE: usize = 32;

/// Places of a wire's ring that are asked for ahead: more than a cache line of them.
const AHEAD: usize = 4;

/// A packet whose departure is fixed.
#[derive(Debug)]
pub(crate) struct Passage {
    /// When it arrives at the far end.
    pub(crate) arrives: Instant,
    pub(crate) parcel: Parcel,
}

/// The sending end of a link.
pub(crate) struct Port {
    /// Packets whose departure is fixed, in order: waiting (where departures follow from arrivals),
    /// being sent, on their way.
    wire: VecDeque<Passage>,
    /// The wire's ring never shrinks below this.
    small_wire: usize,
    /// What of the wire's packets waits: nothing where the queue is asked.
    waiting: Waiting,
    buffer: Buffer,
    line: Line,
    /// When the last packet was booked: the next must not come before.
    booked_at: Instant,
    /// ECN marks of the queues that it had before.
    replaced_marks: u64,
    pub(crate) counters: Counters,
}

/// Which packets a port lets wait before they are sent, and in which order they go.
enum Buffer {
    /// Drop-tail FIFO with a limit.
    Plain(Length),
    /// A policy's queue that is a FIFO behind a gate.
    Gated(AnyGate),
    /// Another queue of a policy.
    Policy(Served),
}

/// A policy's queue that is asked at each departure.
struct Served {
    queue: Box<dyn QueueDiscipline>,
    /// When it is asked next.
    departs_at: Instant,
    /// It has not been told yet that its last packet has left.
    is_sending: bool,
}

impl Served {
    /// Tells the queue, before it is asked anything at `now`, that its last packet left when the line
    /// fell idle.
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
    pub(crate) fn plain(
        rate: Rate,
        delay: Duration,
        link_layer: LinkLayer,
        limit: Length,
        counters: Counters,
    ) -> Self {
        let line = Line::new(rate, delay, link_layer);
        Port::new(Buffer::Plain(limit), line, counters)
    }

    /// A port with a FIFO behind `gate`.
    pub(crate) fn gated(
        gate: AnyGate,
        rate: Rate,
        delay: Duration,
        link_layer: LinkLayer,
        counters: Counters,
    ) -> Self {
        let line = Line::new(rate, delay, link_layer);
        Port::new(Buffer::Gated(gate), line, counters)
    }

    /// A port with a policy's queue.
    pub(crate) fn with_queue(
        queue: Box<dyn QueueDiscipline>,
        rate: Rate,
        delay: Duration,
        link_layer: LinkLayer,
        counters: Counters,
    ) -> Self {
        let served = Served { queue, departs_at: Instant::NEVER, is_sending: false };
        Port::new(Buffer::Policy(served), Line::new(rate, delay, link_layer), counters)
    }

    fn new(buffer: Buffer, line: Line, counters: Counters) -> Self {
        let (wire, waiting) = (VecDeque::new(), Waiting::nothing());
        let (booked_at, small_wire) = (Instant::START, SMALL_WIRE);
        Port { wire, small_wire, waiting, buffer, line, booked_at, replaced_marks: 0, counters }
    }

    /// Whether departures follow from arrivals, so that packets join by [`book`](Self::book); else
    /// they do by [`enqueue`](Self::enqueue).
    #[inline]
    pub(crate) fn is_booked(&self) -> bool {
        !matches!(self.buffer, Buffer::Policy(_))
    }

    /// A port whose departures follow from arrivals takes a packet, which is then to be put on the
    /// [wire](Self::carry): when it arrives at the far end. Or why the port does not take it.
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

    /// What the gate decides of a packet, and when it arrives at the far end if it joins.
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

    /// A queue that is asked takes a packet, which is lent to it. It, or others held, may end in `drops`.
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
        // A departure that is due later than the line is free waits for a shaper, which may let
        // this packet pass the others.
        if served.departs_at <= self.line.free_at {
            return Changed::default();
        }
        let Some(ready) = served.queue.ready_at() else { return Changed::default() };
        let before = std::mem::replace(&mut served.departs_at, ready.max(self.line.free_at));
        Changed { sent: None, departure: served.departs_at != before }
    }

    /// Whether the policy's queue wants to be told of the senders whose packets it holds.
    pub(crate) fn listens(&self) -> bool {
        matches!(&self.buffer, Buffer::Policy(served) if served.queue.listens())
    }

    /// Tells the policy's queue, which listens, of a sender; packets that waited may go.
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
        let departs_at =
            served.queue.ready_at().map_or(Instant::NEVER, |ready| ready.max(self.line.free_at));
        let before = std::mem::replace(&mut served.departs_at, departs_at);
        Changed { sent: None, departure: departs_at != before }
    }

    /// Shows what the policy's queue has counted since the start.
    pub(crate) fn queue_counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        if let Buffer::Policy(served) = &self.buffer {
            served.queue.counters(visit);
        }
    }

    /// The policy's queue, where it is asked at each departure.
    pub(crate) fn policy_queue(&self) -> Option<&dyn QueueDiscipline> {
        match &self.buffer {
            Buffer::Policy(served) => Some(&*served.queue),
            _ => None,
        }
    }

    /// Asks the queue for its next packet, for the line, which is idle.
    pub(crate) fn serve(&mut self, now: Instant, pool: &mut Pool, drops: &mut Drops) -> Changed {
        let Port { buffer: Buffer::Policy(served), line, counters, .. } = self else {
            unreachable!("where departures follow from arrivals, there are no events for them")
        };
        counters.stood(now, || served.queue.backlog());
        served.tell(now, line.free_at);
        let next = served.queue.dequeue(now, drops);
        self.send(now, next, pool)
    }

    /// Sends a packet that the queue, which holds nothing, has let pass over the line, which is idle.
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

    /// Sends what the queue has given over the line, which is idle.
    #[inline]
    fn send(&mut self, now: Instant, next: Option<Queued>, pool: &mut Pool) -> Changed {
        let Port { buffer: Buffer::Policy(served), line, counters, .. } = self else {
            unreachable!("the queue has given a packet")
        };
        served.is_sending = next.is_some();
        let ready = served.queue.ready_at();
        let sent = next.map(|queued| {
            let parcel = pool.take_back(queued.packet);
            counters.wait_ended(queued.since, now);
            Passage { arrives: line.send(now, parcel.size()), parcel }
        });
        let departs_at = ready.map_or(Instant::NEVER, |ready| ready.max(line.free_at));
        let before = std::mem::replace(&mut served.departs_at, departs_at);
        Changed { sent, departure: departs_at != before }
    }

    /// Whether it is a FIFO behind a gate.
    #[inline]
    pub(crate) fn has_gate(&self) -> bool {
        matches!(self.buffer, Buffer::Gated(_))
    }

    /// Asks for what a policy's queue needs for a packet that joins soon.
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

    /// Puts a packet on the wire. True when it is the only one there.
    #[inline(always)]
    pub(crate) fn carry(&mut self, passage: Passage) -> bool {
        let place = self.wire.push_back_mut(passage);
        prefetch_after(place, AHEAD);
        self.wire.len() == 1
    }

    /// Takes the packet that arrives at the far end at `now`.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Instant) -> Parcel {
        self.begin(now);
        let passage = self.wire.pop_front().expect("an arrival was due");
        self.give_back();
        passage.parcel
    }

    /// Takes the stubs of all packets that have arrived by `now`, and counts them: how many there
    /// were.
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

    /// Lets transmissions begin that are due by `now`.
    #[inline(always)]
    fn begin(&mut self, now: Instant) {
        let Port { buffer, waiting, wire, line, .. } = self;
        waiting.begin(now, wire, line.delay, |begins, ends, parcel| {
            if let Buffer::Gated(gate) = buffer {
                gate.begin(begins, ends, parcel.arrival());
            }
        });
    }

    /// Gives back what the wire's ring needed for a burst, so that it stays in the cache.
    #[inline(always)]
    fn give_back(&mut self) {
        if self.wire.capacity() > self.small_wire + 8 * self.wire.len() {
            self.wire.shrink_to(self.wire.capacity() / 4);
        }
    }

    /// From now on nothing is given back, so that bursts that come again need no new room.
    pub(crate) fn keep_room(&mut self) {
        self.small_wire = usize::MAX / 2;
    }

    /// Whether the wire's ring must grow for another packet.
    #[inline]
    pub(crate) fn wire_is_full(&self) -> bool {
        self.wire.len() == self.wire.capacity()
    }

    /// How many packets are on the wire.
    pub(crate) fn on_wire(&self) -> u64 {
        self.wire.len() as u64
    }

    /// What arrives next at the far end. What comes after it is asked for.
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

    /// What waits at `now`, as an AQM would count it: without the packet being sent.
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

    /// Time spent sending until `now`.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.line.busy(now)
    }

    /// Starts counting anew, waits until `until`.
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
                // Of those that came at `now` the last waits longest.
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

    /// Counts what waits at `now` as waiting until then.
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

    /// Packets that the policy's AQM gave an ECN mark since counting began; none at a port that is not
    /// reported.
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

    /// Everything inside the port: waiting, being sent, on the wire.
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
