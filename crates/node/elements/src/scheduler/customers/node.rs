//! A site, or the line: which of the customers and sites behind it is next.

use shortflow_units::{Instant, Rate};

use super::params::saved;
use crate::meter::credit::Credit;
use crate::queue::Ranking;

/// A tag of start-time fair queueing: bytes divided by a weight.
pub(super) type Tag = i128;

/// What a byte costs at a weight of one.
const BYTE: Tag = 8 << 40;

/// What `size` bytes cost at a weight.
pub(super) fn cost(size: u32, weight: u64) -> Tag {
    Tag::from(size) * BYTE / Tag::from(weight.max(1))
}

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

/// A guarantee that is not kept yet, the first first: of customers before those of sites, and of a site before those of the
/// site in front of it; then by the time since when it is due.
type Due = (u8, Instant, u32);

/// What a child of a node can do.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// It has no packet.
    Idle,
    /// Its next packet may leave then, and not before.
    Waits(Instant),
    /// A packet may leave now.
    Ready {
        /// The start tag of the packet, as the node counts.
        tag: Tag,
        /// A guarantee that it can claim: how far it is above customers, and since when.
        due: Option<(u8, Instant)>,
        /// How much of what is left it gets, beside others.
        weight: u64,
    },
}

/// A site, or the line, with the children behind it.
pub(super) struct Node {
    /// `None` for the line.
    pub(super) place: Option<Place>,
    /// How far it is above customers.
    pub(super) level: u8,
    /// What it may send; `None` for a line without a rate of its own.
    pub(super) limit: Option<Credit>,
    /// What is guaranteed to all customers behind it together; `None` for the line.
    pub(super) guarantee: Option<Credit>,
    /// What is added to its tags to get those of the node in front of it.
    pub(super) offset: Tag,
    children: Vec<Behind>,
    /// The weight of each child while it is ready.
    weights: Vec<u64>,
    /// Children with a packet that may leave now, by its start tag.
    ready: Ranking<(Tag, u32)>,
    /// Those of them that can claim a guarantee.
    due: Ranking<Due>,
    /// Children with packets that may leave later, by when.
    waiting: Ranking<(Instant, u32)>,
    /// The sum over ready children.
    weight: u64,
}

impl Node {
    pub(super) fn new(place: Option<Place>, limit: Option<Rate>) -> Self {
        Node {
            place,
            level: 1,
            limit: limit.map(|rate| Credit::new(rate, saved(rate))),
            guarantee: None,
            offset: 0,
            children: Vec::new(),
            weights: Vec::new(),
            ready: Ranking::new(),
            due: Ranking::new(),
            waiting: Ranking::new(),
            weight: 0,
        }
    }

    /// Adds a child and returns its number.
    pub(super) fn add(&mut self, behind: Behind) -> u32 {
        self.children.push(behind);
        self.weights.push(0);
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
        self.children[number as usize]
    }

    /// The sum of the weights of all customers behind it that are ready.
    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    /// Whether a child has this number among those that are ready.
    pub(super) fn is_ready(&self, number: u32) -> bool {
        self.ready.contains(number)
    }

    /// The start tag of a child that is ready.
    pub(super) fn tag(&self, number: u32) -> Option<Tag> {
        self.ready.key(number).map(|(tag, _)| tag)
    }

    /// The child whose guarantee is to be kept next.
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

    /// What it can do at `now`, as the child of the node in front of it.
    pub(super) fn state(&self, now: Instant) -> State {
        let (Some(((tag, _), _)), true) = (self.ready.first(), self.free_at() <= now) else {
            return self.ready_at().map_or(State::Idle, State::Waits);
        };
        let own = || {
            let since = self.guarantee.as_ref()?.free_at();
            (since <= now).then_some((self.level, since))
        };
        let claims = self.due.first().map(|((level, since, _), _)| (level, since)).or_else(own);
        State::Ready { tag: tag + self.offset, due: claims, weight: self.weight }
    }

    /// When the state of a node that has not changed otherwise changes by itself.
    pub(super) fn changes_at(&self, now: Instant) -> Option<Instant> {
        self.ready.first()?;
        let since = self.guarantee.as_ref().map(Credit::free_at);
        [Some(self.free_at()), since].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// Sets the state of a child.
    pub(super) fn set(&mut self, number: u32, state: State) {
        let (tag, due, weight, waits) = match state {
            State::Idle => (None, None, 0, None),
            State::Waits(at) => (None, None, 0, Some(at)),
            State::Ready { tag, due, weight } => (Some(tag), due, weight, None),
        };
        let before = std::mem::replace(&mut self.weights[number as usize], weight);
        self.weight = self.weight - before + weight;
        change(&mut self.ready, number, tag.map(|tag| (tag, number)));
        change(&mut self.due, number, due.map(|(level, since)| (level, since, number)));
        change(&mut self.waiting, number, waits.map(|at| (at, number)));
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
