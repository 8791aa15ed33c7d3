//! A shaper for the connections of an aggregate, at their source host (Mehra, Tewari & Kandlur 1999,
//! §4.1, §4.2 and §6).

mod line;
mod output;
mod overflow;
mod params;
mod release;
mod stats;

use shortflow_packet::{Packet, SenderEvent, SenderUpdate};
use shortflow_units::{Instant, Rng};

use self::line::Line;
use self::output::Granted;
pub use self::params::{
    AggregateShaperParams, AggregateShaperSettings, FreshPackets, Place, ServiceOrder, Triggers,
};
use self::release::{Release, Stop};
use self::stats::Stats;
use crate::packet_store::{PacketList, PacketStore};
use crate::sharing::{Connections, Rooms, Seen, Sharing};
use crate::{Backlog, DropReason, Drops, OutputGate, QueueDiscipline, Queued};

/// Holds packets of an aggregate until they conform to its profile.
///
/// ```text
///            one FIFO per connection      a packet that conforms, in the service order,
///            ┌ ▤ ▤ ─┐                     when the timer expires or at a trigger
/// packet ──▶ ┼ ▤ ▤ ▤ ┼──▶ tokens, shared ──▶ ▤ ──▶ line
///     │      └ ▤ ────┘                     ▲
///     └──────────── conforms ──────────────┘
/// ```
///
/// - A packet that conforms on arrival passes at once. Exceptions: other packets of its connection wait or,
///   with a common bucket, packets of [any](FreshPackets) connection.
/// - All other packets wait. While packets wait, one coarse timer expires periodically for the whole
///   aggregate (15 ms in the paper, §4.1), and releases the packets that conform by then.
/// - Events at the senders trigger the same (§6.2, §6.3): the host [reports](QueueDiscipline::on_sender_event)
///   acknowledgements and data that the application writes. The shaper itself sees new connections.
/// - With a common bucket, only the first in the service order may leave; otherwise the first whose own share
///   suffices.
///
/// At [`Place::Tcp`] the same decides about segments that TCP has not sent. The TCPs of the host
/// [ask](OutputGate) before each segment (§4.1, §6.1). What may not go waits there, unsent: it is not in flight,
/// and its round trip begins when it goes. Packets of others, such as datagrams, never ask. They wait here, and
/// share tokens, timer and turns with the connections that do. A TCP that has tokens puts its packet into the
/// queue, where it waits for the line only. Only the limit, and the largest packet of the profile, can drop it.
///
/// A connection's share may be in proportion to its round-trip time: the smallest smoothed value that its
/// sender has reported. In the paper a packet is held back before TCP counts it as sent (§6.1), so its
/// samples do not include the wait here. Among the reported values the first ones include the least of it.
///
/// A peak rate spaces conforming packets on their way to the line; `ready_at` is the time of the next one.
/// Waiting for the coarse timer would release about one packet per expiry. A stream that conforms to a bucket
/// still conforms after spacing at no less than the bucket's rate (Le Boudec & Thiran 2001, theorem 1.5.2).
///
/// When the limit is reached, the connection with the most waiting packets loses its newest one
/// ([`DropReason::PushedOut`]), unless that is the arrival's own connection. With a common bucket, of which
/// no connection has a part, the arrival is dropped. Two other packets are dropped as
/// [`DropReason::Overlimit`]: one that is larger than the profile allows, and one of a new connection if
/// packets of the maximum number of connections wait.
///
/// A packet takes O(n log n) steps for n connections, because a connection's tokens depend on what others leave.
#[derive(Debug)]
pub struct AggregateShaper {
    params: AggregateShaperParams,
    connections: Connections,
    store: PacketStore,
    /// By the number of the connection.
    lines: Vec<Line>,
    /// The numbers of connections with waiting packets.
    waiting: Vec<u32>,
    rooms: Rooms,
    /// Packets that conform and were not sent yet.
    released: PacketList,
    /// Packets that TCP was allowed to send, and were not sent yet.
    admitted: PacketList,
    /// When the last packet sent has passed at the peak rate.
    peak_free_at: Instant,
    backlog: Backlog,
    /// The number of the next step in the service order.
    next_turn: u64,
    /// A release that has begun and not ended, and why it has stopped.
    release: Option<Release>,
    stop: Stop,
    /// The connection whose TCP may send now.
    granted: Option<Granted>,
    timer: Timer,
    stats: Stats,
}

/// The shaping timer. It runs while packets wait.
#[derive(Debug)]
struct Timer {
    /// The next expiry; `NEVER` while it does not run.
    at: Instant,
    /// The first expiry at which a packet conforms, if nothing else happens.
    useful_at: Instant,
}

impl AggregateShaper {
    /// An empty shaper with a full bucket. The hash of its table has a seed from `rng`.
    pub fn new(params: AggregateShaperParams, rng: Rng) -> Self {
        // The others are looked at packet by packet.
        let AggregateShaperSettings {
            profile,
            sharing,
            connections,
            limit: _,
            timer: _,
            order: _,
            fresh: _,
            triggers: _,
            place: _,
        } = params.settings();
        let shared = profile.clone().without_peak();
        AggregateShaper {
            connections: Connections::new(shared, sharing, connections, rng),
            params,
            store: PacketStore::new(),
            lines: Vec::new(),
            waiting: Vec::new(),
            rooms: Rooms::default(),
            released: PacketList::default(),
            admitted: PacketList::default(),
            peak_free_at: Instant::START,
            backlog: Backlog::default(),
            next_turn: 0,
            release: None,
            stop: Stop::Done,
            granted: None,
            timer: Timer { at: Instant::NEVER, useful_at: Instant::NEVER },
            stats: Stats::default(),
        }
    }

    fn is_common(&self) -> bool {
        self.params.sharing == Sharing::Common
    }

    /// The state of a connection, which is new or known.
    fn line(&mut self, now: Instant, Seen { number, is_new }: Seen) -> &mut Line {
        if number as usize >= self.lines.len() {
            self.lines.resize_with(number as usize + 1, Line::default);
        }
        if is_new {
            self.lines[number as usize] = Line { turn: self.turn(), ..Line::default() };
            self.trigger(now, SenderEvent::NewConnection);
        }
        &mut self.lines[number as usize]
    }

    /// Accepts a packet of a connection with a share.
    fn take(&mut self, now: Instant, seen: Seen, packet: Packet) {
        let (number, asks) = (seen.number, self.line(now, seen).asks);
        self.backlog.add(&packet);
        if asks {
            self.connections.passed(number, &packet);
            self.admitted.push(&mut self.store, Queued { packet, since: now });
        } else if self.may_pass(number) && self.connections.shared.admit(number, &packet) {
            self.stats.passed += 1;
            self.connections.passed(number, &packet);
            self.take_turn(number);
            self.released.push(&mut self.store, Queued { packet, since: now });
        } else {
            self.hold(now, number, packet);
        }
    }
}

impl QueueDiscipline for AggregateShaper {
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        self.advance(now);
        if packet.bytes() > self.params.profile.max_packet() || !self.make_room(&packet, drops) {
            return drops.push(packet, DropReason::Overlimit);
        }
        match self.connections.see(now, &packet) {
            Some(seen) => self.take(now, seen, packet),
            None => drops.push(packet, DropReason::Overlimit),
        }
        // Even if the packet was dropped, other connections may have been removed, and shares may be larger.
        self.look_ahead();
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        self.advance(now);
        if let Some(queued) = self.admitted.pop(&mut self.store) {
            self.backlog.remove(&queued.packet);
            return Some(queued);
        }
        if now < self.peak_free_at {
            return None;
        }
        let queued = self.released.pop(&mut self.store)?;
        if let Some(peak) = self.params.profile.peak() {
            self.peak_free_at = now + peak.time_for(queued.packet.bytes());
        }
        self.backlog.remove(&queued.packet);
        Some(queued)
    }

    fn ready_at(&self) -> Option<Instant> {
        if let Some(head) = self.admitted.first(&self.store) {
            return Some(head.since);
        }
        let ready_at = match self.released.first(&self.store) {
            Some(head) => Some(head.since),
            None => (self.backlog.packets > 0).then_some(self.timer.useful_at),
        };
        ready_at.map(|at| at.max(self.peak_free_at))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reserve(&mut self, packets: usize, flows: usize) {
        self.store.reserve(packets);
        self.connections.reserve(flows);
        self.rooms.reserve(flows.min(self.params.connections.connections()));
        let flows = flows.min(self.params.connections.connections());
        self.lines.reserve(flows.saturating_sub(self.lines.len()));
        self.waiting.reserve(flows.saturating_sub(self.waiting.len()));
    }

    fn listens(&self) -> bool {
        true
    }

    fn on_sender_event(&mut self, now: Instant, news: &SenderUpdate) {
        self.advance(now);
        let Some(number) = self.connections.find(&news.key) else { return };
        let line = &mut self.lines[number as usize];
        if let Some(rtt) = news.smoothed_rtt {
            let min = line.min_rtt.map_or(rtt, |min| min.min(rtt));
            line.min_rtt = Some(min);
            self.connections.shared.earn(now);
            self.connections.set_rtt(number, min);
            self.look_ahead();
        }
        match self.params.fresh {
            FreshPackets::InTurn => self.trigger(now, news.event),
            FreshPackets::Overtake => self.trigger_own(now, news.event, number),
        }
    }

    fn output_gate(&mut self) -> Option<&mut dyn OutputGate> {
        (self.params.place == Place::Tcp).then_some(self as &mut dyn OutputGate)
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let connections = self.connections.stats();
        visit("connections seen", connections.joined);
        visit("connections evicted", connections.evicted);
        self.stats.visit(visit);
    }
}
