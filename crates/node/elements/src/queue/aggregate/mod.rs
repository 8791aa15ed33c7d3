//! A shaper for the connections of an aggregate, at their source host (Mehra, Tewari & Kandlur 1999,
//! §4.1, §4.2 and §6).

mod overflow;
mod params;
mod stats;

use shortflow_packet::{Packet, SenderEvent, SenderUpdate};
use shortflow_units::{Duration, Instant, Rng};

pub use self::params::{
    AggregateShaperParams, AggregateShaperSettings, FreshPackets, ServiceOrder, Triggers,
};
use self::stats::Stats;
use crate::packet_store::{PacketList, PacketStore};
use crate::sharing::{Connections, Seen, Sharing};
use crate::{Backlog, DropReason, Drops, QueueDiscipline, Queued};

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
/// A packet takes one step per connection, because a connection's tokens depend on what others leave. Without
/// a common bucket it also takes a step per connection for each waiting one, because the time of the next
/// conforming packet depends on all of them.
#[derive(Debug)]
pub struct AggregateShaper {
    params: AggregateShaperParams,
    connections: Connections,
    store: PacketStore,
    /// By the number of the connection.
    lines: Vec<Line>,
    /// The numbers of connections with waiting packets.
    waiting: Vec<u32>,
    /// Packets that conform and were not sent yet.
    released: PacketList,
    /// When the last packet sent has passed at the peak rate.
    peak_free_at: Instant,
    backlog: Backlog,
    /// The number of the next step in the service order.
    next_turn: u64,
    timer: Timer,
    stats: Stats,
}

/// The waiting packets of one connection.
#[derive(Debug, Default)]
struct Line {
    packets: PacketList,
    /// The connection with the smallest value is served first.
    turn: u64,
    /// The smallest reported value, once there is one.
    min_rtt: Option<Duration>,
    /// When its head conforms, if nothing else happens.
    due_at: Instant,
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
        } = params.settings();
        let shared = profile.clone().without_peak();
        AggregateShaper {
            connections: Connections::new(shared, sharing, connections, rng),
            params,
            store: PacketStore::new(),
            lines: Vec::new(),
            waiting: Vec::new(),
            released: PacketList::default(),
            peak_free_at: Instant::START,
            backlog: Backlog::default(),
            next_turn: 0,
            timer: Timer { at: Instant::NEVER, useful_at: Instant::NEVER },
            stats: Stats::default(),
        }
    }

    fn is_common(&self) -> bool {
        self.params.sharing == Sharing::Common
    }

    /// Processes all expiries of the timer by `now`.
    fn advance(&mut self, now: Instant) {
        while self.timer.useful_at <= now {
            let at = self.timer.useful_at;
            self.stats.timer_expired(self.timer.at, at, self.params.timer);
            self.timer.at = at + self.params.timer;
            self.release(at);
        }
        // Expiries before the next useful one release nothing.
        if self.timer.at <= now {
            let missed = now.since(self.timer.at).nanos() / self.params.timer.nanos();
            let last = self.timer.at + self.params.timer * missed;
            self.stats.timer_expired(self.timer.at, last, self.params.timer);
            self.timer.at = last + self.params.timer;
        }
    }

    /// Releases the packets that conform at `now`, if the event is a trigger.
    fn trigger(&mut self, now: Instant, event: SenderEvent) {
        if self.params.triggers.has(event) && !self.waiting.is_empty() {
            self.stats.triggered[event as usize] += 1;
            self.release(now);
        }
    }

    /// The same, if an event releases only packets of its own connection.
    fn trigger_own(&mut self, now: Instant, event: SenderEvent, number: u32) {
        if !self.params.triggers.has(event) {
            return;
        }
        let place = |waiting: &[u32]| waiting.iter().position(|&waiting| waiting == number);
        self.stats.triggered[event as usize] += u64::from(place(&self.waiting).is_some());
        self.connections.shared.earn(now);
        let mut before = None;
        while let Some(place) = place(&self.waiting).filter(|&place| self.conforms(place)) {
            before = Some(self.send_head(now, place, before));
        }
        self.look_ahead();
    }

    /// Releases conforming packets at `now`, in the service order.
    fn release(&mut self, now: Instant) {
        self.connections.shared.earn(now);
        let mut before = None;
        while let Some(place) = self.next() {
            before = Some(self.send_head(now, place, before));
        }
        self.look_ahead();
    }

    /// The index of the waiting connection that leaves next, if one conforms.
    fn next(&self) -> Option<usize> {
        let turn = |&place: &usize| self.lines[self.waiting[place] as usize].turn;
        let places = 0..self.waiting.len();
        if self.is_common() {
            return places.min_by_key(turn).filter(|&place| self.conforms(place));
        }
        places.filter(|&place| self.conforms(place)).min_by_key(turn)
    }

    fn conforms(&self, place: usize) -> bool {
        let number = self.waiting[place];
        self.connections.shared.conforms(number, &self.head(number).packet)
    }

    fn head(&self, number: u32) -> &Queued {
        let packets = &self.lines[number as usize].packets;
        packets.first(&self.store).expect("a connection that waits has a head")
    }

    /// When the head of the connection could have left. With a common bucket, an earlier packet of the same
    /// instant could have left at `before`; then the time when this packet's tokens had arrived after that.
    fn due_at(&self, number: u32, before: Option<Instant>) -> Instant {
        match before {
            Some(before) if self.is_common() => {
                before + self.params.profile.rate().time_for(self.head(number).packet.bytes())
            }
            _ => self.lines[number as usize].due_at,
        }
    }

    /// Sends the head of the connection at `place`, which conforms at `now`. Returns when it could have left;
    /// `before` is that time for the previous packet of the same instant.
    fn send_head(&mut self, now: Instant, place: usize, before: Option<Instant>) -> Instant {
        let number = self.waiting[place];
        let due_at = self.due_at(number, before).max(self.head(number).since);
        self.stats.shaped(now.since(due_at));
        let line = &mut self.lines[number as usize];
        let queued = line.packets.pop(&mut self.store).expect("the head is there");
        line.due_at = due_at + self.params.profile.rate().time_for(queued.packet.bytes());
        self.connections.shared.admit(number, &queued.packet);
        if line.packets.is_empty() {
            self.waiting.swap_remove(place);
            self.connections.set_waiting(number, false);
        }
        self.connections.passed(number, &queued.packet);
        self.released.push(&mut self.store, queued);
        self.take_turn(number);
        due_at
    }

    /// The connection was assigned tokens. Depending on the order, its next turn is after all others, or when
    /// it no longer conforms, or unchanged.
    fn take_turn(&mut self, number: u32) {
        let is_last = match self.params.order {
            ServiceOrder::Sequential => false,
            ServiceOrder::LeastRecentlyServed => true,
            ServiceOrder::FirstCome => {
                let place = self.waiting.iter().position(|&waiting| waiting == number);
                place.is_some_and(|place| !self.conforms(place))
            }
        };
        if is_last {
            self.lines[number as usize].turn = self.turn();
        }
    }

    /// The number of the next step in the service order.
    fn turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    /// Computes when waiting packets conform, and the first expiry of the timer that releases one.
    fn look_ahead(&mut self) {
        let mut earliest = Instant::NEVER;
        let shared = &self.connections.shared;
        let first = self.waiting.iter().map(|&number| self.lines[number as usize].turn).min();
        for &number in &self.waiting {
            let line = &mut self.lines[number as usize];
            // With a common bucket only the first may leave.
            if self.params.sharing == Sharing::Common && Some(line.turn) != first {
                line.due_at = Instant::NEVER;
                continue;
            }
            let head = line.packets.first(&self.store).expect("a waiting connection has a head");
            let conforms_at = shared.conforms_at(number, &head.packet);
            earliest = earliest.min(conforms_at);
            // A packet that already conforms is due since then.
            let is_due = conforms_at == shared.earned_at();
            line.due_at = if is_due { line.due_at.min(conforms_at) } else { conforms_at };
        }
        self.timer.useful_at = match earliest {
            Instant::NEVER => Instant::NEVER,
            _ if earliest <= self.timer.at => self.timer.at,
            _ => {
                let period = self.params.timer.nanos();
                let periods = earliest.since(self.timer.at).nanos().div_ceil(period);
                self.timer.at + self.params.timer * periods
            }
        };
        if self.waiting.is_empty() && self.timer.at != Instant::NEVER {
            self.timer.at = Instant::NEVER;
            self.stats.timers_cancelled += 1;
        }
    }

    /// Accepts a packet of a connection with a share.
    fn take(&mut self, now: Instant, Seen { number, is_new }: Seen, packet: Packet) {
        if number as usize >= self.lines.len() {
            self.lines.resize_with(number as usize + 1, Line::default);
        }
        if is_new {
            self.lines[number as usize] = Line { turn: self.turn(), ..Line::default() };
            self.trigger(now, SenderEvent::NewConnection);
        }
        self.backlog.add(&packet);
        if self.may_pass(number) && self.connections.shared.admit(number, &packet) {
            self.stats.passed += 1;
            self.connections.passed(number, &packet);
            self.take_turn(number);
            self.released.push(&mut self.store, Queued { packet, since: now });
        } else {
            self.hold(now, number, packet);
        }
    }

    /// A packet waits from now on, as the last of its connection.
    fn hold(&mut self, now: Instant, number: u32, packet: Packet) {
        let line = &mut self.lines[number as usize];
        let is_first = line.packets.is_empty();
        line.packets.push(&mut self.store, Queued { packet, since: now });
        if is_first {
            self.lines[number as usize].due_at = Instant::NEVER;
            self.waiting.push(number);
            self.connections.set_waiting(number, true);
            if self.params.order == ServiceOrder::FirstCome {
                self.lines[number as usize].turn = self.turn();
            }
        }
        if self.timer.at == Instant::NEVER {
            self.timer.at = now + self.params.timer;
            self.stats.timers_set += 1;
        }
    }

    /// Whether a packet of the connection may pass waiting ones.
    fn may_pass(&self, number: u32) -> bool {
        self.lines[number as usize].packets.is_empty()
            && (self.waiting.is_empty()
                || !self.is_common()
                || self.params.fresh == FreshPackets::Overtake)
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
        let ready_at = match self.released.first(&self.store) {
            Some(head) => Some(head.since),
            None => (!self.waiting.is_empty()).then_some(self.timer.useful_at),
        };
        ready_at.map(|at| at.max(self.peak_free_at))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reserve(&mut self, packets: usize, flows: usize) {
        self.store.reserve(packets);
        self.connections.reserve(flows);
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

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let connections = self.connections.stats();
        visit("connections seen", connections.joined);
        visit("connections evicted", connections.evicted);
        self.stats.visit(visit);
    }
}
