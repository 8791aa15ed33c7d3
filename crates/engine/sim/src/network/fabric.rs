//! The network in operation: ports, the packets in them, and their events.

use std::sync::Arc;

use shortflow_elements::{DropReason, Drops};
use shortflow_packet::{Packet, SenderUpdate, SenderView};
use shortflow_units::Instant;

use crate::event::calendar::{Calendar, Entity};
use crate::event::entities::{Entities, EntityKind};
use crate::host::flow::{Flow, Flows};
use crate::network::index::PortId;
use crate::network::layout::{Network, Roles};
use crate::network::pool::{Parcel, Pool, Resident};
use crate::network::port::{Changed, Passage};
use crate::network::prefetch::prefetch_element;
use crate::record::tap::Watcher;

/// Everything between hosts.
pub(crate) struct Fabric {
    pub(crate) network: Network,
    pub(crate) now: Instant,
    pub(crate) totals: Totals,
    pub(crate) pool: Pool,
    entities: Entities,
    calendar: Calendar,
    listens: bool,
    /// The ports whose queues withhold segments in the TCPs of their hosts, and those where some may go on.
    pub(super) asked: Vec<PortId>,
    pub(super) releasing: Vec<PortId>,
    /// The tap.
    pub(crate) watcher: Option<Watcher>,
    /// The packets that a queue has just dropped.
    pub(crate) drops: Drops,
    /// Dropped packets that hosts are not yet notified of.
    lost: Vec<Parcel>,
    /// Whether the policer of a host's port has ended the connection of the packet that was sent last.
    has_ended: bool,
    /// Whether hosts may have something to do after an event: a packet is lost, or a queue withholds segments.
    hosts_have_work: bool,
}

/// The totals of the whole network, for the check of conservation and for speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets that reached their host.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets passed over a link.
    pub hops: u64,
    /// Delivered packets whose connection no longer exists. They count as delivered too.
    pub unclaimed: u64,
    /// Retransmitted segments with data or a FIN.
    pub retransmitted: u64,
    /// Retransmitted SYNs and SYN-ACKs.
    pub syn_retransmitted: u64,
}

impl Totals {
    /// Adds the counters of both ends of a connection.
    pub(crate) fn add(&mut self, flow: &Flow) {
        for end in &flow.ends.0 {
            let stats = end.tcp.stats();
            self.retransmitted += u64::from(stats.retransmitted_segments);
            self.syn_retransmitted += u64::from(stats.syn_retransmissions);
        }
    }
}

impl Fabric {
    /// A network whose ports keep their queues.
    pub(crate) fn new(network: Network, sources: usize) -> Self {
        let entities = Entities::new(&network, sources, |port| !port.is_booked());
        Fabric::with(network, entities)
    }

    /// A network without sources, whose queues can be replaced.
    pub(crate) fn changeable(network: Network) -> Self {
        let entities = Entities::new(&network, 0, |_| true);
        Fabric::with(network, entities)
    }

    fn with(network: Network, entities: Entities) -> Self {
        let listens = network.ports.iter().any(|hop| hop.port.listens());
        let is_asked = |&index: &PortId| network.ports[index].port.is_asked();
        let asked: Vec<PortId> = PortId::first(network.ports.len()).filter(is_asked).collect();
        let pool = Pool::new(Arc::clone(&network.addresses));
        Fabric {
            network,
            listens,
            hosts_have_work: !asked.is_empty(),
            asked,
            releasing: Vec::new(),
            now: Instant::START,
            totals: Totals::default(),
            pool,
            calendar: Calendar::new(entities.count()),
            entities,
            watcher: None,
            drops: Drops::default(),
            lost: Vec::new(),
            has_ended: false,
        }
    }

    /// The last instant that the event queue can hold.
    pub(crate) fn horizon(&self) -> Instant {
        self.calendar.horizon()
    }

    /// The next event up to and including `until`, without removing it.
    #[inline]
    pub(crate) fn next(&self, until: Instant) -> Option<(Instant, Entity)> {
        self.calendar.next(until)
    }

    /// The kind of an entity.
    #[inline]
    pub(crate) fn kind(&self, entity: Entity) -> EntityKind {
        self.entities.kind(entity)
    }

    pub(crate) fn set_source(&mut self, source: usize, at: Instant) {
        self.calendar.set(self.entities.source(source), at);
    }

    pub(crate) fn set_sampler(&mut self, at: Instant) {
        self.calendar.set(self.entities.sampler(), at);
    }

    #[inline]
    pub(crate) fn set_timers(&mut self, at: Instant) {
        self.calendar.set(self.entities.timers(), at);
    }

    /// A packet reaches the far end of a link: it is forwarded, or delivered to its host, which may answer.
    /// Prefetches what the answer needs, and what the next packet on this link will need: the packet itself,
    /// and its connection (one of `flows`) if it is for the same host, else the last port on its path.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, index: PortId, flows: &Flows) -> Option<Parcel> {
        let ports = self.network.ports.as_ptr();
        let hop = &mut self.network.ports[index];
        if hop.through.is_some() {
            self.refuse_arrived(index);
            return None;
        }
        let mut parcel = hop.port.arrive(self.now);
        let node = hop.to;
        let mut next_at = Instant::NEVER;
        if let Some(next) = hop.port.next() {
            next_at = next.arrives;
            if next.parcel.to == node {
                self.pool.prefetch(&next.parcel);
                // The connection of this packet is accessed now anyway.
                if next.parcel.flow != parcel.flow {
                    flows.prefetch(next.parcel.flow);
                }
            } else {
                prefetch_element(ports, self.network.routes.last_hop(next.parcel.to).index());
            }
        }
        self.calendar.set(self.entities.arrival(index), next_at);
        self.totals.hops += 1;
        if hop.far.is_some() {
            parcel = self.pass_far_end(index, parcel)?;
        } else {
            hop.port.counters.forwarded(&parcel);
        }
        if parcel.to == node {
            self.totals.delivered += 1;
            let outlet = self.network.routes.only(node);
            prefetch_element(ports, outlet.index());
            if let Some(outlet) = self.network.ports.get(outlet) {
                outlet.prefetch_policy();
            }
            return Some(parcel);
        }
        self.send(self.network.routes.port(node, parcel.to), parcel, None);
        None
    }

    /// Hands a packet to a port, where the bound role conditions it first. `sender` is the state of the
    /// sending TCP, which only its own host can show.
    #[inline(always)]
    fn send(&mut self, index: PortId, parcel: Parcel, sender: Option<&SenderView>) {
        let hop = &mut self.network.ports[index];
        if hop.near.is_some() {
            return self.send_by_policy(index, parcel, sender);
        }
        if !hop.port.is_booked() {
            return self.queue(index, parcel);
        }
        self.join(index, parcel);
    }

    #[inline(never)]
    fn send_by_policy(&mut self, index: PortId, parcel: Parcel, sender: Option<&SenderView>) {
        let mut packet = self.pool.lend(parcel);
        if let Some(reason) = self.pass_near_end(index, &mut packet, sender) {
            let parcel = self.pool.take_back(packet);
            return self.refuse(index, parcel, reason);
        }
        if self.network.ports[index].port.is_booked() {
            let parcel = self.pool.take_back(packet);
            return self.join(index, parcel);
        }
        self.enqueue(index, packet);
    }

    /// A packet that is conditioned, or needs no conditioning, arrives at the queue of a port.
    #[inline(never)]
    fn queue(&mut self, index: PortId, parcel: Parcel) {
        if self.network.ports[index].port.is_booked() {
            return self.join(index, parcel);
        }
        let packet = self.pool.lend(parcel);
        self.enqueue(index, packet);
    }

    /// A packet, which is lent, joins a queue that decides at each departure.
    #[inline(never)]
    fn enqueue(&mut self, index: PortId, packet: Packet) {
        let port = &mut self.network.ports[index].port;
        let changed = port.enqueue(self.now, packet, &mut self.pool, &mut self.drops);
        self.after_port(index, changed);
    }

    /// A packet joins the queue of a port whose departures follow from arrivals.
    #[inline(always)]
    fn join(&mut self, index: PortId, mut parcel: Parcel) {
        let hop = &mut self.network.ports[index];
        let arrives = match hop.port.book(self.now, &mut parcel, &mut self.pool) {
            Ok(arrives) => arrives,
            Err(reason) => return self.refuse(index, parcel, reason),
        };
        if hop.through.is_some() {
            return self.hand_on(index, arrives, parcel);
        }
        if hop.port.carry(Passage { arrives, parcel }) {
            self.set_arrival(index, arrives);
        }
    }

    /// Puts a packet on a port's wire.
    #[inline(always)]
    pub(crate) fn carry(&mut self, index: PortId, passage: Passage) {
        let hop = &mut self.network.ports[index];
        if hop.through.is_some() {
            return self.hand_on(index, passage.arrives, passage.parcel);
        }
        let arrives = passage.arrives;
        if hop.port.carry(passage) {
            self.set_arrival(index, arrives);
        }
    }

    /// The next arrival at the far end of a port.
    #[inline]
    pub(crate) fn set_arrival(&mut self, index: PortId, at: Instant) {
        self.calendar.set(self.entities.arrival(index), at);
    }

    /// A port refuses a packet.
    #[cold]
    pub(crate) fn refuse(&mut self, index: PortId, parcel: Parcel, reason: DropReason) {
        self.network.ports[index].port.counters.arrived(parcel.arrival());
        self.drop_at(index, parcel, reason);
    }

    /// Whether a queue needs reports about senders.
    #[inline]
    pub(crate) fn listens(&self) -> bool {
        self.listens
    }

    /// Reports an event at a sender to the queue of its host's port.
    pub(crate) fn tell(&mut self, index: PortId, news: &SenderUpdate) {
        let hop = &mut self.network.ports[index];
        let changed = hop.port.tell(self.now, news, &mut self.pool, &mut self.drops);
        self.after_port(index, changed);
    }

    /// A port's line is free for the next packet.
    pub(crate) fn depart(&mut self, index: PortId) {
        let hop = &mut self.network.ports[index];
        let changed = hop.port.serve(self.now, &mut self.pool, &mut self.drops);
        self.after_port(index, changed);
    }

    /// Handles the consequences of a change at a port.
    #[inline(always)]
    pub(super) fn after_port(&mut self, index: PortId, changed: Changed) {
        if let Some(passage) = changed.sent {
            self.carry(index, passage);
        }
        if changed.departure {
            let departs_at = self.network.ports[index].port.departs_at();
            self.calendar.set(self.entities.departure(index), departs_at);
        }
        if !self.drops.is_empty() {
            self.account_drops(index);
        }
    }

    /// Gives a port other roles. Waiting packets move into the new queue.
    pub(crate) fn rebind(&mut self, index: PortId, roles: Roles) {
        let hop = &mut self.network.ports[index];
        hop.condition(roles.near, roles.far);
        let Roles { queue, limit, .. } = roles;
        let sent = hop.port.rebind(self.now, queue, limit, &mut self.pool, &mut self.drops);
        sent.into_iter().for_each(|passage| self.carry(index, passage));
        self.after_port(index, Changed { sent: None, departure: true });
    }

    #[cold]
    pub(crate) fn account_drops(&mut self, index: PortId) {
        let mut drops = std::mem::take(&mut self.drops);
        for dropped in drops.drain() {
            let parcel = self.pool.take_back(dropped.packet);
            self.drop_at(index, parcel, dropped.reason);
        }
        self.drops = drops;
    }

    pub(crate) fn drop_at(&mut self, index: PortId, parcel: Parcel, reason: DropReason) {
        self.totals.dropped += 1;
        self.show_dropped(index, &parcel, reason);
        self.network.ports[index].port.counters.dropped(&parcel, reason);
        self.lost.push(parcel);
        self.hosts_have_work = true;
    }

    /// Whether a host may have something to do after an event.
    #[inline]
    pub(crate) fn hosts_have_work(&self) -> bool {
        self.hosts_have_work
    }

    /// The hosts have done it.
    pub(crate) fn end_work_of_hosts(&mut self) {
        self.hosts_have_work = self.withholds();
    }

    /// Whether a policer has ended the connection of the packet that a host sent last; false from then on.
    #[inline]
    pub(crate) fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// Notes that a policer has ended the connection of a packet that leaves its host.
    pub(super) fn note_ended(&mut self) {
        self.has_ended = true;
    }

    /// Removes a dropped packet that its host is not yet notified of.
    pub(crate) fn take_lost(&mut self) -> Option<Parcel> {
        self.lost.pop()
    }

    /// A host sends a packet through one of its ports. An echo gets the code point of the data that it
    /// acknowledges; the policy does nothing else to it.
    #[inline(always)]
    pub(crate) fn leave_host(
        &mut self,
        index: PortId,
        packet: Resident,
        is_echo: bool,
        sender: Option<&SenderView>,
    ) {
        self.totals.sent += 1;
        let parcel = self.pool.insert(packet);
        if is_echo {
            return self.queue(index, parcel);
        }
        self.send(index, parcel, sender);
    }

    /// The warm-up ends: restarts all counters. Queueing times count until `until`.
    pub(crate) fn restart_counters(&mut self, until: Instant) {
        for hop in self.network.ports.iter_mut() {
            hop.port.restart_counters(self.now, until);
        }
    }

    /// Checks conservation over the whole network and at every port.
    ///
    /// # Panics
    /// If a packet was lost or created: a bug, never the input's fault.
    pub(crate) fn check_conservation(&self) {
        let mut held = 0;
        for (index, hop) in self.network.ports.iter().enumerate() {
            let inside = hop.port.held();
            held += inside.packets - hop.handed_on();
            if let Err(broken) = hop.port.counters.check(inside) {
                panic!("port {} breaks conservation: {broken}", self.network.port_names[index]);
            }
        }
        let Totals { sent, delivered, dropped, .. } = self.totals;
        assert_eq!(sent, delivered + dropped + held, "packets sent = delivered + dropped + held");
    }
}
