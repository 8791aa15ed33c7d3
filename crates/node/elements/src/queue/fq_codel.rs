//! FQ-CoDel (RFC 8290).

use shortflow_packet::Packet;
use shortflow_units::{Bytes, Instant, Length, Rng};

use super::EcnMode;
use super::codel::CoDelParams;
use super::flow_queues::{BYTE, Deficit, FlowQueues, Shares};
use super::ring::checked_limit;
use crate::flow_hash::FlowHash;
use crate::scheduler::checked_quantum;
use crate::{Backlog, Drops, ParamsError, QueueDiscipline, Queued};

/// Common settings of per-flow queues.
#[derive(Debug, Clone, Copy)]
pub struct FlowQueueSettings {
    /// The limit of all queues together.
    pub limit: Length,
    /// The number of queues.
    pub queues: usize,
    /// What a queue may send per turn.
    pub quantum: Bytes,
    /// The AQM of each queue.
    pub codel: CoDelParams,
    /// Whether ECN-capable packets are marked.
    pub ecn: EcnMode,
}

impl FlowQueueSettings {
    /// The checked settings, and the quantum as a deficit.
    pub(super) fn checked(self) -> Result<(Self, Deficit), ParamsError> {
        checked_limit(self.limit)?;
        if !(1..=MAX_QUEUES).contains(&self.queues) {
            let message = format!("queues must be 1 to {MAX_QUEUES}; found {}", self.queues);
            return Err(ParamsError::new("queues", message));
        }
        let quantum = checked_quantum(self.quantum)?;
        Ok((self, quantum * BYTE))
    }
}

/// Limits the memory for buckets.
const MAX_QUEUES: usize = 65_536;

/// Parameters of [`FqCodel`].
#[derive(Debug, Clone)]
pub struct FqCodelParams {
    settings: FlowQueueSettings,
    quantum: Deficit,
}

impl FqCodelParams {
    /// FQ-CoDel with these settings. RFC 8290 §5.2 has 1024 queues, a quantum of 1514 bytes and a
    /// limit of 10240 packets.
    pub fn new(settings: FlowQueueSettings) -> Result<Self, ParamsError> {
        let (settings, quantum) = settings.checked()?;
        Ok(FqCodelParams { settings, quantum })
    }

    /// The checked settings.
    pub fn settings(&self) -> &FlowQueueSettings {
        &self.settings
    }
}

/// Flow queues with CoDel on each (RFC 8290). A seeded hash of its 5-tuple assigns a flow to a queue; flows
/// in the same queue share its turns. Queues are served by deficit round robin, new flows first.
///
/// Packets dropped by CoDel are [`DropReason::Early`](crate::DropReason::Early). Above the limit, the queue
/// with the most bytes loses up to half its packets from its head
/// ([`DropReason::Overlimit`](crate::DropReason::Overlimit)). Unlike in the RFC, under a limit in packets a
/// queue that holds less than half of an equal part loses nothing, whatever its bytes. Otherwise a flood of
/// small packets would push out a few large ones. O(1) per packet; a packet of several quanta takes as many
/// steps, and one above the limit takes one step per queue with packets.
#[derive(Debug)]
pub struct FqCodel {
    queues: FlowQueues,
    quantum: Quantum,
    hash: FlowHash,
}

/// The same for every queue.
#[derive(Debug)]
struct Quantum(Deficit);

impl Shares for Quantum {
    #[inline]
    fn quantum(&self, _queue: usize) -> Deficit {
        self.0
    }
}

impl FqCodel {
    /// An empty queue. Its hash has a seed from `rng`.
    pub fn new(params: FqCodelParams, mut rng: Rng) -> Self {
        let FqCodelParams { settings, quantum } = params;
        // Turns go by the checked quantum of the parameters.
        let FlowQueueSettings { limit, queues, quantum: _, codel, ecn } = settings;
        FqCodel {
            queues: FlowQueues::new(queues, limit, codel, None, ecn),
            quantum: Quantum(quantum),
            hash: FlowHash::seeded(&mut rng),
        }
    }
}

impl QueueDiscipline for FqCodel {
    fn reserve(&mut self, packets: usize, flows: usize) {
        self.queues.reserve(packets, flows);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let queue = self.queues.queue(self.hash.bucket(&packet.key, self.queues.buckets()));
        self.queues.enqueue(now, queue, packet, &mut self.quantum, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        self.queues.dequeue(now, &mut self.quantum, drops)
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
