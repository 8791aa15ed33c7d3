//! Weighted fair queueing, packet by packet.
//!
//! The algorithm of Demers, Keshav & Shenker 1989 with weights, which is PGPS of Parekh & Gallager 1993. A
//! fluid server of the same rate serves all flows at the same time. The next packet is the one that it would
//! finish first if no more arrived. No packet finishes later than in the fluid server by more than the
//! transmission time of the largest packet (Parekh & Gallager 1993, Theorem 1).

mod gps;
mod params;
mod pool;

use shortflow_packet::{FlowKey, Packet};
use shortflow_units::{Instant, Rate, Rng};

use self::gps::{Gps, virtual_time_per_byte};
pub use self::params::{
    Share, Weight, WfqClass, WfqClassSettings, WfqParams, WfqSettings, WhenFull,
};
use self::pool::{Pool, RelativeLength};
use super::ranking::Ranking;
use super::ring::fits;
use crate::flow_hash::{FlowHash, Hashed};
use crate::flow_map::FlowMap;
use crate::slab::{List, Slab};
use crate::{Backlog, DropReason, Drops, QueueDiscipline, Queued};

/// Packet-by-packet Generalized Processor Sharing over classes, each one flow or with one flow per 5-tuple.
/// Packets of a flow are first in, first out. If several packets would finish at the same time, the one that
/// arrived first is sent first.
///
/// If flows share a limit and an arrival does not fit, the flow that holds most behind its first packet,
/// relative to its weight, loses its newest packets ([`DropReason::PushedOut`]) until the arrival fits. If
/// that is the arrival's own flow, or the limit belongs to one flow, the arrival is dropped
/// ([`DropReason::Overlimit`]). Each flow therefore has room for a packet, however small its weight, and for
/// its part of the rest of the limit. Within it, it loses nothing to a flood of other flows.
/// [`WhenFull::TailDrop`] has no such protection. Under a limit in bytes, packets may be pushed out for an
/// arrival that is dropped in the end, if its flow has become the longest. The fluid server never sees
/// dropped arrivals, and forgets packets that are pushed out. A flow of a class is known from its first
/// packet until both servers have finished its last one. No table needs a limit besides these.
///
/// The fluid server is as busy as the line. It works at the line's rate, up to the work given to the line. It
/// has finished that work when the host reports that the packet has [`departed`](QueueDiscipline::departed).
/// A slower line (uncounted headers, a shaper above) does not let it run ahead, and neither does a line that
/// accepts packets early. One step per rule to find the class, then O(log n) per packet with n backlogged
/// flows, on average over a busy period.
#[derive(Debug)]
pub struct Wfq {
    params: WfqParams,
    classes: Vec<ClassState>,
    flows: FlowMap<Name, Flow>,
    packets: Slab<Held>,
    backlog: Backlog,
    /// One for each class with its own limit, one for all others.
    pools: Vec<Pool>,
    /// The number of packets accepted: the number of the next one.
    taken: u64,
    /// Flows with packets, by the virtual finish time of their first packet, then by its number.
    next: Ranking<(u128, u64)>,
    gps: Gps,
    line: Line,
}

#[derive(Debug)]
struct ClassState {
    virtual_time_per_byte: u128,
    /// The flow of a class that is served as one flow.
    flow: Option<u32>,
    /// The limit of its packets.
    pool: usize,
    /// Packets that arrived.
    came: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Name {
    class: u32,
    key: FlowKey,
}

impl Hashed for Name {
    #[inline]
    fn hashed(&self, seed: u64) -> u64 {
        self.key.hashed(seed ^ u64::from(self.class))
    }
}

#[derive(Debug)]
struct Flow {
    class: u32,
    packets: List,
    backlog: Backlog,
}

#[derive(Debug)]
struct Held {
    /// F: the virtual time at which the fluid server finishes the packet.
    finish: u128,
    number: u64,
    queued: Queued,
}

/// The packet that is being sent.
#[derive(Debug)]
struct Line {
    bits_per_sec: u64,
    /// The fluid server's remaining work on it, in nanobits.
    left: u128,
    at: Instant,
    /// The host reports when a packet has left the line.
    is_reported: bool,
}

impl Line {
    fn start(&mut self, now: Instant, packet: &Packet) {
        self.left += u128::from(packet.size) * 8_000_000_000;
        self.at = self.at.max(now);
    }

    /// The work since the last call, up to the work given.
    fn work_until(&mut self, now: Instant) -> u128 {
        let elapsed = u128::from(now.since(self.at).nanos());
        let work = self.left.min(elapsed * u128::from(self.bits_per_sec));
        self.left -= work;
        self.at = self.at.max(now);
        work
    }

    /// The rest of the work: the packet was sent.
    fn finish(&mut self) -> u128 {
        std::mem::take(&mut self.left)
    }
}

impl Wfq {
    /// An empty queue for a line of `rate`, above zero. The hash of its table has a seed from `rng`.
    pub fn new(params: WfqParams, rate: Rate, mut rng: Rng) -> Self {
        assert!(!rate.is_zero(), "a line has a rate above zero");
        let mut flows = FlowMap::new(FlowHash::seeded(&mut rng), params.classes.len());
        let (pools, pool_of) = pools(&params);
        let mut classes = Vec::new();
        for (class, WfqClass { weight, share, limit: _ }) in (0..).zip(&params.classes) {
            let flow = Flow { class, packets: List::EMPTY, backlog: Backlog::default() };
            let name = Name { class, key: FlowKey::default() };
            classes.push(ClassState {
                virtual_time_per_byte: virtual_time_per_byte(weight.value()),
                flow: (*share == Share::Class).then(|| flows.insert(name, flow)),
                pool: pool_of[class as usize],
                came: 0,
            });
        }
        Wfq {
            params,
            classes,
            flows,
            packets: Slab::new(),
            backlog: Backlog::default(),
            pools,
            taken: 0,
            next: Ranking::new(),
            gps: Gps::new(),
            line: Line {
                bits_per_sec: rate.bits_per_sec(),
                left: 0,
                at: Instant::START,
                is_reported: false,
            },
        }
    }

    /// The number of known flows, including classes that are one flow.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Whether `packet` fits under the own limit of its flow.
    fn fits_flow(&self, packet: &Packet, class: usize, flow: Option<u32>) -> bool {
        let Share::Flow { limit: Some(limit) } = self.params.classes[class].share else {
            return true;
        };
        let held = flow.map_or(Backlog::default(), |flow| self.flows[flow].backlog);
        fits(limit, held, packet)
    }

    /// Pushes out packets of flows that are longer, relative to weight, than the flow of `packet`, until it
    /// fits. Returns false if it does not fit in the end.
    fn make_room(
        &mut self,
        packet: &Packet,
        class: usize,
        flow: Option<u32>,
        drops: &mut Drops,
    ) -> bool {
        let at = self.classes[class].pool;
        if !self.pools[at].could_hold(packet) {
            return false;
        }
        while !self.pools[at].has_room_for(packet) {
            let own = self.own_length(packet, class, flow);
            let Wfq { pools, flows, packets, params, .. } = self;
            let length_of = |pool: &Pool, flow: u32| length_of(pool, &flows[flow], packets, params);
            match pools[at].longest(length_of) {
                Some((longest, victim)) if longest > own => self.push_out(victim, drops),
                _ => return false,
            }
        }
        true
    }

    /// The length of the flow of `packet` with this packet.
    fn own_length(&self, packet: &Packet, class: usize, flow: Option<u32>) -> RelativeLength {
        let flow = flow.map(|flow| &self.flows[flow]).filter(|flow| !flow.packets.is_empty());
        let Some(flow) = flow else { return 0 };
        let mut with_arrival = behind_first(flow, &self.packets);
        with_arrival.add(packet);
        let weight = self.params.classes[class].weight.value();
        self.pools[self.classes[class].pool].relative_length(with_arrival, weight)
    }

    /// Drops the newest packet of `flow`, which has more than one.
    fn push_out(&mut self, flow: u32, drops: &mut Drops) {
        let Flow { class, packets, .. } = &mut self.flows[flow];
        let class = *class as usize;
        let held = self.packets.pop_back(packets).expect("the longest has more than one");
        let packet = held.queued.packet;
        let length = u128::from(packet.size) * self.classes[class].virtual_time_per_byte;
        let weight = self.params.classes[class].weight.value();
        self.gps.take_back(flow, weight, length, held.finish);
        self.backlogs(flow).into_iter().for_each(|backlog| backlog.remove(&packet));
        drops.push(packet, DropReason::PushedOut);
    }

    /// Lets the fluid server do `work`. Flows without packets are removed.
    fn serve(&mut self, work: u128) {
        if work == 0 {
            return;
        }
        let Wfq { gps, flows, classes, pools, .. } = self;
        gps.serve(work, |flow| forget_if_done(flows, classes, pools, flow));
    }

    /// The totals that a packet of `flow` counts in.
    fn backlogs(&mut self, flow: u32) -> [&mut Backlog; 3] {
        let flow = &mut self.flows[flow];
        let pool = &mut self.pools[self.classes[flow.class as usize].pool];
        [&mut self.backlog, pool.held(), &mut flow.backlog]
    }
}

/// The limits, and the limit of each class.
fn pools(params: &WfqParams) -> (Vec<Pool>, Vec<usize>) {
    let pushes_out = params.when_full == WhenFull::PushOut;
    let mut pools = Vec::new();
    let sharing = || params.classes.iter().filter(|class| class.limit.is_none());
    if let Some(limit) = params.shared_limit {
        let is_shared = sharing().count() > 1 || sharing().any(|one| one.share != Share::Class);
        pools.push(Pool::new(limit, pushes_out && is_shared));
    }
    let pool_of = params.classes.iter().map(|class| {
        let Some(limit) = class.limit else { return 0 };
        pools.push(Pool::new(limit, pushes_out && class.share != Share::Class));
        pools.len() - 1
    });
    let pool_of = pool_of.collect();
    (pools, pool_of)
}

/// The length of `flow` behind its first packet relative to its weight, in the unit of its `pool`.
fn length_of(pool: &Pool, flow: &Flow, packets: &Slab<Held>, params: &WfqParams) -> RelativeLength {
    let weight = params.classes[flow.class as usize].weight.value();
    pool.relative_length(behind_first(flow, packets), weight)
}

fn behind_first(flow: &Flow, packets: &Slab<Held>) -> Backlog {
    let mut backlog = flow.backlog;
    if let Some(first) = packets.front(flow.packets) {
        backlog.remove(&first.queued.packet);
    }
    backlog
}

/// Removes `flow`, which the fluid server has finished, unless it has packets or is a class.
fn forget_if_done(
    flows: &mut FlowMap<Name, Flow>,
    classes: &[ClassState],
    pools: &mut [Pool],
    flow: u32,
) {
    let Flow { class, packets, .. } = flows[flow];
    let class = &classes[class as usize];
    if packets.is_empty() && class.flow.is_none() {
        flows.remove(flow);
        pools[class.pool].forget(flow);
    }
}

impl QueueDiscipline for Wfq {
    fn class_counts(&self, around: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize], u64)) {
        for (number, class) in self.classes.iter().enumerate() {
            around.push(number);
            visit(around, class.came);
            around.pop();
        }
    }

    fn reserve(&mut self, packets: usize, flows: usize) {
        // A flow is known a little longer than its packets are held.
        let flows = self.classes.len() + flows;
        self.packets.reserve(packets);
        self.flows.reserve(flows);
        self.next.reserve(flows);
        self.gps.reserve(flows);
        self.pools.iter_mut().for_each(|pool| pool.reserve(flows));
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let work = self.line.work_until(now);
        self.serve(work);
        let class = self.params.classifier.classify(&packet).unwrap_or(self.params.otherwise);
        self.classes[class].came += 1;
        let name = Name { class: class as u32, key: packet.key };
        let known = self.classes[class].flow.or_else(|| self.flows.find(&name));
        if !self.fits_flow(&packet, class, known) || !self.make_room(&packet, class, known, drops) {
            return drops.push(packet, DropReason::Overlimit);
        }
        if self.backlog.packets == 0 && self.gps.is_idle() {
            self.gps.restart();
        }
        let flow = known.unwrap_or_else(|| {
            let backlog = Backlog::default();
            self.flows.insert(name, Flow { class: name.class, packets: List::EMPTY, backlog })
        });
        let weight = self.params.classes[class].weight.value();
        let length = u128::from(packet.size) * self.classes[class].virtual_time_per_byte;
        let finish = self.gps.arrive(flow, weight, length);
        self.backlogs(flow).into_iter().for_each(|backlog| backlog.add(&packet));
        let number = self.taken;
        self.taken += 1;
        let list = &mut self.flows[flow].packets;
        if list.is_empty() {
            self.next.set(flow, (finish, number));
        }
        let queued = Queued { packet, since: now };
        self.packets.push_back(list, Held { finish, number, queued });
        let pool = &mut self.pools[self.classes[class].pool];
        if pool.pushes_out() {
            let length = length_of(pool, &self.flows[flow], &self.packets, &self.params);
            pool.grew(flow, length);
        }
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        // If the host does not report departures, a call for the next packet means that the previous one was
        // sent.
        let work =
            if self.line.is_reported { self.line.work_until(now) } else { self.line.finish() };
        self.serve(work);
        let (_, flow) = self.next.first()?;
        let list = &mut self.flows[flow].packets;
        let queued = self.packets.pop_front(list)?.queued;
        match self.packets.front(*list) {
            Some(head) => self.next.set(flow, (head.finish, head.number)),
            None => self.next.remove(flow),
        }
        self.backlogs(flow).into_iter().for_each(|backlog| backlog.remove(&queued.packet));
        self.line.start(now, &queued.packet);
        if !self.gps.is_backlogged(flow) {
            forget_if_done(&mut self.flows, &self.classes, &mut self.pools, flow);
        }
        Some(queued)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        let (_, flow) = self.next.first()?;
        self.packets.front(self.flows[flow].packets).map(|held| held.queued.since)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn departed(&mut self, now: Instant) {
        self.line.is_reported = true;
        self.line.at = self.line.at.max(now);
        let work = self.line.finish();
        self.serve(work);
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        assert!(!rate.is_zero(), "a line has a rate above zero");
        let work = self.line.work_until(now);
        self.serve(work);
        self.line.bits_per_sec = rate.bits_per_sec();
    }
}
