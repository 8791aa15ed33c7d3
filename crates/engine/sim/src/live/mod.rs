//! The network between real hosts, such as kernels: the simulator's ports, queues, lines and conditioners,
//! for packets with real bytes.
//!
//! ```text
//! a host's packet ── send ──▶ LiveNetwork { Fabric } ── Hosts::deliver, Hosts::dropped ──▶ a host
//!                              ▲ advance(now)
//! ```
//!
//! It has no clock: its caller sets the time, and asks for the time of the next event. Events happen at their
//! own times, even if the caller is late. A line is therefore not slower if the caller is late.

mod snapshot;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;

use shortflow_measure::{Recorder, Sample};
use shortflow_packet::{FrameId, Packet, SenderUpdate, SenderView};
use shortflow_run::{ClassCounts, ClassUse, Tap};
use shortflow_scenario::{Addresses, NodeId, Scenario};
use shortflow_tcp::TcpHeader;
use shortflow_units::Instant;

use crate::build;
use crate::event::entities::EntityKind;
use crate::host::flow::{FlowId, Flows};
use crate::network::fabric::{Fabric, Totals};
use crate::network::index::PortId;
use crate::network::key::NodeKey;
use crate::network::pool::{Parcel, Resident};
use crate::record::classes::{BoundRoles, class_counts};
use crate::record::ports::{Counted, network_counts};
use crate::record::sampler::Sampler;
use crate::record::tap::Watcher;

use snapshot::Delays;
pub use snapshot::{NetworkSnapshot, PortSnapshot};
pub use tally::{ConnectionTally, Tallies};

/// The hosts around a [`LiveNetwork`].
pub trait Hosts {
    /// A packet reaches `node` at `at`, which is at most the current time.
    fn deliver(&mut self, at: Instant, node: NodeId, packet: Packet);

    /// A packet that its host sent at `sent_at` is dropped.
    fn dropped(&mut self, sent_at: Instant, packet: Packet);
}

/// The ports, links and bound roles of a scenario, without hosts.
pub struct LiveNetwork {
    fabric: Fabric,
    /// There are no connections to prefetch.
    nobody: Flows,
    sampler: Sampler,
    watched: Vec<PortId>,
    samples: Vec<Sample>,
    counted_before: BTreeMap<String, u64>,
    /// The counters of elements that were replaced.
    replaced: BTreeMap<String, u64>,
    replica: u32,
    measured_from: Instant,
    tallies: Tallies,
    /// The roles of all ports; `None` after another policy was bound, because its classes differ.
    roles: Option<Vec<BoundRoles>>,
    /// The packets per class before the end of the warm-up.
    classes_before: ClassCounts,
    delays: Delays,
    /// The number of open transfers, for time series.
    pub open_transfers: u32,
}

/// Why a packet of a host is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unroutable {
    /// Its source or its destination is not a node of the scenario.
    #[error("its source or its destination is not a node of the scenario")]
    Stranger,
    /// No path leads to its destination.
    #[error("no path leads to its destination")]
    NoWay,
}

impl LiveNetwork {
    /// The network of replica number `replica` of a scenario, at time zero.
    pub fn new(scenario: &Scenario, replica: u32) -> Self {
        let (mut network, watched) = build::network_alone(scenario, replica);
        network.ports.iter_mut().for_each(|hop| hop.port.keep_room());
        let sampler = Sampler::new(&watched, scenario.measure.series_interval);
        let tallies = Tallies::new(Arc::clone(&network.addresses));
        let mut fabric = Fabric::changeable(network);
        fabric.set_sampler(sampler.next_at());
        LiveNetwork {
            fabric,
            nobody: Flows::default(),
            sampler,
            watched,
            samples: Vec::new(),
            counted_before: BTreeMap::new(),
            replaced: BTreeMap::new(),
            replica,
            delays: Delays::default(),
            measured_from: Instant::START,
            tallies,
            roles: Some(BoundRoles::of_ports(scenario)),
            classes_before: ClassCounts::default(),
            open_transfers: 0,
        }
    }

    /// Connects `tap`. It gets packets without their bytes, but with their hosts' names for them. It is not
    /// notified of the end of the run, which only the hosts know.
    pub fn show_to(&mut self, tap: Box<dyn Tap>) {
        self.fabric.show_to(Some(tap));
        self.fabric.watcher.iter_mut().for_each(Watcher::show_names);
    }

    /// The time of the next event, if no packet arrives before.
    pub fn next_at(&self) -> Option<Instant> {
        self.fabric.next(self.fabric.horizon()).map(|(at, _)| at)
    }

    /// Accepts a packet that the host `node` sends at `now`, or at the current time if that is later. Its
    /// `bytes` are its name for the hosts; `sender` is the state of the sending TCP that its host shows.
    ///
    /// # Errors
    /// Returns the packet if no path leads to its destination.
    pub fn send(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: Packet,
        sender: Option<&SenderView>,
        hosts: &mut dyn Hosts,
    ) -> Result<(), (Packet, Unroutable)> {
        self.advance(now, hosts);
        let Some(key) = NodeKey::from_flow_key(packet.key, &self.fabric.pool.addresses) else {
            return Err((packet, Unroutable::Stranger));
        };
        if key.dst == node {
            return Err((packet, Unroutable::NoWay));
        }
        let (outlet, _) = self.fabric.outlet(node, key.dst);
        if self.fabric.network.ports.get(outlet).is_none() {
            return Err((packet, Unroutable::NoWay));
        }
        self.tallies.sent(key, packet.flags);
        let resident = Resident {
            sent_at: self.fabric.now,
            flow: name_of(packet.bytes),
            size: packet.size,
            payload: packet.payload,
            dscp: packet.dscp,
            ecn: packet.ecn,
            tcp: TcpHeader { flags: packet.flags, ..TcpHeader::default() },
            key,
        };
        self.fabric.leave_host(outlet, resident, false, sender);
        self.settle(hosts);
        Ok(())
    }

    /// Whether a queue of this scenario needs [reports](LiveNetwork::tell) about senders.
    pub fn listens(scenario: &Scenario) -> bool {
        let queues = build::roles(scenario, 0).into_iter().filter_map(|roles| roles.queue);
        queues.into_iter().any(|queue| queue.listens())
    }

    /// Reports an event at a sender of the host `node` at the current time. The queue on the path of its
    /// packets gets the report, if it needs any.
    pub fn tell(&mut self, node: NodeId, news: &SenderUpdate, hosts: &mut dyn Hosts) {
        let Some(key) = NodeKey::from_flow_key(news.key, &self.fabric.pool.addresses) else {
            return;
        };
        let (outlet, _) = self.fabric.outlet(node, key.dst);
        if key.dst != node && self.fabric.network.ports.get(outlet).is_some() {
            self.fabric.tell(outlet, news);
            self.settle(hosts);
        }
    }

    /// Whether a policer has ended the connection of the packet that was [sent](LiveNetwork::send) last; false from then on.
    pub fn take_ended(&mut self) -> bool {
        self.fabric.take_ended()
    }

    /// Runs all events up to and including `now`.
    pub fn advance(&mut self, now: Instant, hosts: &mut dyn Hosts) {
        let until = now.min(self.fabric.horizon());
        while let Some((at, entity)) = self.fabric.next(until) {
            self.fabric.now = at;
            match self.fabric.kind(entity) {
                EntityKind::Arrival(port) => {
                    if let Some(parcel) = self.fabric.arrive(port, &self.nobody) {
                        self.deliver(parcel, hosts);
                    }
                }
                EntityKind::Departure(port) => self.fabric.depart(port),
                EntityKind::Sampler => self.sample(),
                EntityKind::Timers | EntityKind::Source(_) => {
                    unreachable!("the hosts are elsewhere")
                }
            }
            self.settle(hosts);
        }
        self.fabric.now = self.fabric.now.max(now);
    }

    fn deliver(&mut self, parcel: Parcel, hosts: &mut dyn Hosts) {
        let node = parcel.to;
        let resident = self.fabric.pool.packet(&parcel);
        let color = self.fabric.network.colors.place(resident.dscp);
        self.tallies.ended(resident.key, color, false);
        self.delays.add(self.fabric.now.since(resident.sent_at));
        let packet = given_back(resident, &self.fabric.pool.addresses);
        hosts.deliver(self.fabric.now, node, packet);
        self.fabric.pool.release(parcel);
    }

    /// Reports the dropped packets.
    fn settle(&mut self, hosts: &mut dyn Hosts) {
        while let Some(parcel) = self.fabric.take_lost() {
            let resident = self.fabric.pool.packet(&parcel);
            let color = self.fabric.network.colors.place(resident.dscp);
            self.tallies.ended(resident.key, color, true);
            hosts.dropped(resident.sent_at, given_back(resident, &self.fabric.pool.addresses));
            self.fabric.pool.release(parcel);
        }
    }

    fn sample(&mut self) {
        let Fabric { now, network, .. } = &mut self.fabric;
        let samples = &mut self.samples;
        self.sampler.sample(*now, network, self.open_transfers, |sample| samples.push(sample));
        self.fabric.set_sampler(self.sampler.next_at());
    }

    /// The warm-up ends at the current time: restarts all counters. The measured time lasts until `until`.
    pub fn end_warm_up(&mut self, until: Instant) {
        self.sampler.restart(self.fabric.now, &self.fabric.network);
        self.fabric.restart_counters(until);
        self.counted_before = self.counts();
        self.classes_before = self.class_counts().unwrap_or_default();
        self.measured_from = self.fabric.now;
    }

    /// The counters of ports, queues and conditioners since the warm-up, up to the current time, and the time
    /// series.
    pub fn measured(&mut self) -> LiveRecord {
        let measured = self.fabric.now.since(self.measured_from);
        let counted = Counted::of_ports(&mut self.fabric, &self.watched, measured);
        let counted = counted.with(self.counts(), &self.counted_before);
        let warm_up = std::mem::take(&mut self.classes_before);
        let classes = self.class_counts().map(|whole| ClassUse { warm_up, whole });
        LiveRecord { counted, samples: std::mem::take(&mut self.samples), classes }
    }

    /// From the current time on, binds the policy of `scenario`, which must be the same scenario with another
    /// policy. Its elements are new. Waiting packets move into the new queues in the order in which the old
    /// ones would have sent them. Departures that were fixed stay fixed.
    pub fn switch(&mut self, scenario: &Scenario, hosts: &mut dyn Hosts) {
        self.replaced = self.counts();
        self.roles = None;
        let roles = build::roles(scenario, self.replica);
        assert_eq!(roles.len(), self.fabric.network.ports.len(), "the network is the same");
        for (index, roles) in PortId::first(roles.len()).zip(roles) {
            self.fabric.rebind(index, roles);
        }
        self.fabric.network.colors = build::colors(scenario);
        self.settle(hosts);
    }

    /// The counters of elements since the start.
    fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = self.replaced.clone();
        for (name, count) in network_counts(&self.fabric.network) {
            *counts.entry(name).or_default() += count;
        }
        counts
    }

    /// The packets per class since the start, while the first policy is bound.
    fn class_counts(&self) -> Option<ClassCounts> {
        self.roles.as_ref().map(|roles| class_counts(&self.fabric.network, roles))
    }

    /// The tallies of each TCP connection, shared with other threads.
    pub fn tallies(&self) -> Tallies {
        self.tallies.clone()
    }

    /// The totals of the whole network.
    pub fn totals(&self) -> Totals {
        self.fabric.totals
    }

    /// Checks conservation over the whole network and at every port.
    ///
    /// # Panics
    /// If a packet was lost or created: a bug, never the input's fault.
    pub fn check_conservation(&self) {
        self.fabric.check_conservation();
    }
}

/// The counters of a network for the measured time.
#[derive(Debug)]
pub struct LiveRecord {
    counted: Counted,
    samples: Vec<Sample>,
    /// The packets per class of the policy; `None` if the policy was replaced.
    pub classes: Option<ClassUse>,
}

impl LiveRecord {
    /// Records all counters.
    pub fn record(self, recorder: &mut Recorder) {
        self.counted.record(recorder);
        self.samples.into_iter().for_each(|sample| recorder.sample(sample));
    }
}

/// The network's name for a packet of a host: the number of its bytes.
fn name_of(frame: Option<FrameId>) -> FlowId {
    FlowId(frame.map_or(u32::MAX, FrameId::number))
}

/// The packet as its host named it, with its current code point and ECN field.
fn given_back(resident: &Resident, addresses: &Addresses) -> Packet {
    Packet {
        size: resident.size,
        bytes: FrameId::new(resident.flow.0),
        payload: resident.payload,
        dscp: resident.dscp,
        ecn: resident.ecn,
        flags: resident.tcp.flags,
        key: resident.key.flow_key(addresses),
    }
}
