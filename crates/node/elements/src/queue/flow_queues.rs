//! Per-flow queues that are served in turn, new flows first.

use shortflow_packet::{Ecn, Packet};
use shortflow_units::{Instant, Length};

use super::EcnMode;
use super::blue::{Blue, BlueState};
use super::codel::{CoDel, CoDelParams};
use crate::chains::{Chain, Chains};
use crate::packet_store::{PacketList, PacketStore};
use crate::{Backlog, DropReason, Drops, Queued};

/// The scheduler of RFC 8290 §4 with an AQM on each queue: deficit round robin with two lists. A queue that
/// begins to send is new, and new queues are served before old ones. After its quantum it is old. A sparse
/// flow, which sends less than a quantum per round, is always new.
///
/// Packets dropped by the AQM are [`DropReason::Early`]. When all queues together exceed the limit, the queue
/// with the most bytes relative to its share loses packets from its head ([`DropReason::Overlimit`]).
#[derive(Debug)]
pub(super) struct FlowQueues {
    store: PacketStore,
    /// The index in `queues` of each bucket; [`NONE`] until its first packet arrives. Most ports have few
    /// flows, whose state then stays in the cache.
    buckets: Vec<u32>,
    queues: Vec<FlowQueue>,
    chains: Chains,
    new: Chain,
    old: Chain,
    limit: Length,
    codel: CoDelParams,
    blue: Option<Blue>,
    ecn: EcnMode,
    backlog: Backlog,
    /// When the first packet arrived after all queues were empty.
    busy_since: Instant,
    ecn_marks: u64,
}

const NONE: u32 = u32::MAX;

/// Bytes in units of 1/65536.
pub(super) type Deficit = i64;

/// A byte as a [`Deficit`].
pub(super) const BYTE: Deficit = 1 << 16;

#[derive(Debug, Default)]
struct FlowQueue {
    packets: PacketList,
    deficit: Deficit,
    listed: Listed,
    codel: CoDel,
    blue: BlueState,
}

/// The list of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Listed {
    #[default]
    Nowhere,
    New,
    /// In the old list, with packets.
    Old,
    /// In the old list, without packets: it keeps its place for one turn, in case more packets arrive.
    Resting,
}

/// How much queues may send per turn, and the events that this depends on.
pub(super) trait Shares {
    /// What `queue` may send per turn.
    fn quantum(&self, queue: usize) -> Deficit;
    /// `queue` is in the old list and has packets.
    fn became_bulk(&mut self, _queue: usize) {}
    /// `queue` is still in the old list, but has no packets any more.
    fn came_to_rest(&mut self, _queue: usize) {}
    /// `queue`, which has no packets, is in no list.
    fn left(&mut self, _queue: usize) {}
}

impl FlowQueues {
    pub(super) fn new(
        buckets: usize,
        limit: Length,
        codel: CoDelParams,
        blue: Option<Blue>,
        ecn: EcnMode,
    ) -> Self {
        FlowQueues {
            store: PacketStore::new(),
            buckets: vec![NONE; buckets],
            queues: Vec::new(),
            chains: Chains::default(),
            new: Chain::EMPTY,
            old: Chain::EMPTY,
            limit,
            codel,
            blue,
            ecn,
            backlog: Backlog::default(),
            busy_since: Instant::START,
            ecn_marks: 0,
        }
    }

    /// Reserves memory for `packets` in total and for `flows`, each in its own queue.
    pub(super) fn reserve(&mut self, packets: usize, flows: usize) {
        let queues = flows.min(self.buckets.len()).saturating_sub(self.queues.len());
        // One packet above the limit is held until another is dropped for it.
        self.store.reserve(packets + 1);
        self.queues.reserve(queues);
        self.chains.reserve(queues);
    }

    /// The number of buckets, which is the maximum number of queues.
    #[inline]
    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// The queue of `bucket`, if it ever had a packet.
    #[inline]
    pub(super) fn known(&self, bucket: usize) -> Option<usize> {
        let queue = self.buckets[bucket];
        (queue != NONE).then_some(queue as usize)
    }

    /// The queue of `bucket`. Queues are numbered from 0, in the order of first use.
    #[inline]
    pub(super) fn queue(&mut self, bucket: usize) -> usize {
        self.known(bucket).unwrap_or_else(|| self.add(bucket))
    }

    #[cold]
    fn add(&mut self, bucket: usize) -> usize {
        let queue = self.queues.len();
        self.buckets[bucket] = queue as u32;
        self.queues.push(FlowQueue::default());
        self.chains.add();
        queue
    }

    /// Whether `queue` is in a list.
    #[inline]
    pub(super) fn is_listed(&self, queue: usize) -> bool {
        self.queues[queue].listed != Listed::Nowhere
    }

    /// Resets the AQM of `queue`, which another flow will use.
    pub(super) fn forget(&mut self, queue: usize) {
        let queue = &mut self.queues[queue];
        (queue.codel, queue.blue) = Default::default();
    }

    /// Adds a packet to `queue`. O(1), except for one step per listed queue if the limit is exceeded. Half of
    /// the fattest queue is then dropped, so that this is rare.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        queue: usize,
        packet: Packet,
        shares: &mut impl Shares,
        drops: &mut Drops,
    ) {
        if self.backlog.packets == 0 {
            self.busy_since = now;
        }
        self.backlog.add(&packet);
        let flow = &mut self.queues[queue];
        flow.packets.push(&mut self.store, Queued { packet, since: now });
        match flow.listed {
            Listed::Nowhere => {
                flow.listed = Listed::New;
                flow.deficit = shares.quantum(queue);
                self.chains.push_last(&mut self.new, queue);
            }
            Listed::Resting => {
                flow.listed = Listed::Old;
                shares.became_bulk(queue);
            }
            Listed::New | Listed::Old => {}
        }
        while self.is_above_limit() {
            self.drop_from_fattest(now, shares, drops);
        }
    }

    fn is_above_limit(&self) -> bool {
        match self.limit {
            Length::Packets(limit) => self.backlog.packets > limit,
            Length::Bytes(limit) => self.backlog.bytes > limit,
        }
    }

    /// The queue with the most bytes relative to its turn; if turns are equal, the one with the most bytes
    /// (RFC 8290 §4.1). Under a limit in packets, queues that hold less than half of an equal part are
    /// exempt. A flood of small packets then fills the buffer without pushing out a few large packets, even
    /// if those have more bytes.
    fn fattest(&self, shares: &impl Shares) -> usize {
        let listed = || self.chains.iter(&self.new).chain(self.chains.iter(&self.old));
        let held = |queue: usize| self.queues[queue].packets.backlog();
        let turn = |queue: usize| u128::from(shares.quantum(queue).unsigned_abs());
        let busy = || listed().filter(|&queue| held(queue).packets > 0);
        let turns: u128 = match self.limit {
            Length::Packets(_) => busy().map(turn).sum(),
            Length::Bytes(_) => 0,
        };
        let is_long = |&queue: &usize| {
            let part = u128::from(self.backlog.packets) * turn(queue);
            turns == 0 || 2 * u128::from(held(queue).packets) * turns >= part
        };
        let is_fatter = |queue: usize, other: usize| {
            let [bytes, other_bytes] = [queue, other].map(|queue| u128::from(held(queue).bytes.0));
            bytes * turn(other) > other_bytes * turn(queue)
        };
        // If several are equal, the one that is served first: `max_by` would choose the last.
        let fattest = busy()
            .filter(is_long)
            .reduce(|fattest, other| if is_fatter(other, fattest) { other } else { fattest });
        fattest.expect("what is above the limit is in a listed queue")
    }

    /// Drops half the packets of the fattest queue from its head, but at most 64 (RFC 8290 §4.1).
    #[cold]
    fn drop_from_fattest(&mut self, now: Instant, shares: &mut impl Shares, drops: &mut Drops) {
        let fattest = self.fattest(shares);
        let queue = &mut self.queues[fattest];
        for _ in 0..queue.packets.backlog().packets.div_ceil(2).min(64) {
            let dropped = queue.packets.pop(&mut self.store).expect("half of it is there");
            self.backlog.remove(&dropped.packet);
            drops.push(dropped.packet, DropReason::Overlimit);
        }
        if let Some(blue) = &self.blue {
            queue.blue.overflowed(blue, now);
        }
        self.rest_if_empty(fattest, shares);
    }

    /// Records that `queue`, an old one, has no packets any more.
    #[inline]
    fn rest_if_empty(&mut self, queue: usize, shares: &mut impl Shares) {
        let flow = &mut self.queues[queue];
        if flow.listed == Listed::Old && flow.packets.is_empty() {
            flow.listed = Listed::Resting;
            shares.came_to_rest(queue);
        }
    }

    /// The next packet (RFC 8290 §4.2). A queue with a small quantum needs several turns per packet: one step
    /// each.
    #[inline]
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        shares: &mut impl Shares,
        drops: &mut Drops,
    ) -> Option<Queued> {
        while let Some(queue) = self.new.first().or(self.old.first()) {
            let flow = &mut self.queues[queue];
            if flow.deficit <= 0 {
                flow.deficit += shares.quantum(queue);
                self.move_to_old(queue, shares);
                continue;
            }
            let taken = self.take(now, queue, drops);
            self.rest_if_empty(queue, shares);
            let Some(queued) = taken else {
                // A new queue that becomes empty moves to the old list for one turn. Otherwise it could
                // return as new at once, and starve the old ones.
                if self.queues[queue].listed == Listed::New {
                    self.move_to_old(queue, shares);
                } else {
                    self.chains.remove(&mut self.old, queue);
                    self.queues[queue].listed = Listed::Nowhere;
                    shares.left(queue);
                }
                continue;
            };
            self.queues[queue].deficit -= i64::from(queued.packet.size) * BYTE;
            return Some(queued);
        }
        None
    }

    /// Moves `queue` to the end of the old list.
    #[inline]
    fn move_to_old(&mut self, queue: usize, shares: &mut impl Shares) {
        if self.queues[queue].listed == Listed::New {
            self.chains.remove(&mut self.new, queue);
            let flow = &mut self.queues[queue];
            if flow.packets.is_empty() {
                flow.listed = Listed::Resting;
            } else {
                flow.listed = Listed::Old;
                shares.became_bulk(queue);
            }
        } else {
            self.chains.remove(&mut self.old, queue);
        }
        self.chains.push_last(&mut self.old, queue);
    }

    /// The next packet of `queue` that its AQM does not drop.
    #[inline]
    fn take(&mut self, now: Instant, queue: usize, drops: &mut Drops) -> Option<Queued> {
        let FlowQueues { store, queues, backlog, ecn, ecn_marks, .. } = self;
        let FlowQueue { packets, codel, blue, .. } = &mut queues[queue];
        loop {
            let pop = || {
                let queued = packets.pop(store)?;
                backlog.remove(&queued.packet);
                Some((queued, packets.backlog().bytes))
            };
            let signal = |mut queued: Queued| {
                if ecn.marks() && queued.packet.ecn.is_capable() {
                    queued.packet.ecn = Ecn::Ce;
                    *ecn_marks += 1;
                    return Some(queued);
                }
                drops.push(queued.packet, DropReason::Early);
                None
            };
            let queued = codel.dequeue(&self.codel, now, pop, signal);
            let Some(params) = &mut self.blue else { return queued };
            match queued {
                None => {
                    blue.ran_empty(params, now);
                    return None;
                }
                Some(queued) if blue.drops(params) => drops.push(queued.packet, DropReason::Early),
                Some(_) => return queued,
            }
        }
    }

    /// Now, if there are packets.
    #[inline]
    pub(super) fn ready_at(&self) -> Option<Instant> {
        (self.backlog.packets > 0).then_some(self.busy_since)
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(super) fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}
