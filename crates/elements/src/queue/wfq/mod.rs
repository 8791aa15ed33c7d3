//! Weighted fair queueing, packet by packet.
//!
//! Demers, Keshav & Shenker 1989 with weights, which is PGPS of Parekh & Gallager 1993: the packet
//! is sent next that a fluid server of the same rate, which serves all flows at once, would finish
//! first if no more came. So no packet is finished later than the fluid server would by more than
//! the time of the largest packet (Parekh & Gallager 1993, Theorem 1).

mod gps;
mod params;

use shortflow_units::{Instant, Length, Rate, Rng};

use self::gps::{Gps, virtual_time_per_byte};
pub use self::params::{Share, Weight, WfqClass, WfqParams};
use super::ranking::Ranking;
use crate::flow_hash::{FlowHash, Hashed};
use crate::flow_map::FlowMap;
use crate::slab::{List, Slab};
use crate::{Backlog, DropReason, Drops, FlowKey, Packet, QueueDiscipline, Queued};

/// Packet-by-packet Generalized Processor Sharing over classes, each one flow or with a flow for
/// every 5-tuple; first in, first out within a flow, and of packets that would finish at once the
/// one that came first.
///
/// An arrival that its class or flow has no room for is dropped ([`DropReason::Overlimit`]), and
/// the fluid server never sees it. A flow of a class is known from its first packet until both
/// servers are through with its last, when nothing of it matters any more: there is no table to
/// bound beside the limits.
///
/// The fluid server is as busy as the line is. It goes on at the line's rate, but by no more than
/// what was given to the line, and has done that when the host tells that it has
/// [`departed`](QueueDiscipline::departed): a line that turns out slower (headers that are not
/// counted, a shaper above) does not let it run ahead, and one that takes packets before it sends
/// them does not either. One step per rule to find the
/// class, then O(log n) per packet with n backlogged flows, over a busy period.
#[derive(Debug)]
pub struct Wfq {
    params: WfqParams,
    classes: Vec<ClassState>,
    flows: FlowMap<Name, Flow>,
    packets: Slab<Held>,
    backlog: Backlog,
    /// Held by classes that have no limit of their own.
    shared: Backlog,
    /// How many packets were taken: the number of the next one.
    taken: u64,
    /// Flows with packets by their first packet's virtual finish time, then its number.
    next: Ranking<(u128, u64)>,
    gps: Gps,
    line: Line,
}

#[derive(Debug)]
struct ClassState {
    virtual_time_per_byte: u128,
    /// The one flow of a class that is served as such.
    flow: Option<u32>,
    backlog: Backlog,
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

/// What was given to the line and is being sent.
#[derive(Debug)]
struct Line {
    bits_per_sec: u64,
    /// What the fluid server has not done of it, in nanobits.
    left: u128,
    at: Instant,
    /// The host tells when a packet has left the line.
    is_told: bool,
}

impl Line {
    fn start(&mut self, now: Instant, packet: &Packet) {
        self.left += u128::from(packet.size) * 8_000_000_000;
        self.at = self.at.max(now);
    }

    /// The work since the last look: no more than what was given.
    fn work_until(&mut self, now: Instant) -> u128 {
        let elapsed = u128::from(now.since(self.at).nanos());
        let work = self.left.min(elapsed * u128::from(self.bits_per_sec));
        self.left -= work;
        self.at = self.at.max(now);
        work
    }

    /// All that is left: what was given is sent.
    fn finish(&mut self) -> u128 {
        std::mem::take(&mut self.left)
    }
}

impl Wfq {
    /// An empty queue for a line of `rate`, above zero; its table hashes under a seed from `rng`.
    pub fn new(params: WfqParams, rate: Rate, mut rng: Rng) -> Self {
        assert!(!rate.is_zero(), "a line has a rate above zero");
        let mut flows = FlowMap::new(FlowHash::seeded(&mut rng), params.classes.len());
        let mut classes = Vec::new();
        for (class, WfqClass { weight, share, .. }) in (0..).zip(&params.classes) {
            let flow = Flow { class, packets: List::EMPTY, backlog: Backlog::default() };
            let name = Name { class, key: FlowKey::default() };
            classes.push(ClassState {
                virtual_time_per_byte: virtual_time_per_byte(weight.value()),
                flow: (*share == Share::Class).then(|| flows.insert(name, flow)),
                backlog: Backlog::default(),
            });
        }
        Wfq {
            params,
            classes,
            flows,
            packets: Slab::new(),
            backlog: Backlog::default(),
            shared: Backlog::default(),
            taken: 0,
            next: Ranking::new(),
            gps: Gps::new(),
            line: Line {
                bits_per_sec: rate.bits_per_sec(),
                left: 0,
                at: Instant::START,
                is_told: false,
            },
        }
    }

    /// How many flows are known, those of classes that are one flow among them.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    fn has_room_for(&self, packet: &Packet, class: usize, flow: Option<u32>) -> bool {
        let WfqClass { limit, share, .. } = self.params.classes[class];
        let fits_class = match limit {
            Some(limit) => fits(packet, self.classes[class].backlog, limit),
            None => self.params.shared_limit.is_none_or(|limit| fits(packet, self.shared, limit)),
        };
        let fits_flow = match share {
            Share::Flow { limit: Some(limit) } => {
                let held = flow.map_or(Backlog::default(), |flow| self.flows[flow].backlog);
                fits(packet, held, limit)
            }
            _ => true,
        };
        fits_class && fits_flow
    }

    /// Lets the fluid server do `work`; flows that nothing is left of are forgotten.
    fn serve(&mut self, work: u128) {
        if work == 0 {
            return;
        }
        let Wfq { gps, flows, classes, .. } = self;
        gps.serve(work, |flow| forget_if_done(flows, classes, flow));
    }

    /// The books in which a packet of `flow` counts.
    fn backlogs(&mut self, flow: u32) -> impl Iterator<Item = &mut Backlog> {
        let flow = &mut self.flows[flow];
        let class = flow.class as usize;
        let shared = self.params.classes[class].limit.is_none().then_some(&mut self.shared);
        [&mut self.backlog, &mut self.classes[class].backlog, &mut flow.backlog]
            .into_iter()
            .chain(shared)
    }
}

fn fits(packet: &Packet, held: Backlog, limit: Length) -> bool {
    match limit {
        Length::Packets(limit) => held.packets < limit,
        Length::Bytes(limit) => held.bytes + packet.bytes() <= limit,
    }
}

/// Forgets `flow`, which the fluid server is through with, unless it has packets or is a class.
fn forget_if_done(flows: &mut FlowMap<Name, Flow>, classes: &[ClassState], flow: u32) {
    let Flow { class, packets, .. } = flows[flow];
    if packets.is_empty() && classes[class as usize].flow.is_none() {
        flows.remove(flow);
    }
}

impl QueueDiscipline for Wfq {
    fn reserve(&mut self, packets: usize, flows: usize) {
        // A flow is known a little longer than its packets are held.
        let flows = self.classes.len() + flows;
        self.packets.reserve(packets);
        self.flows.reserve(flows);
        self.next.reserve(flows);
        self.gps.reserve(flows);
    }

    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let work = self.line.work_until(now);
        self.serve(work);
        let class = self.params.classifier.classify(&packet).unwrap_or(self.params.otherwise);
        let name = Name { class: class as u32, key: packet.key };
        let known = self.classes[class].flow.or_else(|| self.flows.find(&name));
        if !self.has_room_for(&packet, class, known) {
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
        self.backlogs(flow).for_each(|backlog| backlog.add(&packet));
        let number = self.taken;
        self.taken += 1;
        let list = &mut self.flows[flow].packets;
        if list.is_empty() {
            self.next.set(flow, (finish, number));
        }
        let queued = Queued { packet, since: now };
        self.packets.push_back(list, Held { finish, number, queued });
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut Drops) -> Option<Queued> {
        // Of a host that does not tell, the line asks for the next packet when this one is sent.
        let work = if self.line.is_told { self.line.work_until(now) } else { self.line.finish() };
        self.serve(work);
        let (_, flow) = self.next.first()?;
        let list = &mut self.flows[flow].packets;
        let queued = self.packets.pop_front(list)?.queued;
        match self.packets.front(*list) {
            Some(head) => self.next.set(flow, (head.finish, head.number)),
            None => self.next.remove(flow),
        }
        self.backlogs(flow).for_each(|backlog| backlog.remove(&queued.packet));
        self.line.start(now, &queued.packet);
        if !self.gps.is_backlogged(flow) {
            forget_if_done(&mut self.flows, &self.classes, flow);
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
        self.line.is_told = true;
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
