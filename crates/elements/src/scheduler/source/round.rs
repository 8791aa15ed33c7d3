//! Who is next among the connections of a class whose heads have one priority.

use super::{ConnectionRule, LOW};
use crate::FlowKey;
use crate::chains::{Chain, Chains};
use crate::packet_store::PacketList;

/// A connection of which packets wait.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) key: FlowKey,
    pub(super) packets: PacketList,
    /// The class, counted from 0.
    pub(super) class: usize,
    pub(super) weight: u32,
    /// Packets that may still go in this turn.
    pub(super) left: u32,
    /// The priority of its head, as of the last look.
    pub(super) priority: usize,
}

impl Connection {
    pub(super) fn new(key: FlowKey, rule: ConnectionRule) -> Self {
        let ConnectionRule { class, weight } = rule;
        let class = usize::from(class) - 1;
        let packets = PacketList::default();
        Connection { key, packets, class, weight, left: weight, priority: LOW }
    }
}

/// A round for each class and priority, the connection next in turn first.
#[derive(Debug)]
pub(super) struct Rounds {
    chains: Chains,
    rounds: Vec<[Chain; LOW + 1]>,
}

impl Rounds {
    pub(super) fn new(classes: usize, connections: usize) -> Self {
        let rounds = vec![[Chain::EMPTY; LOW + 1]; classes];
        Rounds { chains: Chains::new(connections), rounds }
    }

    pub(super) fn classes(&self) -> usize {
        self.rounds.len()
    }

    #[inline]
    pub(super) fn join(&mut self, connection: &Connection, place: usize) {
        let round = &mut self.rounds[connection.class][connection.priority];
        self.chains.push_last(round, place);
    }

    #[inline]
    pub(super) fn leave(&mut self, connection: &Connection, place: usize) {
        let round = &mut self.rounds[connection.class][connection.priority];
        self.chains.remove(round, place);
    }

    #[inline]
    pub(super) fn is_empty(&self, class: usize, priority: usize) -> bool {
        self.rounds[class][priority].first().is_none()
    }

    /// The places of a round, in turn.
    #[inline]
    pub(super) fn of(&self, class: usize, priority: usize) -> impl Iterator<Item = usize> + '_ {
        self.chains.iter(&self.rounds[class][priority])
    }

    /// The places of all rounds but those of LOW, each with its class.
    pub(super) fn regulated(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let classes = self.rounds.iter().enumerate();
        let rounds = classes
            .flat_map(|(class, rounds)| rounds[..LOW].iter().map(move |round| (class, round)));
        rounds.flat_map(|(class, round)| self.chains.iter(round).map(move |place| (class, place)))
    }
}
