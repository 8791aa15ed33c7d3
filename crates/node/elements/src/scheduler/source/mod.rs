//! The output-link scheduler of a source host (Noureddine & Tobagi 2002, §6.2, Figure 11).

mod earliest;
mod outlook;
mod overflow;
mod params;
mod regulator;
mod round;

use std::sync::Arc;

use hashbrown::HashTable;
use shortflow_packet::Packet;
use shortflow_units::{Instant, Rng};

use self::earliest::Earliest;
use self::outlook::{Head, Outlook};
pub use self::params::{ConnectionRule, SourceLimits, SourceParams, SourceSettings};
use self::regulator::Regulator;
use self::round::{Connection, First, Rounds};
use crate::flow_hash::FlowHash;
use crate::packet_store::PacketStore;
use crate::queue::fits;
use crate::{Backlog, DropReason, Drops, QueueDiscipline, Queued, Verdict};

/// HIGH, MED, LOW by number; LOW is the last and needs no tokens.
const LOW: usize = 2;

/// The scheduler and shaper of a source host's output link over its connections (Noureddine & Tobagi
/// 2002, §6.2, Figure 11).
///
/// ```text
///            one FIFO per connection     in class order; in a class HIGH,
///                                        then MED, then LOW; connections in turn
///            ┌ class 1: ▤ ▤ ─┐
/// packet ──▶ ┼ class 2: ▤ ▤ ▤ ┼──▶ tokens of HIGH ──▶
///            └ class 3: ▤ ▤ ─┘    tokens of MED  ──▶   ──▶ link
///                                 LOW, unregulated ─▶
/// ```
///
/// - A connection's packets are never reordered. Its head competes with other heads by class, then by the
///   priority of its code point.
/// - HIGH and MED packets leave only with tokens of their bucket; LOW packets need none.
/// - If a class has heads of a priority but tokens for none of them, lower classes send no head of that
///   priority either, however small.
/// - Inside a class, "any" packet of the priority with enough tokens is sent, starting with the connection
///   whose turn is next. A connection sends its weight in packets per turn.
/// - A head that was queued `remark_after` ago (200 ms, note 7) is remarked from HIGH to MED, and after
///   another such time to LOW. One that arrived as MED becomes LOW after the first. As in the paper, the time
///   counts from when the packet was queued, not from when it became the head.
///
/// Remarking is checked after each departure, and while no packet can leave. A packet that can leave stays
/// so, even if the line is busy and whatever else arrives, unless an arrival blocks it.
///
/// A connection gets the rule (class and weight) of the packet with which it begins to wait, and keeps it
/// until none of its packets waits.
///
/// When the limit of all connections is reached, the connection that exceeds its share most loses its newest
/// packet ([`DropReason::PushedOut`]): in the last waiting class, the one that holds most behind its first
/// packet relative to its weight. If that is the arrival's own, the arrival is dropped. An arrival is also
/// dropped, as [`DropReason::Overlimit`], if it exceeds the limit of its connection, or if the maximum number
/// of connections wait.
///
/// O(log n) per packet for n waiting connections, and one step per connection for a packet that is pushed
/// out: keeping an order by length would cost each packet of hosts that never fill their buffer. When tokens
/// are short, one step per connection that waits for them, and a sort of these when one is remarked before
/// tokens arrive. The next packet then depends on all of them.
///
/// Fields used for each packet come first, and tables grow to their maximum size, so that few cache lines are
/// used. A network has many hosts, most of them with few waiting connections.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SourceScheduler {
    regulators: [Regulator; LOW],
    backlog: Backlog,
    ready_at: Option<Instant>,
    params: Arc<SourceParams>,
    hash: FlowHash,
    rounds: Rounds,
    /// When the head of each connection is remarked.
    remarks: Earliest,
    connections: Vec<Connection>,
    store: PacketStore,
    /// The index in `connections` of a key's connection.
    places: HashTable<u32>,
    /// The connection of the last packet; the next packet often belongs to it too.
    latest: usize,
    free: Vec<u32>,
    outlook: Outlook,
}

impl SourceScheduler {
    /// An empty scheduler with full buckets. The hash of its table has a seed from `rng`.
    pub fn new(params: impl Into<Arc<SourceParams>>, mut rng: Rng) -> Self {
        let params = params.into();
        // The others are looked at packet by packet.
        let SourceSettings {
            limits: _,
            high,
            medium,
            remark_after: _,
            code_points: _,
            classifier: _,
            rules,
            otherwise,
        } = params.settings();
        let rules = rules.iter().chain([&otherwise]);
        let classes = rules.map(|rule| usize::from(rule.class)).max().unwrap_or(1);
        let regulators = [Regulator::new(high), Regulator::new(medium)];
        SourceScheduler {
            hash: FlowHash::seeded(&mut rng),
            places: HashTable::new(),
            latest: 0,
            connections: Vec::new(),
            free: Vec::new(),
            store: PacketStore::new(),
            rounds: Rounds::new(classes),
            remarks: Earliest::new(),
            regulators,
            outlook: Outlook::default(),
            backlog: Backlog::default(),
            ready_at: None,
            params,
        }
    }

    /// The data of `packet`, queued at `since`, as the head of its connection.
    #[inline]
    fn first(&self, packet: &Packet, since: Instant) -> First {
        let mark = usize::from(self.params.priority_of.get(packet.dscp));
        First { size: packet.size, mark, since }
    }

    /// The priority of `head` at `now`, after remarking, and the time of its next remark.
    #[inline]
    fn priority(&self, head: First, now: Instant) -> (usize, Instant) {
        let period = self.params.remark_after;
        let mut priority = head.mark;
        let mut remarked_at = head.since + period;
        while priority < LOW && remarked_at <= now {
            priority += 1;
            remarked_at += period;
        }
        (priority, if priority < LOW { remarked_at } else { Instant::NEVER })
    }

    fn earn_tokens(&mut self, now: Instant) {
        for regulator in &mut self.regulators {
            regulator.fill(now);
        }
    }

    /// Remarks the heads that are due by `until`, the earliest first.
    fn remark(&mut self, until: Instant) {
        while self.remarks.instant() <= until {
            let place = self.remarks.index();
            let at = self.remarks.instant();
            self.rounds.leave(&self.connections[place], place);
            self.join(place, at);
        }
    }

    /// The connection at `place` begins to wait. If a packet can already leave and only the line is busy,
    /// this does not make others be remarked earlier, unless it blocks that packet.
    fn arrive(&mut self, now: Instant, place: usize) {
        match self.ready_at.filter(|&ready_at| ready_at <= now) {
            Some(ready_at) => {
                self.remark(ready_at);
                self.join(place, now);
                if self.next().is_some() {
                    return;
                }
                self.remark(now);
            }
            None => {
                self.remark(now);
                self.join(place, now);
            }
        }
        self.ready_at = self.find_ready_at(now);
    }

    /// Adds the connection at `place`, whose head is new or remarked, to the end of the round of its head's
    /// priority at `now`.
    fn join(&mut self, place: usize, now: Instant) {
        let (priority, remarked_at) = self.priority(self.connections[place].head, now);
        self.connections[place].priority = priority as u8;
        self.rounds.join(&self.connections[place], place);
        self.remarks.set(place, remarked_at);
    }

    /// The index of the connection of `packet`, which arrives at `now`. A new index if none of its packets
    /// waits, if there is room.
    fn place(&mut self, now: Instant, packet: &Packet) -> Option<(usize, bool)> {
        if let Some(latest) = self.connections.get(self.latest)
            && latest.key == packet.key
            && !latest.packets.is_empty()
        {
            return Some((self.latest, false));
        }
        let hashed = self.hash.hash(&packet.key);
        let connections = &self.connections;
        let found =
            self.places.find(hashed, |&place| connections[place as usize].key == packet.key);
        if let Some(&place) = found {
            return Some((place as usize, false));
        }
        let rule = self.params.classifier.classify(packet);
        let rule = rule.map_or(self.params.otherwise, |rule| self.params.rules[rule]);
        let head = self.first(packet, now);
        let connection = Connection::new(packet.key, hashed, rule, head);
        let place = match self.free.pop() {
            Some(place) => {
                self.connections[place as usize] = connection;
                place
            }
            None if self.connections.len() < self.params.limits.connections => {
                self.connections.push(connection);
                self.rounds.add();
                (self.connections.len() - 1) as u32
            }
            None => return None,
        };
        let connections = &self.connections;
        self.places.insert_unique(hashed, place, |&at| connections[at as usize].hashed);
        Some((place as usize, true))
    }

    /// Sends the head of the connection at `place`, which is admitted with `priority`.
    fn send(&mut self, now: Instant, place: usize, priority: usize) -> Queued {
        let connection = &mut self.connections[place];
        let mark = connection.head.mark;
        let mut queued = connection.packets.pop(&mut self.store).expect("the head is there");
        self.backlog.remove(&queued.packet);
        if let Some(regulator) = self.regulators.get_mut(priority) {
            regulator.take(&queued.packet);
        }
        if priority != mark {
            queued.packet.dscp = self.params.code_points[priority];
        }
        connection.left -= 1;
        let Some(next) = connection.packets.first(&self.store) else {
            self.rounds.leave(connection, place);
            self.close(place);
            return queued;
        };
        let is_turn_over = connection.left == 0;
        if is_turn_over {
            connection.left = connection.weight;
        }
        let head = self.first(&next.packet, next.since);
        self.connections[place].head = head;
        let (next_priority, remarked_at) = self.priority(head, now);
        let comes_last = is_turn_over && !self.rounds.is_alone(&self.connections[place]);
        if comes_last || next_priority != priority {
            self.rounds.leave(&self.connections[place], place);
            self.join(place, now);
        } else {
            self.remarks.set(place, remarked_at);
        }
        queued
    }

    fn close(&mut self, place: usize) {
        let hashed = self.connections[place].hashed;
        let found = self.places.find_entry(hashed, |&at| at as usize == place);
        found.expect("a connection that waits is in the hash table").remove();
        self.free.push(place as u32);
        self.remarks.set(place, Instant::NEVER);
    }

    /// Whether `packet` fits under the limits, if its connection holds `held`.
    #[inline]
    fn has_room_for(&self, packet: &Packet, held: Backlog) -> bool {
        let SourceLimits { limit, limit_per_connection, .. } = self.params.limits;
        fits(limit, self.backlog, packet)
            && limit_per_connection.is_none_or(|limit| fits(limit, held, packet))
    }

    /// Takes the tokens of the arriving `packet`, if there are enough.
    #[inline]
    fn take_tokens(&mut self, now: Instant, packet: &Packet) -> bool {
        let priority = usize::from(self.params.priority_of.get(packet.dscp));
        let Some(regulator) = self.regulators.get_mut(priority) else { return true };
        regulator.fill(now);
        let is_admitted = regulator.admits(packet.size);
        if is_admitted {
            regulator.take(packet);
        }
        is_admitted
    }

    /// The connection that may send, with the tokens and remarks of the last check, and the priority of its
    /// head.
    fn next(&self) -> Option<(usize, usize)> {
        let mut is_blocked = [false; LOW];
        for round in self.rounds.waiting() {
            let priority = round.priority;
            let mut places = self.rounds.places(round);
            let Some(is_blocked) = is_blocked.get_mut(priority) else {
                return places.next().map(|place| (place, LOW));
            };
            if *is_blocked {
                continue;
            }
            let regulator = &self.regulators[priority];
            let admitted =
                places.find(|&place| regulator.admits(self.connections[place].head.size));
            if let Some(place) = admitted {
                return Some((place, priority));
            }
            *is_blocked = true;
        }
        None
    }

    /// When the next packet can leave, from `now` on: at once, or when it has tokens, or when it is remarked.
    fn find_ready_at(&mut self, now: Instant) -> Option<Instant> {
        if self.backlog.packets == 0 {
            return None;
        }
        if self.next().is_some() {
            return Some(now);
        }
        let mut outlook = std::mem::take(&mut self.outlook);
        let heads = self.rounds.regulated().map(|(class, place)| {
            let head = self.connections[place].head;
            let (priority, remarked_at) = self.priority(head, now);
            Head { priority, rank: (class, head.size), remarked_at }
        });
        let period = self.params.remark_after;
        let leaves = outlook.first_leaves(now, heads, period, &self.regulators);
        self.outlook = outlook;
        Some(leaves)
    }
}

impl QueueDiscipline for SourceScheduler {
    fn reserve(&mut self, packets: usize, flows: usize) {
        let SourceScheduler { connections, places, rounds, .. } = self;
        let flows = flows.min(self.params.limits.connections);
        let more = flows.saturating_sub(connections.len());
        connections.reserve(more);
        rounds.reserve(more);
        // Twice the connections: removals then never make it grow, but only rehash in place.
        let more = (2 * flows).saturating_sub(places.len());
        places.reserve(more, |&at| connections[at as usize].hashed);
        self.free.reserve(flows.saturating_sub(self.free.len()));
        self.remarks.reserve(flows);
        self.outlook.reserve(flows);
        self.store.reserve(packets);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let Some((place, is_new)) = self.place(now, &packet) else {
            return drops.push(packet, DropReason::Overlimit);
        };
        self.latest = place;
        let held = self.connections[place].packets.backlog();
        if !self.has_room_for(&packet, held) && !self.make_room(now, place, &packet, drops) {
            if is_new {
                self.close(place);
            }
            return drops.push(packet, DropReason::Overlimit);
        }
        self.backlog.add(&packet);
        let queued = Queued { packet, since: now };
        self.connections[place].packets.push(&mut self.store, queued);
        if is_new {
            self.earn_tokens(now);
            self.arrive(now, place);
        }
    }

    /// If no packet waits, a packet with enough tokens leaves at once, and joins no round.
    #[inline]
    fn pass(&mut self, now: Instant, packet: &Packet) -> Option<Verdict> {
        let passes = self.backlog.packets == 0
            && self.has_room_for(packet, Backlog::default())
            && self.take_tokens(now, packet);
        passes.then_some(Verdict::Pass)
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        let ready_at = self.ready_at.filter(|&ready_at| ready_at <= now)?;
        self.earn_tokens(now);
        // A packet that could leave at `ready_at` still can. If its head was due for a remark since then, it
        // waited for the line, not for tokens.
        self.remark(ready_at);
        let (place, priority) = self.next().expect("at `ready_at` a packet can go");
        let queued = self.send(now, place, priority);
        self.remark(now);
        self.ready_at = self.find_ready_at(now);
        Some(queued)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.ready_at
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
