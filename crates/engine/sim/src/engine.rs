//! The run loop: takes the earliest event, lets its entity act, and sets the events that follow. Hosts are
//! handled here, the network between them in [`Fabric`].

use std::collections::BTreeMap;

use shortflow_measure::{End, Occasion, Recorder};
use shortflow_packet::{Dscp, Ecn, ObjectView, SenderView};
use shortflow_sessions::{ConnectionId, Sessions};
use shortflow_tcp::{Extent, Segment, TcpHeader};
use shortflow_units::{Bytes, Instant};

use crate::event::calendar::Entity;
use crate::event::entities::EntityKind;
use crate::event::timers::Timers;
use crate::host::application::{Application, Progress};
use crate::host::flow::{Endpoint, Flow, FlowId, Flows, Side, endpoint_of, owner};
use crate::host::output::transmit_as_allowed;
use crate::host::ports::EphemeralPorts;
use crate::host::sender_events::{Before, notify_if_blocked, notify_of_segment};
use crate::host::session::{PendingSend, World};
use crate::host::source::{Emission, Source, Stream, StreamId};
use crate::network::ends::Shown;
use crate::network::fabric::Fabric;
use crate::network::layout::Network;
use crate::network::pool::{Parcel, Resident};
use crate::record::flow_sampler::FlowSampler;
use crate::record::sampler::Sampler;
use crate::record::tcp_sampler::TcpSampler;

/// A running simulation.
pub(crate) struct Engine {
    pub(crate) fabric: Fabric,
    pub(crate) flows: Flows,
    pub(crate) recorder: Recorder,
    pub(crate) flow_sampler: FlowSampler,
    timers: Timers,
    timers_set_for: Instant,
    sources: Vec<Source>,
    streams: Vec<Stream>,
    pub(crate) ephemeral: EphemeralPorts,
    sampler: Sampler,
    pub(crate) tcp_sampler: TcpSampler,
    /// Connections with new data from sessions.
    pending_sends: Vec<PendingSend>,
    /// Reordered data packets, by the index of their workload.
    pub(crate) reordered: BTreeMap<u16, u64>,
}

/// Number of events between two calls of `look`.
const EVENTS_PER_LOOK: u32 = 1 << 15;

impl Engine {
    pub(crate) fn new(
        network: Network,
        mut sources: Vec<Source>,
        streams: Vec<Stream>,
        (sampler, flow_sampler, tcp_sampler): (Sampler, FlowSampler, TcpSampler),
        recorder: Recorder,
    ) -> Self {
        let ephemeral = EphemeralPorts::new(network.nodes);
        let mut fabric = Fabric::new(network, sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            fabric.set_source(index, source.next_at());
        }
        let next = sampler.next_at().min(flow_sampler.next_at()).min(tcp_sampler.next_at());
        fabric.set_sampler(next);
        Engine {
            fabric,
            flows: Flows::default(),
            recorder,
            flow_sampler,
            timers: Timers::default(),
            timers_set_for: Instant::NEVER,
            sources,
            streams,
            ephemeral,
            sampler,
            tcp_sampler,
            pending_sends: Vec::new(),
            reordered: BTreeMap::new(),
        }
    }

    /// Runs all events up to and including `until`. `look` is called from time to time with the simulated
    /// time, and ends the run if it returns false. [Exhausted](EphemeralPorts::exhausted) ports end it too.
    pub(crate) fn run(&mut self, until: Instant, look: &mut dyn FnMut(Instant) -> bool) -> bool {
        let mut events = 0;
        while let Some((at, entity)) = self.fabric.next(until) {
            debug_assert!(at >= self.fabric.now, "time does not go back");
            self.fabric.now = at;
            self.act(entity);
            events += 1;
            if events == EVENTS_PER_LOOK {
                events = 0;
                if self.ephemeral.exhausted().is_some() || !look(at) {
                    return false;
                }
            }
        }
        self.fabric.now = until;
        self.fabric.retire();
        self.ephemeral.exhausted().is_none()
    }

    #[inline(always)]
    fn act(&mut self, entity: Entity) {
        match self.fabric.kind(entity) {
            EntityKind::Arrival(port) => {
                if let Some(parcel) = self.fabric.arrive(port, &self.flows) {
                    self.deliver(parcel);
                }
            }
            EntityKind::Departure(port) => self.fabric.depart(port),
            EntityKind::Timers => self.expire_timers(),
            EntityKind::Source(source) => self.emit(source as usize),
            EntityKind::Sampler => self.sample(),
        }
        if self.fabric.hosts_have_work() {
            self.work_as_hosts();
        }
    }

    #[cold]
    fn work_as_hosts(&mut self) {
        self.release();
        self.account_lost();
        self.fabric.end_work_of_hosts();
    }

    /// Lets connections send whose segments a queue has withheld.
    fn release(&mut self) {
        while let Some(asker) = self.fabric.next_asker() {
            let (id, side) = endpoint_of(asker);
            if let Some(flow) = self.flows.get_mut(id) {
                let needs_care = transmit(flow, id, side, &mut self.fabric, &mut self.timers);
                self.after_transmit(id, needs_care);
            }
        }
    }

    /// Adds dropped packets to the records of their senders.
    fn account_lost(&mut self) {
        while let Some(parcel) = self.fabric.take_lost() {
            let packet = self.fabric.pool.packet(&parcel);
            if let Some(id) = StreamId::from_flow(packet.flow) {
                let stream = &self.streams[id.index()];
                self.recorder.datagram_dropped(packet.sent_at, stream.workload, id.0);
            } else if let Some(flow) = self.flows.get_mut(packet.flow)
                && flow.receiver(packet.key).is_some()
            {
                flow.tally.dropped += 1;
                flow.tally.marked[self.fabric.network.colors.place(packet.dscp)] += 1;
            }
            self.fabric.pool.release(parcel);
        }
    }

    /// A packet has reached its host.
    #[inline]
    fn deliver(&mut self, parcel: Parcel) {
        let packet = self.fabric.pool.packet(&parcel);
        let id = packet.flow;
        if let Some(stream) = StreamId::from_flow(id) {
            return self.deliver_datagram(stream, parcel);
        }
        let flow = self.flows.get_mut(id);
        let Some((flow, side)) = flow.and_then(|f| f.receiver(packet.key).map(|side| (f, side)))
        else {
            self.fabric.totals.unclaimed += 1;
            return self.fabric.pool.release(parcel);
        };
        let now = self.fabric.now;
        flow.tally.marked[self.fabric.network.colors.place(packet.dscp)] += 1;
        let end = &mut flow.ends[side];
        let is_bare = packet.payload == 0 && packet.tcp.flags.only_acknowledge();
        if !is_bare {
            end.received_dscp = packet.dscp;
        }
        if end.latest.is_before(packet) {
            *self.reordered.entry(flow.application.workload()).or_default() += 1;
        }
        let before = self.fabric.listens().then(|| Before::new(&end.tcp));
        end.tcp.on_segment(now, packet.sent_at, &packet.tcp, packet.payload, packet.ecn);
        let acknowledges_first = end.tcp.acknowledges_first();
        self.fabric.pool.release(parcel);
        let received = end.tcp.received();
        if received > end.delivered {
            let to = if side == Side::Client { End::Client } else { End::Server };
            let bytes = received - end.delivered;
            self.recorder.goodput(now, flow.application.workload(), to, bytes);
            end.delivered = received;
        }
        if let Some(before) = before {
            notify_of_segment(&mut self.fabric, flow, side, before, is_bare);
        }
        if acknowledges_first {
            acknowledge_first(flow, id, side, &mut self.fabric, &mut self.timers);
        }
        match flow.on_progress(now, side) {
            Progress::Nothing => {}
            Progress::Complete(transfer) => {
                self.recorder.transfer(&transfer);
                self.tcp_sampler.ended(now, Occasion::Completed, flow);
            }
            Progress::Heard => return self.converse(id, side, before),
        }
        let needs_care = transmit(flow, id, side, &mut self.fabric, &mut self.timers);
        if let Some(before) = &before {
            notify_if_blocked(&mut self.fabric, flow, side, before);
        }
        self.after_transmit(id, needs_care);
    }

    #[cold]
    fn deliver_datagram(&mut self, stream: StreamId, parcel: Parcel) {
        let now = self.fabric.now;
        let workload = self.streams[stream.index()].workload;
        let delay = now.since(self.fabric.pool.packet(&parcel).sent_at);
        self.recorder.datagram(now, workload, stream.0, delay);
        self.fabric.pool.release(parcel);
    }

    /// Handles the consequences of a transmission.
    #[inline]
    fn after_transmit(&mut self, id: FlowId, needs_care: bool) {
        if needs_care {
            self.care_for(id);
        }
        let next = self.timers.next();
        if next != self.timers_set_for {
            self.set_timers(next);
        }
    }

    /// Notifies the session of a connection that broke, and removes a connection that has ended.
    #[cold]
    fn care_for(&mut self, id: FlowId) {
        let Some(flow) = self.flows.get_mut(id) else { return };
        let (is_over, is_broken) = (flow.is_over(), flow.is_broken_unknown());
        if is_broken {
            flow.failed_at = self.fabric.now;
        }
        if let Some(link) = flow.dialogue().map(|dialogue| dialogue.link()).filter(|_| is_broken) {
            let connection = ConnectionId(id.0);
            self.consult(link.source, |sessions, world| {
                sessions.lost(world, link.session, connection);
            });
        }
        // A broken connection is removed when its other end, which may still be waiting, is notified too.
        if is_over {
            self.forget(id);
        }
    }

    fn forget(&mut self, id: FlowId) {
        let Some(flow) = self.flows.remove(id) else { return };
        for end in flow.ends.0.iter().filter(|end| end.is_withheld) {
            self.fabric.forget_asker(end.key);
        }
        self.fabric.totals.add(&flow);
        if let Some(transfer) = flow.unfinished() {
            let failed_at = flow.failed_at.min(self.fabric.now);
            self.tcp_sampler.ended(self.fabric.now, Occasion::Failed, &flow);
            self.recorder.failed_transfer(failed_at, &transfer);
        }
    }

    fn set_timers(&mut self, next: Instant) {
        self.timers_set_for = next;
        self.fabric.set_timers(next);
    }

    fn expire_timers(&mut self) {
        let now = self.fabric.now;
        while let Some((at, name)) = self.timers.pop(now) {
            let (id, side) = endpoint_of(name);
            let Some(flow) = self.flows.get_mut(id) else { continue };
            let end = &mut flow.ends[side];
            if end.armed != at {
                continue;
            }
            end.armed = Instant::NEVER;
            if end.tcp.deadline() <= now {
                end.tcp.on_timer(now);
            }
            if transmit(flow, id, side, &mut self.fabric, &mut self.timers) {
                self.care_for(id);
            }
        }
        self.set_timers(self.timers.next());
    }

    /// A source starts a connection or sends a datagram.
    fn emit(&mut self, index: usize) {
        let now = self.fabric.now;
        match self.sources[index].emit(now, &mut self.ephemeral, &self.flows) {
            Some(Emission::Open(new)) => {
                let flow = Flow::new(new.key, &new.config, new.application);
                let (id, flow) = self.flows.insert(flow);
                if let Some(watcher) = &mut self.fabric.watcher {
                    watcher.opens(
                        id,
                        flow.key().flow_key(&self.fabric.pool.addresses),
                        &new.config,
                    );
                }
                flow.open(now);
                let needs_care =
                    transmit(flow, id, Side::Client, &mut self.fabric, &mut self.timers);
                self.after_transmit(id, needs_care);
            }
            Some(Emission::Wake) => {
                self.consult(index as u32, |sessions, world| sessions.wake(world))
            }
            Some(Emission::Datagram { stream, size }) => self.send_datagram(stream, size),
            None => {}
        }
        self.fabric.set_source(index, self.sources[index].next_at());
    }

    /// Notifies a session that `side` of its connection has received a segment.
    #[cold]
    fn converse(&mut self, id: FlowId, side: Side, before: Option<Before>) {
        let flow = self.flows.get_mut(id);
        let link = flow.and_then(|flow| Some(flow.dialogue()?.link()));
        let link = link.expect("what is heard is of a session");
        let connection = ConnectionId(id.0);
        self.consult(link.source, |sessions, world| {
            sessions.heard(world, link.session, connection);
        });
        self.flush(id, side, before);
    }

    /// Lets sessions act, and sends what they write.
    fn consult(&mut self, source: u32, act: impl FnOnce(&mut Sessions, &mut World<'_>)) {
        let Source::Sessions { connections, sessions } = &mut self.sources[source as usize] else {
            unreachable!("a session belongs to a source of sessions")
        };
        let mut pending_sends = std::mem::take(&mut self.pending_sends);
        let mut world = World {
            now: self.fabric.now,
            connections,
            flows: &mut self.flows,
            recorder: &mut self.recorder,
            ports: &mut self.ephemeral,
            pending_sends: &mut pending_sends,
        };
        act(sessions, &mut world);
        self.fabric.set_source(source as usize, sessions.next_at());
        for PendingSend { id, is_new } in pending_sends.drain(..) {
            if let Some(flow) = self.flows.get_mut(id)
                && let Some(watcher) = &mut self.fabric.watcher
                && is_new
            {
                let key = flow.key().flow_key(&self.fabric.pool.addresses);
                watcher.opens(id, key, flow.ends[Side::Client].tcp.shared_config());
            }
            let flow = self.flows.get(id).filter(|_| self.fabric.listens());
            let before = flow.map(|flow| Before::writing(&flow.ends[Side::Client].tcp));
            self.flush(id, Side::Client, before);
        }
        self.pending_sends = pending_sends;
    }

    /// Sends the segments of one end of a connection.
    fn flush(&mut self, id: FlowId, side: Side, before: Option<Before>) {
        if let Some(flow) = self.flows.get_mut(id) {
            let needs_care = transmit(flow, id, side, &mut self.fabric, &mut self.timers);
            if let Some(before) = &before {
                notify_if_blocked(&mut self.fabric, flow, side, before);
            }
            self.after_transmit(id, needs_care);
        }
    }

    fn send_datagram(&mut self, id: StreamId, size: u32) {
        let now = self.fabric.now;
        let stream = &self.streams[id.index()];
        self.recorder.datagram_sent(now, stream.workload, id.0);
        let packet = Resident {
            sent_at: now,
            flow: id.flow(),
            size,
            key: stream.key,
            dscp: stream.dscp,
            ecn: Ecn::NotEct,
            payload: size.saturating_sub(stream.headers) as u16,
            tcp: TcpHeader::default(),
        };
        let (outlet, shown) = self.fabric.outlet(stream.node, stream.key.dst);
        let label = self.fabric.network.label(stream.workload);
        let shows_sender = shown != Shown::Nothing;
        let sender = shows_sender.then(|| SenderView { label, ..SenderView::default() });
        self.fabric.leave_host(outlet, packet, false, sender.as_ref());
    }

    /// At the end: records what sessions have not completed, besides the data of their connections.
    pub(crate) fn record_sessions(&mut self, name: impl Fn(u16) -> String) {
        for source in &self.sources {
            let Source::Sessions { sessions, .. } = source else { continue };
            sessions.unfinished().for_each(|transfer| self.recorder.open_transfer(&transfer));
            let held_back = sessions.held_back(self.fabric.now);
            if held_back > 0 {
                let name = format!("{}/pages never begun", name(sessions.workload()));
                self.recorder.counter(&name, held_back as f64);
            }
        }
    }

    fn sample(&mut self) {
        let Fabric { now, network, .. } = &mut self.fabric;
        if self.sampler.next_at() == *now {
            let open = self.flows.len() as u32;
            let recorder = &mut self.recorder;
            self.sampler.sample(*now, network, open, |sample| recorder.sample(sample));
        }
        if self.flow_sampler.next_at() == *now {
            self.flow_sampler.sample(*now, &self.flows);
        }
        if self.tcp_sampler.next_at() == *now {
            self.tcp_sampler.sample(*now, &self.flows);
        }
        let next = self.sampler.next_at().min(self.flow_sampler.next_at());
        self.fabric.set_sampler(next.min(self.tcp_sampler.next_at()));
    }

    /// The warm-up ends: restarts all counters. The measured time lasts until `until`.
    pub(crate) fn end_warm_up(&mut self, until: Instant) {
        self.sampler.restart(self.fabric.now, &self.fabric.network);
        self.fabric.restart_counters(until);
        for flow in self.flows.iter_mut() {
            flow.delivered_before = flow.ends[Side::Server].delivered;
        }
    }
}

/// Sends the acknowledgement that a kernel sends before it notifies the application. The caller then handles
/// the connection.
#[cold]
#[inline(never)]
fn acknowledge_first(
    flow: &mut Flow,
    id: FlowId,
    side: Side,
    fabric: &mut Fabric,
    timers: &mut Timers,
) {
    transmit(flow, id, side, fabric, timers);
}

/// What a marker at the host sees of the sender of a segment. Few hosts have markers.
#[inline(never)]
fn sender_view(
    end: &Endpoint,
    application: &Application,
    network: &Network,
    segment: Extent,
) -> SenderView {
    SenderView {
        received_dscp: Some(end.received_dscp),
        label: network.label(application.workload()),
        ..end.tcp.view_of(segment)
    }
}

/// The position of a segment in its object: each request and each reply is one, with the thresholds of the policy.
#[inline(never)]
fn object_view(
    end: &Endpoint,
    application: &Application,
    side: Side,
    segment: Extent,
) -> ObjectView {
    let at = end.tcp.first_byte(segment);
    let from = match application {
        Application::Dialogue(dialogue) => dialogue.message_from(side == Side::Server, at),
        Application::Exchange(_) | Application::Bulk { .. } => 0,
    };
    ObjectView { sent: Bytes(at.saturating_sub(from)), level: None }
}

/// Sends the segments of an endpoint, and sets its timer. Returns true if the engine must handle the
/// connection. A function of its own, where its values have registers to themselves.
#[inline(never)]
fn transmit(
    flow: &mut Flow,
    id: FlowId,
    side: Side,
    fabric: &mut Fabric,
    timers: &mut Timers,
) -> bool {
    let now = fabric.now;
    if fabric.withholds() {
        transmit_as_allowed(flow, id, side, fabric);
    } else {
        while let Some(segment) = flow.ends[side].tcp.poll_transmit(now) {
            send(flow, id, side, fabric, segment);
        }
    }
    let end = &mut flow.ends[side];
    timers.arm(owner(id, side), &mut end.armed, end.tcp.deadline());
    // The last end to close ends the connection, so nothing needs a check while this end is open.
    end.tcp.is_closed() && !end.is_withheld && flow.needs_care()
}

/// Sends a segment of an endpoint through its host's port.
#[inline(always)]
pub(crate) fn send(flow: &mut Flow, id: FlowId, side: Side, fabric: &mut Fabric, segment: Segment) {
    let end = &flow.ends[side];
    flow.tally.sent += 1;
    let (outlet, shown) = fabric.outlet(end.key.src, end.key.dst);
    let is_echo = shown == Shown::AllButEchoes && segment.is_bare_acknowledgement();
    let sender = if shown == Shown::Nothing || is_echo {
        None
    } else {
        let mut view = sender_view(end, &flow.application, &fabric.network, segment.extent());
        if fabric.asks_objects(outlet) {
            view.object = Some(object_view(end, &flow.application, side, segment.extent()));
        }
        view.is_range = side == Side::Server && flow.application.carries_range();
        Some(view)
    };
    let packet = Resident {
        sent_at: fabric.now,
        flow: id,
        size: u32::from(segment.payload) + u32::from(flow.header),
        key: end.key,
        dscp: if is_echo { end.received_dscp } else { Dscp::BEST_EFFORT },
        ecn: segment.ecn,
        payload: segment.payload,
        tcp: segment.header,
    };
    fabric.leave_host(outlet, packet, is_echo, sender.as_ref());
    if sender.is_some() && fabric.take_ended() {
        flow.ends[side].tcp.abort();
    }
}
