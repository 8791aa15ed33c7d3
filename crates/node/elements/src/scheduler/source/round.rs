//! The turns of connections in a class whose heads have the same priority.

use std::num::NonZeroU32;

use shortflow_packet::FlowKey;
use shortflow_units::Instant;

use super::params::MAX_CLASSES;
use super::{ConnectionRule, LOW};
use crate::chains::{Chain, Chains};
use crate::packet_store::PacketList;

/// The data of a packet that is the head of its connection, so that the packet itself need not be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    /// Bytes.
    pub(super) size: u32,
    /// The priority of its code point.
    pub(super) mark: usize,
    /// When it was queued.
    pub(super) since: Instant,
}

/// A connection with waiting packets.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) key: FlowKey,
    /// The hash of the key.
    pub(super) hashed: u64,
    pub(super) packets: PacketList,
    /// Its head.
    pub(super) head: First,
    pub(super) weight: u32,
    /// Packets that it may still send in this turn.
    pub(super) left: u32,
    /// The class, counted from 0.
    pub(super) class: u8,
    /// The priority of its head, as of the last check.
    pub(super) priority: u8,
}

impl Connection {
    /// A connection that begins to wait with `head`.
    pub(super) fn new(key: FlowKey, hashed: u64, rule: ConnectionRule, head: First) -> Self {
        let ConnectionRule { class, weight } = rule;
        let packets = PacketList::default();
        let priority = LOW as u8;
        let (left, class) = (weight, class - 1);
        Connection { key, hashed, packets, head, weight, left, class, priority }
    }

    #[inline]
    fn round(&self) -> Round {
        Round { class: usize::from(self.class), priority: usize::from(self.priority) }
    }
}

/// A round for each class and priority; the first connection is the next.
#[derive(Debug)]
pub(super) struct Rounds {
    /// A bit for each non-empty round, in class order, and within a class HIGH, MED, LOW.
    waiting: u32,
    chains: Chains,
    rounds: Vec<[Chain; PRIORITIES]>,
}

const PRIORITIES: usize = LOW + 1;
const _: () = assert!(MAX_CLASSES as usize * PRIORITIES <= u32::BITS as usize);

/// The round of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) class: usize,
    pub(super) priority: usize,
}

impl Round {
    #[inline]
    fn bit(self) -> u32 {
        1 << (self.class * PRIORITIES + self.priority)
    }
}

impl Rounds {
    pub(super) fn new(classes: usize) -> Self {
        let rounds = vec![[Chain::EMPTY; PRIORITIES]; classes];
        Rounds { waiting: 0, chains: Chains::default(), rounds }
    }

    /// Reserves memory for this many further connections.
    pub(super) fn reserve(&mut self, more: usize) {
        self.chains.reserve(more);
    }

    /// Adds an entry for a further connection.
    pub(super) fn add(&mut self) {
        self.chains.add();
    }

    #[inline]
    pub(super) fn join(&mut self, connection: &Connection, place: usize) {
        let round = connection.round();
        self.chains.push_last(&mut self.rounds[round.class][round.priority], place);
        self.waiting |= round.bit();
    }

    #[inline]
    pub(super) fn leave(&mut self, connection: &Connection, place: usize) {
        let round = connection.round();
        let chain = &mut self.rounds[round.class][round.priority];
        self.chains.remove(chain, place);
        if chain.first().is_none() {
            self.waiting &= !round.bit();
        }
    }

    /// Whether a waiting connection is the only one in its round.
    #[inline]
    pub(super) fn is_alone(&self, connection: &Connection) -> bool {
        let round = connection.round();
        self.rounds[round.class][round.priority].is_of_one()
    }

    /// The non-empty rounds, in order.
    #[inline]
    pub(super) fn waiting(&self) -> impl Iterator<Item = Round> + use<> {
        let mut waiting = self.waiting;
        std::iter::from_fn(move || {
            let first = NonZeroU32::new(waiting)?.trailing_zeros() as usize;
            waiting &= waiting - 1;
            Some(Round { class: first / PRIORITIES, priority: first % PRIORITIES })
        })
    }

    /// The connections of a round, in turn.
    #[inline]
    pub(super) fn places(&self, round: Round) -> impl Iterator<Item = usize> + '_ {
        self.chains.iter(&self.rounds[round.class][round.priority])
    }

    /// The connections of all rounds except LOW, each with its class.
    pub(super) fn regulated(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let rounds = self.waiting().filter(|round| round.priority != LOW);
        rounds.flat_map(|round| self.places(round).map(move |place| (round.class, place)))
    }
}
