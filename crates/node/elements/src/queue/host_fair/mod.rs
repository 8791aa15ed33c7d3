//! Fairness between hosts, then between the flows of a host, similar to CAKE (Høiland-Jørgensen, Täht &
//! Morton, *Piece of CAKE*, LANMAN 2018).

mod hosts;

use shortflow_packet::{FlowKey, Packet};
use shortflow_units::{Instant, Rng};

use self::hosts::{HostSlot, Hosts};
use super::blue::Blue;
use super::flow_queues::{Deficit, FlowQueues, Shares};
use super::fq_codel::FlowQueueSettings;
use crate::aggregate::{IPV6_PREFIX, checked_ipv6_prefix};
use crate::flow_hash::FlowHash;
use crate::{Backlog, Drops, ParamsError, QueueDiscipline, Queued};

/// Which hosts share the link fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fairness {
    /// The sending hosts.
    Source,
    /// The receiving hosts.
    Destination,
    /// Both: no host, at either end, gets more by opening more flows.
    Both,
}

/// Parameters of [`HostFair`].
#[derive(Debug, Clone)]
pub struct HostFairParams {
    settings: FlowQueueSettings,
    quantum: Deficit,
    fairness: Fairness,
    ipv6_prefix: u8,
}

impl HostFairParams {
    /// Fairness between hosts with these settings; `queues` must be a multiple of 8. An IPv6 host is
    /// identified by its first 64 bits, because it can use any address with these bits.
    pub fn new(settings: FlowQueueSettings, fairness: Fairness) -> Result<Self, ParamsError> {
        let (settings, quantum) = settings.checked()?;
        if !settings.queues.is_multiple_of(WAYS) {
            let message = format!("queues must be a multiple of {WAYS}; found {}", settings.queues);
            return Err(ParamsError::new("queues", message));
        }
        Ok(HostFairParams { settings, quantum, fairness, ipv6_prefix: IPV6_PREFIX })
    }

    /// Sets the length of the prefix that identifies an IPv6 host, from 1 to 128.
    pub fn with_ipv6_prefix(self, length: u8) -> Result<Self, ParamsError> {
        Ok(HostFairParams { ipv6_prefix: checked_ipv6_prefix(length)?, ..self })
    }

    /// The checked settings.
    pub fn settings(&self) -> &FlowQueueSettings {
        &self.settings
    }

    /// Which hosts share the link fairly.
    pub fn fairness(&self) -> Fairness {
        self.fairness
    }

    /// The length of the prefix that identifies an IPv6 host.
    pub fn ipv6_prefix(&self) -> u8 {
        self.ipv6_prefix
    }
}

/// The number of queues that a flow's hash allows.
const WAYS: usize = 8;

/// A queue that is fair between hosts, then between their flows, similar to CAKE (Høiland-Jørgensen, Täht &
/// Morton, *Piece of CAKE*, LANMAN 2018).
///
/// As in CAKE:
///
/// - **Host isolation**: what a flow may send per turn is the quantum divided by the number of its host's
///   bulk flows. Bulk flows have had their first turn and have packets. A round therefore gives each host a
///   quantum, however many flows it opens, and a flow with an empty queue costs its host nothing. With
///   [`Fairness::Both`] the larger number of both ends counts: triple isolation.
/// - **Flow isolation**: deficit round robin with sparse flows first, as in FQ-CoDel. A flow uses one of
///   eight queues that its hash allows (an 8-way set-associative hash), so two flows share a queue only if all
///   eight are in use. A flow that shares a queue stays there until it is empty, so no flow is reordered.
/// - **AQM** on each queue, similar to COBALT: CoDel, and BLUE for unresponsive flows, which raises the drop
///   probability of the queue that overflows.
///
/// Not implemented: the shaper (give the link its rate), tins of DiffServ classes (put such a queue into each
/// class of a [scheduler](crate::scheduler)), filtering of acknowledgements, NAT lookup, and details of
/// CAKE's third list for decaying flows. An empty flow keeps its place for one turn as an old one, as in
/// FQ-CoDel. CAKE hashes hosts too; here hosts are exact. CoDel is that of RFC 8289, without COBALT's slow
/// decay of the signal count.
///
/// Packets dropped by the AQM are [`DropReason::Early`](crate::DropReason::Early). Above the limit, the queue
/// with the most bytes relative to its turn loses up to half its packets
/// ([`DropReason::Overlimit`](crate::DropReason::Overlimit)). CAKE takes the queue with the most bytes. A
/// host that floods through many flows with short queues would then push out packets of a host with one flow.
/// As in CAKE, a packet takes one step per turn that it needs: about one for each bulk flow of its host.
#[derive(Debug)]
pub struct HostFair {
    queues: FlowQueues,
    owners: Owners,
    hash: FlowHash,
}

/// The flow of each queue.
#[derive(Debug)]
struct Owners {
    quantum: Deficit,
    fairness: Fairness,
    ipv6_prefix: u8,
    owners: Vec<Owner>,
    sources: Hosts,
    destinations: Hosts,
}

#[derive(Debug, Clone, Copy, Default)]
struct Owner {
    key: FlowKey,
    source: HostSlot,
    destination: HostSlot,
    /// Whether the queue also has packets of other flows.
    has_guests: bool,
}

impl HostFair {
    /// An empty queue that draws from `rng`, first the seed of its hash.
    pub fn new(params: HostFairParams, mut rng: Rng) -> Self {
        let HostFairParams { settings, quantum, fairness, ipv6_prefix } = params;
        // Turns go by the checked quantum of the parameters.
        let FlowQueueSettings { limit, queues, quantum: _, codel, ecn } = settings;
        let hash = FlowHash::seeded(&mut rng);
        let [sources, destinations] = ["sources", "destinations"]
            .map(|name| Hosts::new(FlowHash::seeded(&mut rng.beside(name))));
        let blue = Blue::new(codel.target(), rng);
        HostFair {
            queues: FlowQueues::new(queues, limit, codel, Some(blue), ecn),
            owners: Owners {
                quantum,
                fairness,
                ipv6_prefix,
                owners: Vec::new(),
                sources,
                destinations,
            },
            hash,
        }
    }

    /// The queue of the flow `key`. Of the eight that its hash allows: its own one, else a free one, else its
    /// home queue, which it then shares. While a queue is shared, a flow with this home does not move
    /// elsewhere, because its packets may wait there.
    #[inline]
    fn queue(&mut self, key: &FlowKey) -> usize {
        let HostFair { queues, owners, hash } = self;
        let home = hash.bucket(key, queues.buckets());
        let first = home - home % WAYS;
        let mut ways = first..first + WAYS;
        let mut known = ways.clone().filter_map(|bucket| queues.known(bucket));
        if let Some(own) = known.find(|&queue| owners.owners[queue].key == *key) {
            return own;
        }
        let is_free = |bucket| queues.known(bucket).is_none_or(|queue| !queues.is_listed(queue));
        let free = ways.find(|&bucket| is_free(bucket));
        let is_shared = queues.known(home).is_some_and(|queue| owners.owners[queue].has_guests);
        let bucket = free.filter(|_| !is_shared).unwrap_or(home);
        let queue = queues.queue(bucket);
        owners.know(queue);
        let owner = &mut owners.owners[queue];
        if free.is_some() && !is_shared {
            owner.key = *key;
            queues.forget(queue);
        } else {
            owner.has_guests = true;
        }
        queue
    }
}

impl Owners {
    fn reserve(&mut self, queues: usize) {
        self.owners.reserve(queues.saturating_sub(self.owners.len()));
        self.sources.reserve(queues);
        self.destinations.reserve(queues);
    }

    /// Ensures that the owner of `queue`, at most the next one, has an entry.
    fn know(&mut self, queue: usize) {
        if queue == self.owners.len() {
            self.owners.push(Owner::default());
        }
    }

    /// Adds `queue` to its hosts: it will be listed.
    fn enter(&mut self, queue: usize) {
        let owner = &mut self.owners[queue];
        owner.source = self.sources.enter(owner.key.src.ipv6_network(self.ipv6_prefix));
        owner.destination = self.destinations.enter(owner.key.dst.ipv6_network(self.ipv6_prefix));
    }
}

impl Shares for Owners {
    #[inline]
    fn quantum(&self, queue: usize) -> Deficit {
        let Owner { source, destination, .. } = self.owners[queue];
        let source = || self.sources.bulk(source);
        let destination = || self.destinations.bulk(destination);
        let load = match self.fairness {
            Fairness::Source => source(),
            Fairness::Destination => destination(),
            Fairness::Both => source().max(destination()),
        };
        (self.quantum / i64::from(load.max(1))).max(1)
    }

    #[inline]
    fn became_bulk(&mut self, queue: usize) {
        let Owner { source, destination, .. } = self.owners[queue];
        self.sources.became_bulk(source);
        self.destinations.became_bulk(destination);
    }

    #[inline]
    fn came_to_rest(&mut self, queue: usize) {
        let Owner { source, destination, .. } = self.owners[queue];
        self.sources.came_to_rest(source);
        self.destinations.came_to_rest(destination);
    }

    fn left(&mut self, queue: usize) {
        self.owners[queue].has_guests = false;
        let Owner { source, destination, .. } = self.owners[queue];
        self.sources.leave(source);
        self.destinations.leave(destination);
    }
}

impl QueueDiscipline for HostFair {
    fn reserve(&mut self, packets: usize, flows: usize) {
        self.queues.reserve(packets, flows);
        self.owners.reserve(flows.min(self.queues.buckets()));
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let queue = self.queue(&packet.key);
        if !self.queues.is_listed(queue) {
            self.owners.enter(queue);
        }
        self.queues.enqueue(now, queue, packet, &mut self.owners, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        self.queues.dequeue(now, &mut self.owners, drops)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.queues.ready_at()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn ecn_marks(&self) -> u64 {
        self.queues.ecn_marks()
    }
}
