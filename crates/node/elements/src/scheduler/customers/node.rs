//! A site, or the line: which of the customers and sites behind it is next.

use shortflow_units::{Instant, Rate};

use super::params::saved;
use crate::meter::credit::Credit;
use crate::queue::Ranking;

/// What a byte costs at a weight of one, in units of tags.
const BYTE: u128 = 8 << 40;

/// The place of a customer or a site: the node in front of it, and its number there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) node: usize,
    pub(super) number: u32,
}

/// What is behind a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The queue of a customer.
    Leaf(usize),
    /// A site.
    Node(usize),
}

/// A promise that is not kept yet, the first first: of customers before those of sites, and of a site before those of the
/// site in front of it; then by the time since when it is due.
type Due = (u8, Instant, u32);

/// What a child of a node can do.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// When its next packet may leave; `None` if it has no packet.
    pub(super) ready_at: Option<Instant>,
    /// A promise that it can claim: how far it is above customers, and since when.
    pub(super) due: Option<(u8, Instant)>,
    /// How much of what is left it gets, beside others.
    pub(super) weight: u64,
}

struct Child {
    behind: Behind,
    /// The finish tag of its last packet.
    finish: u128,
    /// Its weight while it is ready.
    weight: u64,
}

/// A site, or the line, with the children behind it. Shares what is left in proportion to weights, by start-time fair
/// queueing (Goyal, Vin & Cheng 1996). The weight of a site is that of all customers behind it that are ready.
pub(super) struct Node {
    /// `None` for the line.
    pub(super) place: Option<Place>,
    /// How far it is above customers.
    pub(super) level: u8,
    /// What it may send; `None` for a line without a rate of its own.
    pub(super) limit: Option<Credit>,
    /// What is promised to all customers behind it together; `None` for the line.
    pub(super) promise: Option<Credit>,
    children: Vec<Child>,
    /// Children with a packet that may leave now, by its start tag.
    ready: Ranking<(u128, u32)>,
    /// Those of them that can claim a promise.
    due: Ranking<Due>,
    /// Children with packets that may leave later, by when.
    waiting: Ranking<(Instant, u32)>,
    virtual_time: u128,
    /// The largest finish tag so far. The virtual time jumps to it when no child has packets.
    greatest: u128,
    /// The sum over ready children.
    weight: u64,
}

impl Node {
    pub(super) fn new(place: Option<Place>, limit: Option<Rate>) -> Self {
        Node {
            place,
            level: 1,
            limit: limit.map(|rate| Credit::new(rate, saved(rate))),
            promise: None,
            children: Vec::new(),
            ready: Ranking::new(),
            due: Ranking::new(),
            waiting: Ranking::new(),
            virtual_time: 0,
            greatest: 0,
            weight: 0,
        }
    }

    /// Adds a child and returns its number.
    pub(super) fn add(&mut self, behind: Behind) -> u32 {
        self.children.push(Child { behind, finish: 0, weight: 0 });
        self.children.len() as u32 - 1
    }

    /// Reserves memory for all children.
    pub(super) fn reserve(&mut self) {
        let children = self.children.len();
        self.ready.reserve(children);
        self.due.reserve(children);
        self.waiting.reserve(children);
    }

    pub(super) fn child(&self, number: u32) -> Behind {
        self.children[number as usize].behind
    }

    /// The child whose promise is to be kept next.
    pub(super) fn first_due(&self) -> Option<u32> {
        self.due.first().map(|(_, number)| number)
    }

    /// The child that is next in turn.
    pub(super) fn first_ready(&self) -> Option<u32> {
        self.ready.first().map(|(_, number)| number)
    }

    /// When this node may send.
    pub(super) fn free_at(&self) -> Instant {
        self.limit.as_ref().map_or(Instant::START, Credit::free_at)
    }

    /// When the next packet may leave, whatever is in front of this node; `None` without packets.
    pub(super) fn ready_at(&self) -> Option<Instant> {
        let inside = match self.ready.first() {
            Some(_) => Some(Instant::START),
            None => self.waiting.first().map(|((at, _), _)| at),
        };
        inside.map(|at| at.max(self.free_at()))
    }

    /// What it can do at `now`, as the child of another node.
    pub(super) fn state(&self, now: Instant) -> State {
        let own = || {
            let since = self.promise.as_ref()?.free_at();
            (since <= now).then_some((self.level, since))
        };
        let claims = self.due.first().map(|((level, since, _), _)| (level, since)).or_else(own);
        let due = claims.filter(|_| self.ready.first().is_some());
        State { ready_at: self.ready_at(), due, weight: self.weight }
    }

    /// Sets the state of a child at `now`.
    pub(super) fn set(&mut self, now: Instant, number: u32, state: State) {
        let is_idle = self.ready.first().is_none() && self.waiting.first().is_none();
        let is_ready = state.ready_at.is_some_and(|at| at <= now);
        let child = &mut self.children[number as usize];
        let weight = if is_ready { state.weight } else { 0 };
        self.weight = self.weight - child.weight + weight;
        child.weight = weight;
        match (is_ready, self.ready.contains(number)) {
            (true, false) => {
                if is_idle {
                    self.virtual_time = self.greatest;
                }
                self.ready.set(number, (child.finish.max(self.virtual_time), number));
            }
            (false, true) => self.ready.remove(number),
            _ => {}
        }
        let waits = state.ready_at.filter(|_| !is_ready).map(|at| (at, number));
        change(&mut self.waiting, number, waits);
        let due = state.due.filter(|_| is_ready).map(|(level, since)| (level, since, number));
        change(&mut self.due, number, due);
    }

    /// Counts `size` bytes of a child, which leave, against its turn.
    pub(super) fn take_turn(&mut self, number: u32, size: u32) {
        let child = &mut self.children[number as usize];
        let start = self.ready.key(number).map_or(self.virtual_time, |(start, _)| start);
        self.virtual_time = self.virtual_time.max(start);
        child.finish = start + u128::from(size) * BYTE / u128::from(child.weight.max(1));
        self.greatest = self.greatest.max(child.finish);
        if self.ready.contains(number) {
            self.ready.set(number, (child.finish.max(self.virtual_time), number));
        }
    }
}

/// Sets the key of `number`, or removes it.
pub(super) fn change<K: Ord + Copy>(ranking: &mut Ranking<K>, number: u32, key: Option<K>) {
    match key {
        Some(key) => ranking.set(number, key),
        None if ranking.contains(number) => ranking.remove(number),
        None => {}
    }
}
