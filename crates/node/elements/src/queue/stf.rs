//! Smallest Transmitted Flow first, which is continuous least attained service (LAS).
//!
//! Guo, Zhu, Zhang & Zhang 2005 (HARP), §2.2: for every flow a `trans_count` records "the number of
//! bytes that have been served. The flow with the smallest trans_count has the highest priority."
//! Bytes count when they leave the queue. Rai, Urvoy-Keller & Biersack 2003 analyse it as LAS.

use std::cmp::Reverse;

use shortflow_packet::{FlowKey, Packet};
use shortflow_units::{Duration, Instant, Length, Rng};

use super::ranking::Ranking;
use super::ring::checked_limit;
use crate::flow_hash::FlowHash;
use crate::flow_map::FlowMap;
use crate::params::above_zero;
use crate::slab::{List, Slab, Slot};
use crate::{Backlog, DropReason, Drops, ParamsError, QueueDiscipline, Queued};

/// Parameters of an [`Stf`].
#[derive(Debug, Clone)]
pub struct StfParams {
    limit: Length,
    max_flows: usize,
    idle_timeout: Duration,
}

/// The settings of a [`StfParams`], as [`StfParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct StfSettings {
    /// The limit of the queue.
    pub limit: Length,
    /// The limit on remembered flows.
    pub max_flows: usize,
    /// The idle time after which a flow is forgotten.
    pub idle_timeout: Duration,
}

impl StfParams {
    /// A queue with this `limit`, not counting the packet in transmission. It remembers at most `max_flows`
    /// flows, each until it has had no packet in the queue for longer than `idle_timeout`.
    pub fn new(
        limit: Length,
        max_flows: usize,
        idle_timeout: Duration,
    ) -> Result<Self, ParamsError> {
        let limit = checked_limit(limit)?;
        let max_flows = above_zero("flows", max_flows)?;
        Ok(StfParams { limit, max_flows, idle_timeout: above_zero("idle_timeout", idle_timeout)? })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> StfSettings {
        let StfParams { limit, max_flows, idle_timeout } = self;
        StfSettings { limit: *limit, max_flows: *max_flows, idle_timeout: *idle_timeout }
    }

    /// The limit of the queue.
    pub fn limit(&self) -> Length {
        self.limit
    }

    /// The limit on remembered flows.
    pub fn max_flows(&self) -> usize {
        self.max_flows
    }

    /// The idle time after which a flow is forgotten.
    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }
}

/// Serves the flow that has sent the fewest bytes so far; if several are equal, the one whose first packet
/// arrived first. A flow is a 5-tuple. First in, first out within a flow.
///
/// When the buffer is full, an arrival pushes out the newest packet of the flow in the queue that has sent
/// most ([`DropReason::PushedOut`]). If that flow has not sent more than the arrival's own, the arrival is
/// dropped ([`DropReason::Overlimit`]). Under a limit in bytes an arrival may push out several packets, and
/// may still be dropped.
///
/// The table of flows is limited. A flow with packets in the queue is never removed. Other flows are removed
/// after the idle timeout. In a full table a new flow replaces the one that has been idle longest. A removed
/// flow starts again at zero bytes. If all flows of a full table have packets in the queue, the first packet
/// of a new flow is dropped. O(log n) per packet, with n flows in the queue.
#[derive(Debug)]
pub struct Stf {
    params: StfParams,
    flows: FlowMap<FlowKey, Flow>,
    packets: Slab<Held>,
    backlog: Backlog,
    /// The number of packets accepted: the number of the next one.
    taken: u64,
    /// Flows with packets in the queue; the first is served next.
    next: Ranking<Rank>,
    /// The same; the first loses a packet next.
    last: Ranking<Reverse<Rank>>,
    /// The other flows, the longest idle first.
    silent: List,
    silences: Slab<Silence>,
}

#[derive(Debug)]
struct Flow {
    /// trans_count in the paper: bytes that have left.
    served: u64,
    packets: List,
    /// Its entry among the idle flows, while it has no packet.
    silence: Slot,
}

#[derive(Debug)]
struct Held {
    number: u64,
    queued: Queued,
}

#[derive(Debug)]
struct Silence {
    flow: u32,
    since: Instant,
}

/// Bytes that have left, then the number of the flow's first packet.
type Rank = (u64, u64);

impl Stf {
    /// An empty queue. The hash of its table has a seed from `rng`.
    pub fn new(params: StfParams, mut rng: Rng) -> Self {
        Stf {
            params,
            flows: FlowMap::new(FlowHash::seeded(&mut rng), 0),
            packets: Slab::new(),
            backlog: Backlog::default(),
            taken: 0,
            next: Ranking::new(),
            last: Ranking::new(),
            silent: List::EMPTY,
            silences: Slab::new(),
        }
    }

    /// The number of remembered flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    #[inline]
    fn has_room_for(&self, packet: &Packet) -> bool {
        match self.params.limit {
            Length::Packets(limit) => self.backlog.packets < limit,
            Length::Bytes(limit) => self.backlog.bytes + packet.bytes() <= limit,
        }
    }

    /// Pushes out packets of flows that have sent more than `served` bytes until `packet` fits. Returns false
    /// if it does not fit in the end.
    fn make_room(&mut self, now: Instant, served: u64, packet: &Packet, drops: &mut Drops) -> bool {
        if matches!(self.params.limit, Length::Bytes(limit) if packet.bytes() > limit) {
            return false;
        }
        while !self.has_room_for(packet) {
            let Some((Reverse((max, _)), flow)) = self.last.first() else { return false };
            if max <= served {
                return false;
            }
            let held = self.packets.pop_back(&mut self.flows[flow].packets);
            let packet = held.expect("a ranked flow has a packet").queued.packet;
            self.backlog.remove(&packet);
            drops.push(packet, DropReason::PushedOut);
            if self.flows[flow].packets.is_empty() {
                self.fall_silent(now, flow);
            }
        }
        true
    }

    /// Removes flows that have been idle for too long: each once, so O(1) per packet on average.
    fn forget_silent(&mut self, now: Instant) {
        while let Some(silence) = self.silences.front(self.silent)
            && now.since(silence.since) > self.params.idle_timeout
        {
            self.forget_longest_silent();
        }
    }

    fn forget_longest_silent(&mut self) {
        let silence = self.silences.pop_front(&mut self.silent);
        self.flows.remove(silence.expect("some flow is silent").flow);
    }

    /// Whether the table has room for a new flow.
    fn admits(&self) -> bool {
        self.flows.len() < self.params.max_flows || !self.silent.is_empty()
    }

    fn admit(&mut self, now: Instant, key: FlowKey) -> u32 {
        if self.flows.len() == self.params.max_flows {
            self.forget_longest_silent();
        }
        let flow = Flow { served: 0, packets: List::EMPTY, silence: 0 };
        let flow = self.flows.insert(key, flow);
        self.stay_silent(now, flow);
        flow
    }

    fn fall_silent(&mut self, now: Instant, flow: u32) {
        self.next.remove(flow);
        self.last.remove(flow);
        self.stay_silent(now, flow);
    }

    fn stay_silent(&mut self, now: Instant, flow: u32) {
        let silence = Silence { flow, since: now };
        self.flows[flow].silence = self.silences.push_back(&mut self.silent, silence);
    }

    #[inline]
    fn rank(&mut self, flow: u32, number: u64) {
        let rank = (self.flows[flow].served, number);
        self.next.set(flow, rank);
        self.last.set(flow, Reverse(rank));
    }

    fn hold(&mut self, flow: u32, queued: Queued) {
        self.backlog.add(&queued.packet);
        let number = self.taken;
        self.taken += 1;
        let Flow { packets, silence, .. } = &mut self.flows[flow];
        let was_silent = packets.is_empty();
        self.packets.push_back(packets, Held { number, queued });
        if was_silent {
            self.silences.remove(&mut self.silent, *silence);
            self.rank(flow, number);
        }
    }
}

impl QueueDiscipline for Stf {
    fn reserve(&mut self, packets: usize, flows: usize) {
        let flows = flows.min(self.params.max_flows);
        self.packets.reserve(packets);
        self.flows.reserve(flows);
        self.silences.reserve(flows);
        self.next.reserve(flows);
        self.last.reserve(flows);
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        self.forget_silent(now);
        let known = self.flows.find(&packet.key);
        let served = known.map_or(0, |flow| self.flows[flow].served);
        let is_admitted = known.is_some() || self.admits();
        if !is_admitted || !self.make_room(now, served, &packet, drops) {
            return drops.push(packet, DropReason::Overlimit);
        }
        let flow = known.unwrap_or_else(|| self.admit(now, packet.key));
        self.hold(flow, Queued { packet, since: now });
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        let (_, first) = self.next.first()?;
        let flow = &mut self.flows[first];
        let held = self.packets.pop_front(&mut flow.packets)?;
        flow.served += u64::from(held.queued.packet.size);
        self.backlog.remove(&held.queued.packet);
        match self.packets.front(flow.packets).map(|held| held.number) {
            Some(number) => self.rank(first, number),
            None => self.fall_silent(now, first),
        }
        Some(held.queued)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        let (_, first) = self.next.first()?;
        self.packets.front(self.flows[first].packets).map(|held| held.queued.since)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
