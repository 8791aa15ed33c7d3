//! A port: the sending end of a link, with its queue, its line and the packets on the wire.
//!
//! A plain port is a drop-tail FIFO, whose departures follow from the arrivals: a packet's arrival
//! at the far end is known when it joins the queue, so the port needs one event per packet. A port
//! with a policy's queue asks its queue at each departure, and needs an event at the end of a
//! transmission only while a packet waits. The packet that is being sent is not in the queue.

use std::collections::VecDeque;

use shortflow_elements::{Backlog, DropReason, Drops, Packet, QueueDiscipline};
use shortflow_units::{Duration, Instant, Length, Rate, Transmission};

use crate::counters::{Count, Counters};

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
    wire: VecDeque<InFlight>,
    /// Marks that the policy's AQM had given when counting began.
    ecn_marks_before: u64,
    pub(crate) counters: Counters,
}

/// The part of a port that holds packets before they are sent.
enum Buffer {
    /// Drop-tail FIFO. The packets are in `Port::wire`, the first `started` of which have begun
    /// their transmission; the others wait.
    Plain { limit: Length, started: usize, waiting: Backlog },
    /// A policy's queue.
    Policy(Box<dyn QueueDiscipline>),
}

/// A packet whose departure is fixed. When its transmission begins stands in the packet's
/// `enqueued_at`, which is of no more use once its wait has been counted.
struct InFlight {
    arrives: Instant,
    packet: Packet,
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
        let buffer = Buffer::Plain { limit, started: 0, waiting: Backlog::default() };
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
            wire: VecDeque::new(),
            ecn_marks_before: 0,
            counters,
        }
    }

    /// Takes a packet. It, or others held, may end in `drops`.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant, mut packet: Packet, drops: &mut Drops) -> Changed {
        self.counters.arrived(&packet);
        packet.enqueued_at = now;
        match &mut self.buffer {
            Buffer::Plain { limit, started, waiting } => {
                start_waiting(&self.wire, started, waiting, now);
                if self.free_at > now {
                    if is_full(*limit, waiting, &packet) {
                        drops.push(packet, DropReason::Overlimit);
                        return Changed::default();
                    }
                    waiting.add(&packet);
                } else {
                    *started += 1;
                }
                let arrival = self.wire.is_empty();
                self.transmit(self.free_at.max(now), packet);
                Changed { arrival, departure: false }
            }
            Buffer::Policy(queue) => {
                queue.enqueue(now, packet, drops);
                if self.free_at <= now {
                    return self.serve(now, drops);
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
    pub(crate) fn serve(&mut self, now: Instant, drops: &mut Drops) -> Changed {
        let Buffer::Policy(queue) = &mut self.buffer else {
            unreachable!("a plain port has no departures")
        };
        let next = queue.dequeue(now, drops);
        let ready = queue.ready_at();
        let before = self.departs_at;
        let mut arrival = false;
        if let Some(packet) = next {
            arrival = self.wire.is_empty();
            self.transmit(now, packet);
        }
        self.departs_at = ready.map_or(Instant::NEVER, |ready| ready.max(self.free_at));
        Changed { arrival, departure: self.departs_at != before }
    }

    /// Puts a packet on the line at `starts`, which is not before the line is free.
    #[inline]
    fn transmit(&mut self, starts: Instant, mut packet: Packet) {
        if starts > self.free_at {
            self.line.idle();
        }
        self.counters.waited(&packet, starts.since(packet.enqueued_at));
        let time = self.line.time(packet.size + self.overhead);
        self.counters.busy += time;
        self.free_at = starts + time;
        let arrives = self.free_at + self.delay;
        packet.enqueued_at = starts;
        self.wire.push_back(InFlight { arrives, packet });
    }

    /// Takes the packet that arrives at the far end.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Packet {
        let InFlight { packet, .. } = self.wire.pop_front().expect("an arrival was due");
        if let Buffer::Plain { started, waiting, .. } = &mut self.buffer {
            match started.checked_sub(1) {
                Some(left) => *started = left,
                None => waiting.remove(&packet),
            }
        }
        packet
    }

    /// When the next packet arrives at the far end.
    #[inline]
    pub(crate) fn arrives_at(&self) -> Instant {
        self.wire.front().map_or(Instant::NEVER, |next| next.arrives)
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
    pub(crate) fn backlog(&mut self, now: Instant) -> Backlog {
        match &mut self.buffer {
            Buffer::Plain { started, waiting, .. } => {
                start_waiting(&self.wire, started, waiting, now);
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
    pub(crate) fn restart_counters(&mut self, now: Instant) {
        let held = self.held();
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
    pub(crate) fn held(&self) -> Count {
        let mut held = Count::default();
        for in_flight in &self.wire {
            held.add(&in_flight.packet);
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
fn start_waiting(
    wire: &VecDeque<InFlight>,
    started: &mut usize,
    waiting: &mut Backlog,
    now: Instant,
) {
    while waiting.packets > 0 {
        let next = &wire[*started];
        if next.packet.enqueued_at > now {
            break;
        }
        waiting.remove(&next.packet);
        *started += 1;
    }
}

#[inline]
fn is_full(limit: Length, waiting: &Backlog, packet: &Packet) -> bool {
    match limit {
        Length::Packets(packets) => waiting.packets >= packets,
        Length::Bytes(bytes) => waiting.bytes + packet.bytes() > bytes,
    }
}
