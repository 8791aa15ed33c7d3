//! The run loop: takes the earliest event, lets its entity act, and sets what follows from it.

use shortflow_elements::{DropReason, Drops, Dscp, Ecn, FlowId, Packet, SenderView, TcpHeader};
use shortflow_measure::Recorder;
use shortflow_tcp::Segment;
use shortflow_units::Instant;

use crate::application::Progress;
use crate::calendar::{Calendar, Entity};
use crate::entities::{Entities, Kind};
use crate::flow::{Flow, Flows, Side, endpoint_of, owner};
use crate::network::{Network, node_of};
use crate::pool::{Pool, Slot};
use crate::port::Changed;
use crate::routes::{NodeIndex, PortIndex};
use crate::sampler::Sampler;
use crate::source::{Emission, EphemeralPorts, Source, Stream};
use crate::tap::Tap;
use crate::timers::Timers;

/// A simulation under way.
pub(crate) struct Engine {
    pub(crate) network: Network,
    pub(crate) flows: Flows,
    pub(crate) sources: Vec<Source>,
    pub(crate) streams: Vec<Stream>,
    ephemeral: EphemeralPorts,
    pub(crate) sampler: Sampler,
    pub(crate) recorder: Recorder,
    entities: Entities,
    calendar: Calendar,
    timers: Timers,
    timers_set_for: Instant,
    pub(crate) pool: Pool,
    pub(crate) drops: Drops,
    pub(crate) now: Instant,
    pub(crate) tap: Option<Box<dyn Tap>>,
    pub(crate) totals: Totals,
}

/// What the whole network did, for the law of conservation and for speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets that reached the host they were for.
    pub delivered: u64,
    /// Packets dropped on the way.
    pub dropped: u64,
    /// Packets passed over a link.
    pub hops: u64,
    /// Delivered packets whose connection was gone; they are counted as delivered too.
    pub unclaimed: u64,
    /// Segments with data or a FIN that were sent again.
    pub retransmitted: u64,
    /// SYNs and SYN-ACKs that were sent again.
    pub syn_retransmitted: u64,
}

impl Totals {
    /// Adds what the ends of a connection have counted.
    pub(crate) fn add(&mut self, flow: &Flow) {
        for end in &flow.ends {
            let stats = end.tcp.stats();
            self.retransmitted += u64::from(stats.retransmitted_segments);
            self.syn_retransmitted += u64::from(stats.syn_retransmissions);
        }
    }
}

/// A flow name with this bit names a UDP stream.
const STREAM: u32 = 1 << 31;

/// How many events pass between two looks at the outside world.
const EVENTS_PER_LOOK: u32 = 1 << 15;

impl Engine {
    pub(crate) fn new(
        network: Network,
        sources: Vec<Source>,
        streams: Vec<Stream>,
        sampler: Sampler,
        recorder: Recorder,
    ) -> Self {
        let entities = Entities::new(&network, sources.len());
        let ephemeral = EphemeralPorts::new(network.nodes);
        let mut engine = Engine {
            network,
            flows: Flows::default(),
            sources,
            streams,
            ephemeral,
            sampler,
            recorder,
            calendar: Calendar::new(entities.count()),
            entities,
            timers: Timers::default(),
            timers_set_for: Instant::NEVER,
            pool: Pool::default(),
            drops: Drops::default(),
            now: Instant::START,
            tap: None,
            totals: Totals::default(),
        };
        for source in 0..engine.sources.len() {
            let at = engine.sources[source].next_at();
            engine.calendar.set(engine.entities.source(source), at);
        }
        engine.calendar.set(engine.entities.sampler(), engine.sampler.next_at());
        engine
    }

    /// Lets `tap` look on from now on.
    pub(crate) fn show_to(&mut self, tap: Option<Box<dyn Tap>>) {
        if let Some(tap) = &tap {
            self.network.show_to(tap.as_ref());
        }
        self.tap = tap;
    }

    /// The simulated time.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The last instant that the event queue can hold.
    pub(crate) fn horizon(&self) -> Instant {
        self.calendar.horizon()
    }

    /// Runs all events up to and including `until`. `look` is called now and then with the
    /// simulated time, and ends the run when it returns false.
    pub(crate) fn run(&mut self, until: Instant, mut look: impl FnMut(Instant) -> bool) -> bool {
        let mut events = 0;
        while let Some((at, entity)) = self.calendar.next() {
            if at > until {
                break;
            }
            self.now = at;
            self.act(entity);
            events += 1;
            if events == EVENTS_PER_LOOK {
                events = 0;
                if !look(at) {
                    return false;
                }
            }
        }
        self.now = until;
        true
    }

    #[inline]
    fn act(&mut self, entity: Entity) {
        match self.entities.kind(entity) {
            Kind::Arrival(port) => self.arrive(port),
            Kind::Departure(port) => {
                let hop = &mut self.network.ports[port as usize];
                let changed = hop.port.serve(self.now, &mut self.pool, &mut self.drops);
                self.after_port(port, changed);
            }
            Kind::Timers => self.expire_timers(),
            Kind::Source(source) => self.emit(source as usize),
            Kind::Sampler => self.sample(),
        }
    }

    /// A packet reaches the far end of a link.
    #[inline]
    fn arrive(&mut self, index: PortIndex) {
        let mut hop = &mut self.network.ports[index as usize];
        let mut slot = hop.port.arrive(&mut self.pool);
        let next = hop.port.arrives_at(&self.pool);
        self.calendar.set(self.entities.arrival(index), next);
        self.totals.hops += 1;
        if hop.far.is_some() {
            let Some(kept) = self.pass_far_end(index, slot) else { return };
            slot = kept;
            hop = &mut self.network.ports[index as usize];
        }
        let packet = self.pool.packet(&slot);
        hop.port.counters.forwarded(packet);
        let node = hop.to;
        let destination = node_of(packet.key.dst);
        if destination == node {
            self.deliver(slot);
        } else {
            self.send(self.network.routes.port(node, destination), slot, None);
        }
    }

    /// Hands a packet to a port, where the role bound to it conditions it first. `sender` is the
    /// state of the sending TCP, which only its own host can show.
    #[inline]
    fn send(&mut self, index: PortIndex, slot: Slot, sender: Option<&SenderView>) {
        let mut hop = &mut self.network.ports[index as usize];
        if hop.near.is_some() {
            let refused = self.pass_near_end(index, &slot, sender);
            hop = &mut self.network.ports[index as usize];
            if let Some(reason) = refused {
                let packet = self.pool.remove(slot);
                hop.port.counters.arrived(&packet);
                return self.drop_at(index, &packet, reason);
            }
        }
        let changed = hop.port.send(self.now, slot, &mut self.pool, &mut self.drops);
        self.after_port(index, changed);
    }

    /// Does what follows from a change at a port.
    #[inline]
    fn after_port(&mut self, index: PortIndex, changed: Changed) {
        let port = &self.network.ports[index as usize].port;
        if changed.arrival {
            self.calendar.set(self.entities.arrival(index), port.arrives_at(&self.pool));
        }
        if changed.departure {
            self.calendar.set(self.entities.departure(index), port.departs_at());
        }
        if !self.drops.is_empty() {
            self.account_drops(index);
        }
    }

    pub(crate) fn account_drops(&mut self, index: PortIndex) {
        let mut drops = std::mem::take(&mut self.drops);
        for dropped in drops.drain() {
            self.drop_at(index, &dropped.packet, dropped.reason);
        }
        self.drops = drops;
    }

    pub(crate) fn drop_at(&mut self, index: PortIndex, packet: &Packet, reason: DropReason) {
        self.totals.dropped += 1;
        self.show_dropped(index, packet, reason);
        self.network.ports[index as usize].port.counters.dropped(packet, reason);
        let color = self.network.colors.place(packet.dscp);
        if packet.flow.0 & STREAM != 0 {
            let stream = &self.streams[(packet.flow.0 & !STREAM) as usize];
            self.recorder.datagram_dropped(packet.sent_at, stream.workload);
        } else if let Some(flow) = self.flows.get_mut(packet.flow)
            && flow.receiver(&packet.key).is_some()
        {
            flow.tally.dropped += 1;
            flow.tally.marked[color] += 1;
        }
    }

    /// A packet has reached its host.
    #[inline]
    fn deliver(&mut self, slot: Slot) {
        self.totals.delivered += 1;
        let packet = self.pool.packet(&slot);
        let id = packet.flow;
        if id.0 & STREAM != 0 {
            let index = id.0 & !STREAM;
            let workload = self.streams[index as usize].workload;
            self.recorder.datagram(self.now, workload, index, self.now.since(packet.sent_at));
            return self.pool.release(slot);
        }
        let flow = self.flows.get_mut(id);
        let Some((flow, side)) = flow.and_then(|f| f.receiver(&packet.key).map(|side| (f, side)))
        else {
            self.totals.unclaimed += 1;
            return self.pool.release(slot);
        };
        flow.tally.marked[self.network.colors.place(packet.dscp)] += 1;
        let tcp = &mut flow.ends[side as usize].tcp;
        tcp.on_segment(self.now, &packet.tcp, packet.payload, packet.ecn);
        self.pool.release(slot);
        self.progress(id, side);
    }

    /// Tells the application and the recorder what an endpoint's TCP has got, then sends what it
    /// has to send.
    #[inline]
    fn progress(&mut self, id: FlowId, side: Side) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let workload = flow.workload();
        let end = &mut flow.ends[side as usize];
        let received = end.tcp.received();
        if received > end.delivered {
            self.recorder.goodput(self.now, workload, received - end.delivered);
            end.delivered = received;
        }
        if let Progress::Complete(transfer) = flow.on_progress(self.now, side) {
            self.recorder.transfer(&transfer);
        }
        self.transmit(id, side);
    }

    /// Sends what an endpoint has to send, sets its timer, and forgets a connection that is over.
    #[inline]
    fn transmit(&mut self, id: FlowId, side: Side) {
        let now = self.now;
        while let Some(flow) = self.flows.get_mut(id) {
            let end = &mut flow.ends[side as usize];
            let Some(segment) = end.tcp.poll_transmit(now) else { break };
            let node = end.node;
            flow.tally.sent += 1;
            let packet = packet_of(flow, side, id, &segment, now);
            self.leave_host(node, packet, segment.is_retransmission);
        }
        let Some(flow) = self.flows.get_mut(id) else { return };
        let end = &mut flow.ends[side as usize];
        self.timers.arm(owner(id, side), &mut end.armed, end.tcp.deadline());
        if flow.is_over() {
            if let Some((start, _)) = flow.unfinished() {
                self.recorder.failed_transfer(now, flow.workload(), start);
            }
            self.totals.add(flow);
            self.flows.remove(id);
        }
        self.set_timers();
    }

    /// A host sends a packet. A marker at its port may look at the sending TCP.
    #[inline]
    fn leave_host(&mut self, node: NodeIndex, packet: Packet, is_retransmission: bool) {
        self.totals.sent += 1;
        let index = self.network.routes.port(node, node_of(packet.key.dst));
        let sender = match &self.network.ports[index as usize].near {
            Some(_) => self.sender_view(&packet, is_retransmission),
            None => None,
        };
        let slot = self.pool.insert(packet);
        self.send(index, slot, sender.as_ref());
    }

    /// What a source host shows of the TCP that sends `packet`.
    fn sender_view(&mut self, packet: &Packet, is_retransmission: bool) -> Option<SenderView> {
        let flow = self.flows.get_mut(packet.flow)?;
        let side = flow.receiver(&packet.key.reversed())?;
        let view = flow.ends[side as usize].tcp.sender_view();
        Some(SenderView { is_retransmission, ..view })
    }

    #[inline]
    fn set_timers(&mut self) {
        let next = self.timers.next();
        if next != self.timers_set_for {
            self.timers_set_for = next;
            self.calendar.set(self.entities.timers(), next);
        }
    }

    fn expire_timers(&mut self) {
        while let Some((at, name)) = self.timers.pop(self.now) {
            let (id, side) = endpoint_of(name);
            let Some(flow) = self.flows.get_mut(id) else { continue };
            let end = &mut flow.ends[side as usize];
            if end.armed != at {
                continue;
            }
            end.armed = Instant::NEVER;
            if end.tcp.deadline() <= self.now {
                end.tcp.on_timer(self.now);
            }
            self.transmit(id, side);
        }
        self.set_timers();
    }

    /// A source has something to start or to send.
    fn emit(&mut self, index: usize) {
        match self.sources[index].emit(self.now, &mut self.ephemeral) {
            Some(Emission::Open(new)) => {
                let flow = Flow::new(new.key, new.nodes, &new.config, new.application);
                let id = self.flows.insert(flow);
                if let Some(flow) = self.flows.get_mut(id) {
                    flow.open(self.now);
                }
                self.transmit(id, Side::Client);
            }
            Some(Emission::Datagram { stream, size }) => self.send_datagram(stream, size),
            None => {}
        }
        let next = self.sources[index].next_at();
        self.calendar.set(self.entities.source(index), next);
    }

    fn send_datagram(&mut self, index: u32, size: u32) {
        let stream = &self.streams[index as usize];
        self.recorder.datagram_sent(self.now, stream.workload);
        let packet = Packet {
            sent_at: self.now,
            enqueued_at: self.now,
            flow: FlowId(index | STREAM),
            size,
            key: stream.key,
            dscp: stream.dscp,
            ecn: Ecn::NotEct,
            payload: size.saturating_sub(UDP_HEADERS) as u16,
            tcp: TcpHeader::default(),
        };
        let node = stream.node;
        self.leave_host(node, packet, false);
    }

    fn sample(&mut self) {
        let open = self.flows.len() as u32;
        self.sampler.sample(self.now, &mut self.network, &self.pool, open, &mut self.recorder);
        self.calendar.set(self.entities.sampler(), self.sampler.next_at());
    }

    /// The warm-up is over: what was counted so far counts no more.
    pub(crate) fn end_warm_up(&mut self) {
        for hop in &mut self.network.ports {
            hop.port.restart_counters(self.now, &self.pool);
        }
        self.sampler.restart();
        for flow in self.flows.iter_mut() {
            for end in &mut flow.ends {
                end.delivered_before = end.delivered;
            }
        }
    }

    /// The law of conservation over the whole network and at every port.
    ///
    /// # Panics
    /// When a packet was lost or made: our own mistake, never the input's.
    pub(crate) fn check_conservation(&self) {
        let mut held = 0;
        for (index, hop) in self.network.ports.iter().enumerate() {
            let inside = hop.port.held(&self.pool);
            held += inside.packets;
            if let Err(broken) = hop.port.counters.check(inside) {
                panic!("port {} breaks conservation: {broken}", self.network.port_names[index]);
            }
        }
        let Totals { sent, delivered, dropped, .. } = self.totals;
        assert_eq!(sent, delivered + dropped + held, "packets sent = delivered + dropped + held");
    }
}

/// Bytes of the UDP and IPv4 headers.
const UDP_HEADERS: u32 = 28;

#[inline]
fn packet_of(flow: &Flow, side: Side, id: FlowId, segment: &Segment, now: Instant) -> Packet {
    Packet {
        sent_at: now,
        enqueued_at: now,
        flow: id,
        size: u32::from(segment.payload) + u32::from(flow.header),
        key: flow.sent_key(side),
        dscp: Dscp::BEST_EFFORT,
        ecn: segment.ecn,
        payload: segment.payload,
        tcp: segment.header,
    }
}
