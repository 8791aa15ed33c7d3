//! The faces of elements. All are object-safe, without generics and without I/O.

use shortflow_units::{Bytes, Instant, Length, Rate};

use crate::{Color, DropReason, Drops, Dscp, FlowKey, Packet, TrafficClass};

/// Measures a stream against a profile (RFC 2475). Reads the packet, never writes it.
pub trait Meter: Send {
    /// How `packet`, which passes at `now`, stands to the profile.
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color;

    /// Makes room for `flows` at once, or users or whatever it accounts for: up to these, and within
    /// its own bounds, it allocates nothing more.
    fn reserve(&mut self, _flows: usize) {}

    /// Shows what the meter has counted since the start, each number with its name, for results.
    fn counters(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}
}

/// Writes a packet's DSCP (RFC 2475). Never drops.
pub trait Marker: Send {
    /// Marks `packet` at `now`, and says the colour that it gave. `sender` is the state of the
    /// sending TCP, there at a source host only.
    fn mark(&mut self, now: Instant, packet: &mut Packet, sender: Option<&SenderView>) -> Color;

    /// As [`Meter::reserve`].
    fn reserve(&mut self, _flows: usize) {}

    /// Shows what the marker has counted since the start, each number with its name, for results.
    /// The numbers only grow: results are differences of two looks.
    fn counters(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}
}

/// Holds packets. AQMs, shapers, and schedulers over queues are queues again.
pub trait QueueDiscipline: Send {
    /// Takes the packet. It, or any packet already held, may end in `drops`.
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops);

    /// Gives the next packet, or `None`; then [`ready_at`](Self::ready_at) says when to come back.
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued>;

    /// What happens to a packet that comes while the line is idle, for queues that hold nothing and have
    /// a shorter way than [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) one after the other:
    /// it is sent at once, with an ECN mark or without, or goes no further. `None` leaves the queue as it
    /// was, and asks for these two.
    #[inline]
    fn pass(&mut self, _now: Instant, _packet: &Packet) -> Option<Verdict> {
        None
    }

    /// Earliest instant at which [`dequeue`](Self::dequeue) may give a packet; `None` when empty.
    fn ready_at(&self) -> Option<Instant>;

    /// What is held now.
    fn backlog(&self) -> Backlog;

    /// All that was given so far has left the line by `now`, which is not before the last of it was
    /// given. A host that tells this once tells it always, before the next call of
    /// [`enqueue`](Self::enqueue) or [`dequeue`](Self::dequeue) at the latest. Of a host that never
    /// does, a queue believes that it takes a packet when the one before has left.
    fn departed(&mut self, _now: Instant) {}

    /// Makes room for `packets` held at once, of `flows` different flows: up to these, and within
    /// its own limits, the queue allocates nothing more. Without it, it grows to its busiest moment.
    fn reserve(&mut self, _packets: usize, _flows: usize) {}

    /// From `now` on, the line that the queue feeds has this `rate`, above zero. Without a word it is
    /// the rate that the queue was built for.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// Whether it wants to be [informed](Self::on_sender_event) of the senders whose packets it holds.
    fn listens(&self) -> bool {
        false
    }

    /// Something has happened at `now` at a sender of this queue's host. What waited may be ready by then.
    fn on_sender_event(&mut self, _now: Instant, _news: &SenderUpdate) {}

    /// Shows what the queue has counted since the start, each number with its name, for results. The numbers
    /// only grow: results are differences of two looks.
    fn counters(&self, _visit: &mut dyn FnMut(&'static str, u64)) {}

    /// Shows how many packets each class of the queue has been given since the start: the number of the class
    /// after those of the classes `around` it, outermost first. A queue without classes shows nothing.
    fn class_counts(&self, _around: &mut Vec<usize>, _visit: &mut dyn FnMut(&[usize], u64)) {}

    /// The average queue that an AQM keeps, in its own unit (packets or bytes), for time series.
    fn average(&self) -> Option<f64> {
        None
    }

    /// How many packets were given an ECN mark.
    fn ecn_marks(&self) -> u64 {
        0
    }
}

/// Decides which packets join a queue that is first in, first out. What it lets in leaves in its turn,
/// and nothing is dropped later: so departures follow from arrivals, and a host that knows its line can
/// work them out ahead. Such a host keeps the packets itself, and tells the gate of each transmission
/// before anything that happens later.
pub trait Gate: Send {
    /// Whether a packet that arrives at `now` joins the queue.
    fn admit(&mut self, now: Instant, packet: Arrival) -> Verdict;

    /// The first that waits, which came as `packet`, begins to be sent at `now`, and has left the line
    /// at `left_at`: never, where that is [told](Self::departed) later.
    fn begin(&mut self, now: Instant, left_at: Instant, packet: Arrival);

    /// A packet arrives at `now`, where nothing waits and nothing is being sent: if it joins the queue,
    /// it begins to be sent at once. What [`admit`](Self::admit) and [`begin`](Self::begin) do one
    /// after the other, for gates that have a shorter way.
    #[inline]
    fn pass(&mut self, now: Instant, left_at: Instant, packet: Arrival) -> Verdict {
        let verdict = self.admit(now, packet);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.begin(now, left_at, packet);
        }
        verdict
    }

    /// What began to be sent has left the line at `now`, where that was not told at its beginning.
    fn departed(&mut self, _now: Instant) {}

    /// What the queue holds at most.
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

/// What a [`Gate`] sees of a packet.
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

/// What a [`Gate`] decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// The packet joins the queue as it is.
    Pass,
    /// It joins the queue, and gets an ECN mark ([`Ecn::Ce`](crate::Ecn::Ce)).
    Mark,
    /// It goes no further.
    Drop(DropReason),
}

/// What a source host's kernel tells its queue of a connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderUpdate {
    /// The 5-tuple of the packets that the connection sends.
    pub key: FlowKey,
    /// What has happened.
    pub event: SenderEvent,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<shortflow_units::Duration>,
}

/// What happens at a connection that may let others send (Mehra, Tewari & Kandlur 1999, §6.2, §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderEvent {
    /// New data are acknowledged, and more wait to be sent.
    Acknowledgement,
    /// New data are acknowledged, and there is nothing to send.
    IdleAcknowledgement,
    /// A duplicate acknowledgement has come.
    DuplicateAcknowledgement,
    /// The application has handed in data, and the window is closed.
    ClosedWindow,
    /// A connection is new. A queue sees it by itself, at the connection's first packet.
    NewConnection,
}

impl SenderEvent {
    /// All there are, in the order of their numbers.
    pub const ALL: [SenderEvent; 5] = [
        SenderEvent::Acknowledgement,
        SenderEvent::IdleAcknowledgement,
        SenderEvent::DuplicateAcknowledgement,
        SenderEvent::ClosedWindow,
        SenderEvent::NewConnection,
    ];

    /// The name in results of how often it was a trigger.
    pub const fn trigger(self) -> &'static str {
        match self {
            SenderEvent::Acknowledgement => "triggers: acknowledgement",
            SenderEvent::IdleAcknowledgement => "triggers: acknowledgement with nothing to send",
            SenderEvent::DuplicateAcknowledgement => "triggers: duplicate acknowledgement",
            SenderEvent::ClosedWindow => "triggers: data with a closed window",
            SenderEvent::NewConnection => "triggers: new connection",
        }
    }
}

/// A packet that a queue gives.
#[derive(Debug, PartialEq)]
#[must_use]
pub struct Queued {
    /// The packet.
    pub packet: Packet,
    /// When the queue took it.
    pub since: Instant,
}

/// Packets and bytes held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets held.
    pub packets: u64,
    /// Bytes held.
    pub bytes: Bytes,
}

impl Backlog {
    /// Counts `packet` in.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.add_sized(packet.bytes());
    }

    /// Counts `packet` out.
    #[inline]
    pub fn remove(&mut self, packet: &Packet) {
        self.remove_sized(packet.bytes());
    }

    /// Counts a packet of this size in.
    #[inline]
    pub fn add_sized(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }

    /// Counts a packet of this size out.
    #[inline]
    pub fn remove_sized(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
    }
}

/// Which part of its congestion control a sender is in (RFC 5681 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The connection is being set up.
    #[default]
    Handshake,
    /// Slow start.
    SlowStart,
    /// Congestion avoidance.
    CongestionAvoidance,
    /// Fast recovery.
    FastRecovery,
    /// After a retransmission timeout, until what was outstanding is acknowledged.
    LossRecovery,
}

/// The name of a connection's kind, such as `telnet`: a number that a policy gives to each name in
/// its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(pub u16);

impl Label {
    /// A name that the policy does not mention.
    pub const NONE: Label = Label(0);
}

/// What a source host's kernel lets a marker see of the sending TCP, read-only. What it does not tell
/// of a packet is none, and elements do without: of a datagram there is a label alone. A simulated host
/// tells all. A Linux kernel tells the window, the phase, the round-trip time and what was sent of a
/// socket (`tcp_info`), but not whether one packet is a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SenderView {
    /// The send window: the smaller of congestion and receive window, in segments.
    pub window_segments: Option<u32>,
    /// The phase of congestion control.
    pub phase: Option<Phase>,
    /// Whether this packet is a retransmission.
    pub is_retransmission: Option<bool>,
    /// The smoothed round-trip time, once there is a sample.
    pub smoothed_rtt: Option<shortflow_units::Duration>,
    /// Bytes of the application that were sent at least once before this packet.
    pub sent: Bytes,
    /// Bytes of the application that were never sent before this packet, where there is an end to
    /// them: what remains of the messages that it has handed in.
    pub remaining: Option<Bytes>,
    /// The code point of the last packet with data, SYN or FIN that came from the peer.
    pub received_dscp: Option<Dscp>,
    /// The connection's label.
    pub label: Label,
}
