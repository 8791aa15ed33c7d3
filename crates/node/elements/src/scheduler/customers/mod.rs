//! Customers behind a tree of sites.

mod node;
mod params;
mod prefixes;

use shortflow_packet::{Packet, SenderUpdate};
use shortflow_units::{Instant, Rate};

use self::node::{Behind, Node, Place, State, Tag, change, cost};
use self::params::saved;
pub use self::params::{
    Customer, CustomerSide, CustomerSite, CustomerTreeParams, CustomerTreeSettings,
};
use super::RateRange;
use crate::meter::credit::Credit;
use crate::queue::{Ranking, Shaper, ShaperParams};
use crate::{Backlog, Drops, QueueDiscipline, Queued};

/// Shares a line among customers behind a tree of sites, as Linux's HTB does (tc-htb(8)).
///
/// ```text
/// line ─┬─ site ─┬─ customer     the longest prefix of the packet's address finds the customer
///       │        └─ customer
///       ├─ customer
///       └─ unknown addresses    after all customers
/// ```
///
/// Each customer has a queue of its own. It never gets more than `at_most`, and no site more than its rate. Promises come
/// first: a customer gets `at_least` when it needs it. What a site was guaranteed for its idle customers goes to its busy
/// ones. The rest is shared in proportion to `at_most`, where customers with less than 12 Mbit/s count as 12, and
/// with more than 1.6 Gbit/s as 1.6: on a device a turn is a frame to 200 KB. So shares are weighted max–min fair.
///
/// The rest is shared by start-time fair queueing among all customers (Goyal, Vin & Cheng 1996). A site that is full holds
/// its customers back, so their tags would fall behind. Each site counts its tags from an offset of its own, which moves
/// up when the site may send again: so it gains nothing for later, and its customers keep their order. What the guarantee of
/// a site pays moves the offset down, and so does not count against the site's share of the rest.
///
/// O(d · log n) for n customers behind d sites, and a look-up of the address for each length of a prefix that occurs.
pub struct CustomerTree {
    params: CustomerTreeParams,
    /// One for each customer, then that of unknown addresses.
    leaves: Vec<Leaf>,
    /// The line, then the sites.
    nodes: Vec<Node>,
    /// When something of a customer or a site changes by itself: leaves, then nodes.
    changes: Ranking<(Instant, u32)>,
    /// The start tag of the last packet that the line has paid, as the line counts.
    virtual_time: Tag,
    /// The largest finish tag so far. The virtual time jumps to it when no packet waits.
    greatest: Tag,
    held: Backlog,
    /// The customer whose packet is on the line.
    sending: Option<usize>,
    /// From the line to the customer whose packet leaves: each node, and the number of its child.
    path: Vec<(usize, u32)>,
}

struct Leaf {
    queue: Box<dyn QueueDiscipline>,
    place: Place,
    weight: u64,
    guarantee: Credit,
    /// The finish tag of its last packet, as its node counts.
    finish: Tag,
}

/// The line, among the nodes.
const LINE: usize = 0;
/// Customers with less count as this, in bit/s: a frame of 1514 bytes in a millisecond.
const LEAST_WEIGHT: u64 = 1514 * 8 * 1000;
/// Customers with more count as this: 200 KB in a millisecond, the longest turn that HTB takes without a warning.
const GREATEST_WEIGHT: u64 = 200_000 * 8 * 1000;
/// That of unknown addresses: they come after customers.
const UNKNOWN_WEIGHT: u64 = 1;
/// So many queues get room for all packets in advance.
const RESERVED_LEAVES: usize = 64;
/// The part of the line that unknown addresses get at any time: one in so many.
const UNKNOWN_PART: u64 = 100;

impl CustomerTree {
    /// A queue before a line of this rate. `queue` makes the queue of each customer by its number; the last is that of
    /// unknown addresses.
    pub fn new(
        params: CustomerTreeParams,
        line: Rate,
        mut queue: impl FnMut(usize) -> Box<dyn QueueDiscipline>,
    ) -> Self {
        let settings = params.settings();
        let rate = settings.rate.map_or(line, |rate| rate.min(line));
        let mut nodes = vec![Node::new(None, settings.rate)];
        nodes.extend(settings.sites.iter().map(|site| Node::new(None, Some(site.rate))));
        for (at, site) in settings.sites.iter().enumerate() {
            let front = site.parent.map_or(LINE, |parent| parent + 1);
            let number = nodes[front].add(Behind::Node(at + 1));
            nodes[at + 1].place = Some(Place { node: front, number });
        }
        let part = Rate::from_bits_per_sec((rate.bits_per_sec() / UNKNOWN_PART).max(1));
        let least = settings.unknown.map_or(part, |most| most.min(part));
        let unknown = RateRange::new(least, settings.unknown).expect("at most the limit");
        let customers = settings.customers.iter().map(|one| {
            let most = one.rates.at_most().unwrap_or(rate);
            let weight = most.bits_per_sec().clamp(LEAST_WEIGHT, GREATEST_WEIGHT);
            (one.rates, one.site.map_or(LINE, |site| site + 1), weight)
        });
        let unknown = std::iter::once((unknown, LINE, UNKNOWN_WEIGHT));
        let mut guaranteed = vec![0; nodes.len()];
        let mut leaves = Vec::with_capacity(settings.customers.len() + 1);
        for (at, (rates, node, weight)) in customers.chain(unknown).enumerate() {
            let number = nodes[node].add(Behind::Leaf(at));
            let guarantee = Credit::new(rates.at_least(), saved(rates.at_least()));
            let queue = limited(queue(at), rates.at_most());
            let place = Place { node, number };
            leaves.push(Leaf { queue, place, weight, guarantee, finish: Tag::MIN });
            for node in up(&nodes, node) {
                guaranteed[node] += rates.at_least().bits_per_sec();
            }
        }
        for (at, guaranteed) in guaranteed.into_iter().enumerate().skip(1) {
            let depth = up(&nodes, at).count();
            nodes[at].level = (CustomerTreeParams::MAX_DEPTH + 2 - depth) as u8;
            let rate = Rate::from_bits_per_sec(guaranteed);
            nodes[at].guarantee = (guaranteed > 0).then(|| Credit::new(rate, saved(rate)));
        }
        nodes.iter_mut().for_each(Node::reserve);
        let mut changes = Ranking::new();
        changes.reserve(leaves.len() + nodes.len());
        let held = Backlog::default();
        CustomerTree {
            params,
            leaves,
            nodes,
            changes,
            virtual_time: 0,
            greatest: 0,
            held,
            sending: None,
            path: Vec::with_capacity(CustomerTreeParams::MAX_DEPTH + 1),
        }
    }

    /// The customer of a packet; unknown addresses have the last leaf.
    #[inline]
    fn customer(&self, packet: &Packet) -> usize {
        let address = match self.params.settings().side {
            CustomerSide::Source => packet.key.src,
            CustomerSide::Destination => packet.key.dst,
        };
        let owner = self.params.prefixes().owner(address);
        owner.map_or(self.leaves.len() - 1, |owner| owner as usize)
    }

    /// What is added to the tags of a node to get those of the line.
    fn offset(&self, node: usize) -> Tag {
        up(&self.nodes, node).map(|at| self.nodes[at].offset).sum()
    }

    /// Brings a customer up to date at `now`, and all sites in front of it.
    fn update_leaf(&mut self, now: Instant, at: usize) {
        let Place { node, number } = self.leaves[at].place;
        let virtual_time = self.virtual_time - self.offset(node);
        let leaf = &self.leaves[at];
        let since = leaf.guarantee.free_at();
        let (state, next) = match leaf.queue.ready_at() {
            None => (State::Idle, None),
            Some(ready_at) if ready_at > now => (State::Waits(ready_at), Some(ready_at)),
            Some(_) => {
                let due = (since <= now).then_some((0, since));
                let tag = leaf.finish.max(virtual_time);
                // A packet that waits for its turn keeps its tag.
                let tag = self.nodes[node].tag(number).unwrap_or(tag);
                let state = State::Ready { tag, due, weight: leaf.weight };
                (state, Some(since).filter(|at| *at > now))
            }
        };
        change(&mut self.changes, at as u32, next.map(|next| (next, at as u32)));
        self.nodes[node].set(number, state);
        self.update_node(now, node);
    }

    /// Brings a site up to date at `now`, and all in front of it.
    fn update_node(&mut self, now: Instant, from: usize) {
        let mut at = from;
        while let Some(Place { node, number }) = self.nodes[at].place {
            let name = (self.leaves.len() + at) as u32;
            let next = self.nodes[at].changes_at(now);
            change(&mut self.changes, name, next.map(|next| (next, name)));
            let mut state = self.nodes[at].state(now);
            if let State::Ready { tag, .. } = &mut state
                && !self.nodes[node].is_ready(number)
            {
                let behind = self.virtual_time - self.offset(node) - *tag;
                if behind > 0 {
                    self.nodes[at].offset += behind;
                    *tag += behind;
                }
            }
            self.nodes[node].set(number, state);
            at = node;
        }
    }

    /// Brings up to date what has changed by itself until `now`.
    fn wake(&mut self, now: Instant) {
        while let Some(((at, _), name)) = self.changes.first()
            && at <= now
        {
            match (name as usize).checked_sub(self.leaves.len()) {
                None => self.update_leaf(now, name as usize),
                Some(node) => self.update_node(now, node),
            }
        }
    }

    /// Chooses the customer that sends next: sets the path to it, and returns its number and where on the path the node
    /// is that pays; the length of the path if the customer's own guarantee pays.
    fn choose(&mut self) -> Option<(usize, usize)> {
        self.path.clear();
        let (mut node, mut payer) = (LINE, None);
        loop {
            let due = self.nodes[node].first_due().filter(|_| payer.is_none());
            let number = match due {
                Some(number) => number,
                None => {
                    payer.get_or_insert(self.path.len());
                    self.nodes[node].first_ready()?
                }
            };
            self.path.push((node, number));
            match self.nodes[node].child(number) {
                Behind::Node(next) => node = next,
                Behind::Leaf(leaf) => return Some((leaf, payer.unwrap_or(self.path.len()))),
            }
        }
    }

    /// Charges `packet` of a customer, which leaves at `now` on the path.
    fn charge(&mut self, now: Instant, at: usize, payer: usize, packet: &Packet) {
        let size = packet.bytes();
        let leaf = &mut self.leaves[at];
        let Place { node, number } = leaf.place;
        let start = self.nodes[node].tag(number).unwrap_or(leaf.finish);
        if payer == self.path.len() {
            leaf.guarantee.pay(now, size);
            leaf.finish = start;
        } else {
            leaf.finish = start + cost(packet.size, leaf.weight);
            let (finish, offset) = (leaf.finish, self.offset(node));
            if payer == LINE {
                self.virtual_time = self.virtual_time.max(start + offset);
            } else {
                let payer = &mut self.nodes[self.path[payer].0];
                payer.offset -= cost(packet.size, payer.weight());
            }
            self.greatest = self.greatest.max(finish + offset);
        }
        for (depth, (node, _)) in self.path.iter().enumerate() {
            let node = &mut self.nodes[*node];
            if depth <= payer
                && let Some(guarantee) = &mut node.guarantee
            {
                guarantee.pay(now, size);
            }
            if let Some(limit) = &mut node.limit {
                limit.pay(now, size);
            }
        }
        self.nodes[node].set(number, State::Idle);
    }

    fn update_all(&mut self, now: Instant) {
        (0..self.leaves.len()).for_each(|leaf| self.update_leaf(now, leaf));
    }

    /// Counts what a customer's queue holds more or less than before.
    fn recount(&mut self, leaf: usize, before: Backlog) {
        let after = self.leaves[leaf].queue.backlog();
        self.held.packets = self.held.packets + after.packets - before.packets;
        self.held.bytes = self.held.bytes + after.bytes - before.bytes;
    }

    fn queues(&mut self) -> impl Iterator<Item = &mut Box<dyn QueueDiscipline>> {
        self.leaves.iter_mut().map(|leaf| &mut leaf.queue)
    }
}

/// A node and those in front of it, up to the line.
fn up(nodes: &[Node], node: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(node), |at| nodes[*at].place.map(|place| place.node))
}

fn limited(queue: Box<dyn QueueDiscipline>, most: Option<Rate>) -> Box<dyn QueueDiscipline> {
    let Some(most) = most else { return queue };
    let params = ShaperParams::new(most, saved(most)).expect("a checked rate is above zero");
    Box::new(Shaper::new(params, queue))
}

fn is_by(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}

impl QueueDiscipline for CustomerTree {
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        let leaf = self.customer(&packet);
        if self.held.packets == 0 {
            self.virtual_time = self.greatest;
        }
        let before = self.leaves[leaf].queue.backlog();
        self.leaves[leaf].queue.enqueue(now, packet, drops);
        self.recount(leaf, before);
        self.update_leaf(now, leaf);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        self.wake(now);
        if self.nodes[LINE].free_at() > now {
            return None;
        }
        while let Some((leaf, payer)) = self.choose() {
            let before = self.leaves[leaf].queue.backlog();
            let queued = self.leaves[leaf].queue.dequeue(now, drops);
            self.recount(leaf, before);
            if let Some(queued) = queued {
                self.sending = Some(leaf);
                self.charge(now, leaf, payer, &queued.packet);
                self.update_leaf(now, leaf);
                return Some(queued);
            }
            self.update_leaf(now, leaf);
            if is_by(self.leaves[leaf].queue.ready_at(), now) {
                return None;
            }
        }
        None
    }

    fn ready_at(&self) -> Option<Instant> {
        let (mut node, mut at) = (LINE, Instant::START);
        loop {
            at = at.max(self.nodes[node].free_at());
            let Some(number) = self.nodes[node].first_ready() else {
                return self.nodes[node].ready_at().map(|ready_at| ready_at.max(at));
            };
            match self.nodes[node].child(number) {
                Behind::Node(next) => node = next,
                Behind::Leaf(leaf) => {
                    return self.leaves[leaf].queue.ready_at().map(|own| own.max(at));
                }
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.held
    }

    fn departed(&mut self, now: Instant) {
        if let Some(leaf) = self.sending.take() {
            self.leaves[leaf].queue.departed(now);
        }
    }

    /// Each customer may get the whole line.
    fn set_rate(&mut self, now: Instant, rate: Rate) {
        let rate = self.params.settings().rate.map_or(rate, |own| own.min(rate));
        self.queues().for_each(|queue| queue.set_rate(now, rate));
        self.update_all(now);
    }

    /// With many customers their queues grow as packets come: room for all packets in each would be too much.
    fn reserve(&mut self, packets: usize, flows: usize) {
        if self.leaves.len() <= RESERVED_LEAVES {
            self.queues().for_each(|queue| queue.reserve(packets, flows));
        }
    }

    fn listens(&self) -> bool {
        self.leaves.iter().any(|leaf| leaf.queue.listens())
    }

    fn on_sender_event(&mut self, now: Instant, news: &SenderUpdate) {
        self.queues().for_each(|queue| queue.on_sender_event(now, news));
        self.update_all(now);
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.leaves.iter().for_each(|leaf| leaf.queue.counters(visit));
    }

    fn ecn_marks(&self) -> u64 {
        self.leaves.iter().map(|leaf| leaf.queue.ecn_marks()).sum()
    }
}
