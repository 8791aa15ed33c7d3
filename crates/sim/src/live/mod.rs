//! The network between hosts that somebody else runs, such as kernels: the very ports, queues, lines and
//! conditioners of the simulator, for packets that come and go as bytes.
//!
//! ```text
//! a host's packet ── send ──▶ LiveNetwork { Fabric } ── Hosts::deliver, Hosts::dropped ──▶ a host
//!                              ▲ advance(now)
//! ```
//!
//! It knows no clock: whoever has one tells it the time, and asks when something happens next. What
//! happens at an instant happens then, however late the network is told that it has come: a line that is
//! asked too late does not become slower.

mod snapshot;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;

use shortflow_elements::{FrameId, Packet, SenderUpdate, SenderView};
use shortflow_measure::{Recorder, Sample};
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
    /// A packet reaches `node` at `at`, which is not after the time that the network was told.
    fn deliver(&mut self, at: Instant, node: NodeId, packet: Packet);

    /// A packet that its host sent at `sent_at` goes no further.
    fn dropped(&mut self, sent_at: Instant, packet: Packet);
}

/// Ports, links and what is bound to them, as a scenario has them; the hosts are elsewhere.
pub struct LiveNetwork {
    fabric: Fabric,
    /// No connection is known here: nothing is asked for ahead.
    nobody: Flows,
    sampler: Sampler,
    watched: Vec<PortId>,
    samples: Vec<Sample>,
    counted_before: BTreeMap<String, u64>,
    /// What elements have counted that were replaced.
    replaced: BTreeMap<String, u64>,
    replica: u32,
    measured_from: Instant,
    tallies: Tallies,
    /// The roles of all ports; none once another policy was bound: its classes are others.
    roles: Option<Vec<BoundRoles>>,
    /// What classes were given before the warm-up ended.
    classes_before: ClassCounts,
    delays: Delays,
    /// Transfers that are open, for time series.
    pub open_transfers: u32,
}

/// Why a packet of a host is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unroutable {
    /// Its source or its destination is no node of the scenario.
    #[error("its source or its destination is no node of the scenario")]
    Stranger,
    /// There is no way to its destination.
    #[error("there is no way to its destination")]
    NoWay,
}

impl LiveNetwork {
    /// The network of replica number `replica` of a scenario, at the start of its time.
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

    /// Lets `tap` look on from now on. It is shown packets without their bytes, but with the names that their
    /// hosts have for these; and it is never told that the run is complete, since only the hosts know.
    pub fn show_to(&mut self, tap: Box<dyn Tap>) {
        self.fabric.show_to(Some(tap));
        self.fabric.watcher.iter_mut().for_each(Watcher::show_names);
    }

    /// When something happens next, if no packet comes before.
    pub fn next_at(&self) -> Option<Instant> {
        self.fabric.next(self.fabric.horizon()).map(|(at, _)| at)
    }

    /// Takes a packet that the host `node` sends at `now`, or at the time that was told last if that is later. Its `bytes` name it to the hosts; `sender` is what its host shows of the sending TCP.
    ///
    /// # Errors
    /// The packet is given back when there is no way to its destination.
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

    /// Whether a queue of this scenario wants to be [told](LiveNetwork::tell) of senders.
    pub fn listens(scenario: &Scenario) -> bool {
        let queues = build::roles(scenario, 0).into_iter().filter_map(|roles| roles.queue);
        queues.into_iter().any(|queue| queue.listens())
    }

    /// Something has happened at a sender of the host `node`, at the time that was told last: the queue through
    /// which its packets go is told, if it wants to be.
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

    /// Lets everything happen that happens up to and including `now`.
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

    /// Tells of the packets that were dropped.
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

    /// The warm-up is over at the time that was told last: what was counted so far counts no more. It is
    /// measured until `until`.
    pub fn end_warm_up(&mut self, until: Instant) {
        self.sampler.restart(self.fabric.now, &self.fabric.network);
        self.fabric.restart_counters(until);
        self.counted_before = self.counts();
        self.classes_before = self.class_counts().unwrap_or_default();
        self.measured_from = self.fabric.now;
    }

    /// What ports, queues and conditioners have counted since the warm-up, up to the time that was told last,
    /// and the time series until then.
    pub fn measured(&mut self) -> LiveRecord {
        let measured = self.fabric.now.since(self.measured_from);
        let counted = Counted::of_ports(&mut self.fabric, &self.watched, measured);
        let counted = counted.with(self.counts(), &self.counted_before);
        let warm_up = std::mem::take(&mut self.classes_before);
        let classes = self.class_counts().map(|whole| ClassUse { warm_up, whole });
        LiveRecord { counted, samples: std::mem::take(&mut self.samples), classes }
    }

    /// From the time that was told last on, the policy of `scenario` is bound to the ports: a scenario that
    /// is the same but for its policy. Its elements are new; packets that wait move into the new queues, in
    /// the order in which the old ones would have sent them, and what those had fixed stays fixed.
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

    /// What elements have counted since the start.
    fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = self.replaced.clone();
        for (name, count) in network_counts(&self.fabric.network) {
            *counts.entry(name).or_default() += count;
        }
        counts
    }

    /// How many packets classes were given since the start, while it is the policy of the start.
    fn class_counts(&self) -> Option<ClassCounts> {
        self.roles.as_ref().map(|roles| class_counts(&self.fabric.network, roles))
    }

    /// What became of the packets of each TCP connection, for another thread to look at too.
    pub fn tallies(&self) -> Tallies {
        self.tallies.clone()
    }

    /// What the whole network did.
    pub fn totals(&self) -> Totals {
        self.fabric.totals
    }

    /// The law of conservation over the whole network and at every port.
    ///
    /// # Panics
    /// When a packet was lost or made: our own mistake, never the input's.
    pub fn check_conservation(&self) {
        self.fabric.check_conservation();
    }
}

/// What a network has counted while it was measured.
#[derive(Debug)]
pub struct LiveRecord {
    counted: Counted,
    samples: Vec<Sample>,
    /// How many packets the classes of the policy were given; none where it was replaced under way.
    pub classes: Option<ClassUse>,
}

impl LiveRecord {
    /// Records all of it.
    pub fn record(self, recorder: &mut Recorder) {
        self.counted.record(recorder);
        self.samples.into_iter().for_each(|sample| recorder.sample(sample));
    }
}

/// The name under which the network carries a packet of a host: the number of its bytes.
fn name_of(frame: Option<FrameId>) -> FlowId {
    FlowId(frame.map_or(u32::MAX, FrameId::number))
}

/// The packet as its host named it, with the code point and the ECN field that it has now.
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
