//! The traits of elements. All are object-safe, without generics and without I/O.

use shortflow_units::{Bytes, Instant, Length, Rate};

use shortflow_packet::{FlowKey, Packet, SenderUpdate, SenderView, TrafficClass};

use crate::{Color, DropReason, Drops};

/// Compares a stream with a profile (RFC 2475). Reads packets, never changes them.
pub trait Meter: Send {
    /// The colour of `packet`, which passes at `now`.
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color;

    /// Reserves memory for `flows` at the same time, or for users or other accounts. Up to this number, and
    /// within its own limits, it then allocates no more.
    fn reserve(&mut self, _flows: usize) {}

    /// Visits the counters since the start, each with its name in results.
    fn counters(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}
}

/// Writes a packet's DSCP (RFC 2475). Never drops.
pub trait Marker: Send {
    /// Marks `packet` at `now`, and returns its colour. `sender` is the state of the sending TCP, known only
    /// at a source host.
    fn mark(&mut self, now: Instant, packet: &mut Packet, sender: Option<&SenderView>) -> Color;

    /// As [`Meter::reserve`].
    fn reserve(&mut self, _flows: usize) {}

    /// Visits the counters since the start, each with its name in results. Counters never fall: results are
    /// differences of two values.
    fn counters(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}
}

/// Holds packets. AQMs, shapers and schedulers over queues are queues too.
pub trait QueueDiscipline: Send {
    /// Accepts the packet. This packet, or packets already held, may be dropped into `drops`.
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops);

    /// Returns the next packet, or `None`; then [`ready_at`](Self::ready_at) is the time of the next call.
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued>;

    /// Handles a packet that arrives while the line is idle and the queue is empty, for queues with a faster
    /// way than [`enqueue`](Self::enqueue) followed by [`dequeue`](Self::dequeue): it is sent at once, with
    /// or without an ECN mark, or dropped. `None` leaves the queue unchanged; the caller then uses these two.
    #[inline]
    fn pass(&mut self, _now: Instant, _packet: &Packet) -> Option<Verdict> {
        None
    }

    /// The earliest instant at which [`dequeue`](Self::dequeue) may return a packet; `None` if the queue is
    /// empty.
    fn ready_at(&self) -> Option<Instant>;

    /// What is held now.
    fn backlog(&self) -> Backlog;

    /// All packets returned so far have left the line by `now`, which is not before the last of them was
    /// returned. A host that reports this once must always report it, before the next call of
    /// [`enqueue`](Self::enqueue) or [`dequeue`](Self::dequeue). If a host never reports it, the queue
    /// assumes that each call of `dequeue` follows the departure of the previous packet.
    fn departed(&mut self, _now: Instant) {}

    /// Reserves memory for `packets` at the same time, of `flows` different flows. Up to these, and within
    /// its own limits, the queue then allocates no more. Otherwise it grows to its maximum size.
    fn reserve(&mut self, _packets: usize, _flows: usize) {}

    /// Sets the `rate` of the line that the queue feeds, above zero, from `now` on. The default is the rate
    /// that the queue was built for.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Whether it needs [reports](Self::on_sender_event) about the senders of its packets.
    fn listens(&self) -> bool {
        false
    }

    /// Reports an event at `now` at a sender of this queue's host. Waiting packets may become ready.
    fn on_sender_event(&mut self, _now: Instant, _news: &SenderUpdate) {}

    /// What the TCPs of this queue's host ask before they send, if the queue withholds segments there. `None` if
    /// it only holds packets.
    fn output_gate(&mut self) -> Option<&mut dyn OutputGate> {
        None
    }

    /// Visits the counters since the start, each with its name in results. Counters never fall: results are
    /// differences of two values.
    fn counters(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}

    /// Visits the packets per class since the start. The number of a class follows those of the classes
    /// `around` it, outermost first. A queue without classes visits nothing.
    fn class_counts(&self, _around: &mut Vec<usize>, _visit: &mut dyn FnMut(&[usize], u64)) {}

    /// The average queue of an AQM, in its own unit (packets or bytes), for time series.
    fn average(&self) -> Option<f64> {
        None
    }

    /// The number of packets with an ECN mark from this queue.
    fn ecn_marks(&self) -> u64 {
        0
    }
}

/// Decides when the TCPs of a host may send, before a packet exists. What may not go stays unsent in its
/// connection.
///
/// ```text
/// TCP ── ask ──▶ yes: the packet is made, and enters the queue at once
///       ▲        no: the connection waits
///       └─────── next: the connection that may go on, after an event or at `wakes_at`
/// ```
///
/// The queue admits a packet of a connection that has asked for it without any further wait. After any call to
/// the queue or the gate the host lets connections send until [`next`](Self::next) returns `None`.
pub trait OutputGate {
    /// Whether the connection that the host calls `asker` may make and send `packet` at `now`. If so, the host
    /// does so at once. Otherwise the connection waits.
    fn ask(&mut self, now: Instant, packet: Packet, asker: u32) -> bool;

    /// The connection that may go on at `now`. The host polls it until it has no more to send or must wait
    /// again, and calls this again.
    fn next(&mut self, now: Instant) -> Option<u32>;

    /// Whether [`next`](Self::next) has one.
    fn has_next(&self) -> bool;

    /// When the host calls [`wake`](Self::wake); `NEVER` if no connection waits.
    fn wakes_at(&self) -> Instant;

    /// The host's call at that time: connections may go on.
    fn wake(&mut self, now: Instant);

    /// The connection with this name will not send any more.
    fn forget(&mut self, now: Instant, key: &FlowKey);
}

/// Decides which packets join a FIFO. Accepted packets leave in order, and none is dropped later. Departures
/// therefore follow from arrivals, and a host that knows its line can compute them in advance. Such a host
/// holds the packets itself, and reports each transmission to the gate before any later event.
pub trait Gate: Send {
    /// Whether a packet that arrives at `now` joins the queue.
    fn admit(&mut self, now: Instant, packet: Arrival) -> Verdict;

    /// The transmission of the first waiting packet, which arrived as `packet`, begins at `now` and ends at
    /// `left_at`; `NEVER` if its end is [reported](Self::departed) later.
    fn begin(&mut self, now: Instant, left_at: Instant, packet: Arrival);

    /// A packet arrives at `now`, while no packet waits and none is being sent. If it joins the queue, its
    /// transmission begins at once. This is [`admit`](Self::admit) followed by [`begin`](Self::begin), for
    /// gates with a faster way.
    #[inline]
    fn pass(&mut self, now: Instant, left_at: Instant, packet: Arrival) -> Verdict {
        let verdict = self.admit(now, packet);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.begin(now, left_at, packet);
        }
        verdict
    }

    /// A transmission has ended at `now`, if its end was not reported at its beginning.
    fn departed(&mut self, _now: Instant) {}

    /// The limit of the queue.
    fn limit(&self) -> Length;

    /// As [`QueueDiscipline::set_rate`].
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// As [`QueueDiscipline::average`].
    fn average(&self) -> Option<f64> {
        None
    }

    /// As [`QueueDiscipline::ecn_marks`].
    fn ecn_marks(&self) -> u64 {
        0
    }
}

/// A [`Gate`]'s view of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes of the whole packet.
    pub size: u32,
    /// The code point and the ECN field.
    pub class: TrafficClass,
}

impl Arrival {
    /// Bytes of the whole packet.
    #[inline]
    pub fn bytes(self) -> Bytes {
        Bytes(u64::from(self.size))
    }
}

impl From<&Packet> for Arrival {
    #[inline]
    fn from(packet: &Packet) -> Self {
        Arrival { size: packet.size, class: TrafficClass::new(packet.dscp, packet.ecn) }
    }
}

/// The decision of a [`Gate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// The packet joins the queue unchanged.
    Pass,
    /// The packet joins the queue with an ECN mark ([`Ecn::Ce`](shortflow_packet::Ecn::Ce)).
    Mark,
    /// The packet is dropped.
    Drop(DropReason),
}

/// A packet in a queue.
#[derive(Debug, PartialEq)]
#[must_use]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// When the queue accepted it.
    pub since: Instant,
}

/// Packets and bytes in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets held.
    pub packets: u64,
    /// Bytes held.
    pub bytes: Bytes,
}

impl Backlog {
    /// Adds `packet`.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.add_sized(packet.bytes());
    }

    /// Removes `packet`.
    #[inline]
    pub fn remove(&mut self, packet: &Packet) {
        self.remove_sized(packet.bytes());
    }

    /// Adds a packet of this size.
    #[inline]
    pub fn add_sized(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }

    /// Removes a packet of this size.
    #[inline]
    pub fn remove_sized(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}
