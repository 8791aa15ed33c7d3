//! Fairness between hosts, then between the flows of a host, in the manner of CAKE
//! (Høiland-Jørgensen, Täht & Morton, *Piece of CAKE*, LANMAN 2018).

mod hosts;

use shortflow_units::{Instant, Rng};

use self::hosts::{HostSlot, Hosts};
use super::blue::Blue;
use super::flow_queues::{Deficit, FlowQueues, Shares};
use super::fq_codel::FlowQueueSettings;
use crate::aggregate::{IPV6_PREFIX, checked_ipv6_prefix};
use crate::flow_hash::FlowHash;
use crate::{Backlog, Drops, FlowKey, Packet, ParamsError, QueueDiscipline, Queued};

/// Between which hosts there is fairness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fairness {
    /// Between those that send.
    Source,
    /// Between those that receive.
    Destination,
    /// Between both: no host gets more for its many flows, on whichever end it is.
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
    /// Fairness between hosts with these settings; `queues` must be a multiple of 8. A host of IPv6
    /// is what has the same first 64 bits: it may take any address among these.
    pub fn new(settings: FlowQueueSettings, fairness: Fairness) -> Result<Self, ParamsError> {
        let (settings, quantum) = settings.checked()?;
        if !settings.queues.is_multiple_of(WAYS) {
            let message = format!("queues must be a multiple of {WAYS}; found {}", settings.queues);
            return Err(ParamsError::new("queues", message));
        }
        Ok(HostFairParams { settings, quantum, fairness, ipv6_prefix: IPV6_PREFIX })
    }

    /// The same with another length of what a host of IPv6 is known by, from 1 to 128.
    pub fn with_ipv6_prefix(self, length: u8) -> Result<Self, ParamsError> {
        Ok(HostFairParams { ipv6_prefix: checked_ipv6_prefix(length)?, ..self })
    }

    /// The settings, which were checked.
    pub fn settings(&self) -> &FlowQueueSettings {
        &self.settings
    }

    /// Between which hosts there is fairness.
    pub fn fairness(&self) -> Fairness {
        self.fairness
    }

    /// How many bits of its address a host of IPv6 is known by.
    pub fn ipv6_prefix(&self) -> u8 {
        self.ipv6_prefix
    }
}

/// How many queues a flow's hash allows.
const WAYS: usize = 8;

/// A queue that is fair to hosts and then to their flows, in the manner of CAKE (Høiland-Jørgensen,
/// Täht & Morton, *Piece of CAKE*, LANMAN 2018).
///
/// What is as in CAKE:
///
/// - **Host isolation**: what a flow may send in a turn is the quantum over the number of
///   flows with which its host always has something to send: those that have had their first turn
///   and hold packets. So a round gives each host a quantum, however many flows it opens, and a
///   flow whose queue is empty costs its host nothing. With [`Fairness::Both`] the greater of both ends' numbers counts:
///   triple isolation.
/// - **Flow isolation**: deficit round robin with sparse flows first, as in FQ-CoDel;
///   a flow's queue is one of eight that its hash allows (an 8-way set-associative hash), so that
///   two flows share one only when all eight are busy. A flow that had to share one stays there
///   until it is empty: no flow is reordered.
/// - **AQM** on each queue in the manner of COBALT: CoDel, and BLUE for flows that do not listen,
///   which raises a drop probability when their queue is the one that overflows.
///
/// What is not here: the shaper (give the link its rate), tins of DiffServ classes (put one such
/// queue under each class of a [scheduler](crate::scheduler)), filtering of acknowledgements,
/// looking through NAT, and gaming-proof details of CAKE's third list for flows that decay; an
/// empty flow waits for one turn as an old one, as in FQ-CoDel. CAKE hashes hosts too; here they
/// are told apart exactly. CoDel is that of RFC 8289, without COBALT's slow decay of the signal
/// count.
///
/// What the AQM drops is [`DropReason::Early`](crate::DropReason::Early); above the limit, the
/// queue with the most bytes for what it may send in a turn loses up to half its packets
/// ([`DropReason::Overlimit`](crate::DropReason::Overlimit)). CAKE takes the queue with the most bytes:
/// a host that floods through many flows, each with a short queue, would push out a host with one. As
/// in CAKE, a packet takes as many
/// steps as it needs turns: about one for each flow with which its host always has something to
/// send.
#[derive(Debug)]
pub struct HostFair {
    queues: FlowQueues,
    owners: Owners,
    hash: FlowHash,
}

/// Whose flow each queue holds.
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
    /// Whether packets of other flows are in the queue too.
    has_guests: bool,
}

impl HostFair {
    /// An empty queue that draws from `rng`, its hash's seed first.
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

    /// The queue of the flow `key`: of the eight that its hash allows the one that is its own,
    /// else one that is free, else its home, where it is a guest. While a home has guests, a flow
    /// that calls it home does not go elsewhere: packets of it may wait there.
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

    /// Has a place for the owner of `queue`, which is the next at most.
    fn know(&mut self, queue: usize) {
        if queue == self.owners.len() {
            self.owners.push(Owner::default());
        }
    }

    /// Counts `queue` among the queues of its hosts: it is to be listed.
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
