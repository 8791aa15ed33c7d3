//! Tallies of the packets of each TCP connection.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use shortflow_packet::{FlowKey, Protocol, TcpFlags};
use shortflow_scenario::Addresses;

use crate::network::key::NodeKey;

/// The packets of a TCP connection, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionTally {
    /// Packets sent.
    pub sent: u32,
    /// Packets dropped.
    pub dropped: u32,
    /// Delivered packets, marked green, yellow, red, or otherwise.
    pub marked: [u32; 4],
    /// SYNs and SYN-ACKs sent.
    pub syns: [u32; 2],
}

impl ConnectionTally {
    /// SYNs and SYN-ACKs that were retransmitted.
    pub fn syn_retransmissions(&self) -> u32 {
        self.syns.iter().map(|count| count.saturating_sub(1)).sum()
    }

    /// Whether only SYNs and SYN-ACKs were seen so far: a further one belongs to the same opening.
    fn is_opening(&self) -> bool {
        self.sent == self.syns[0] + self.syns[1]
    }
}

/// The latest connection of each 5-tuple, readable while packets pass. The number is limited: a new
/// connection replaces one that has been idle for about the longest time.
#[derive(Debug, Clone)]
pub struct Tallies {
    book: Arc<Mutex<Book>>,
    addresses: Arc<Addresses>,
}

/// The limit on connections.
const MAX_CONNECTIONS: usize = 1 << 14;

impl Tallies {
    /// Empty tallies, for hosts with these addresses.
    pub(crate) fn new(addresses: Arc<Addresses>) -> Self {
        Tallies { book: Arc::default(), addresses }
    }

    /// The tally so far of the latest connection with this 5-tuple, from client to server. `None` if its
    /// opening was not seen, or if it was removed.
    pub fn get(&self, key: FlowKey) -> Option<ConnectionTally> {
        let key = NodeKey::from_flow_key(key, &self.addresses)?;
        self.with(|book| {
            book.find(key).filter(|known| known.client == key).map(|known| known.tally)
        })
    }

    /// The connection has ended, and its tally is no longer needed.
    pub fn forget(&self, key: FlowKey) {
        if let Some(key) = NodeKey::from_flow_key(key, &self.addresses) {
            self.with(|book| book.forget(key));
        }
    }

    /// A host sends a packet.
    pub(crate) fn sent(&self, key: NodeKey, flags: TcpFlags) {
        if key.transport.protocol() != Protocol::TCP {
            return;
        }
        let (is_syn, is_answer) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK));
        self.with(|book| {
            if is_syn && !is_answer {
                book.open(key);
            }
            if let Some(known) = book.find(key) {
                known.is_recent |= !is_syn;
                known.tally.sent += 1;
                known.tally.syns[usize::from(is_answer)] += u32::from(is_syn);
            }
        });
    }

    /// A packet was delivered, with this colour.
    pub(crate) fn ended(&self, key: NodeKey, color: usize, is_dropped: bool) {
        if key.transport.protocol() != Protocol::TCP {
            return;
        }
        self.with(|book| {
            if let Some(known) = book.find(key) {
                known.tally.marked[color] += 1;
                known.tally.dropped += u32::from(is_dropped);
            }
        });
    }

    /// Other readers hold the lock only briefly.
    fn with<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        act(&mut self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All connections in memory. It allocates its maximum size at the start.
#[derive(Debug)]
struct Book {
    /// The index in `known` of a connection, by its two ends in either order.
    places: FxHashMap<NodeKey, u32>,
    known: Vec<Known>,
    free: Vec<u32>,
    /// The next candidate for replacement.
    hand: usize,
}

#[derive(Debug)]
struct Known {
    /// From client to server.
    client: NodeKey,
    tally: ConnectionTally,
    /// Whether it had packets other than SYNs since it was last a candidate.
    is_recent: bool,
}

impl Default for Book {
    fn default() -> Self {
        let mut places = FxHashMap::default();
        // Twice the entries: removals then never make the table grow, but only rehash in place.
        places.reserve(2 * MAX_CONNECTIONS);
        let (known, free) =
            (Vec::with_capacity(MAX_CONNECTIONS), Vec::with_capacity(MAX_CONNECTIONS));
        Book { places, known, free, hand: 0 }
    }
}

impl Book {
    /// The connection of a packet in either direction.
    fn find(&mut self, key: NodeKey) -> Option<&mut Known> {
        let place = *self.places.get(&both_ways(key))?;
        self.known.get_mut(place as usize)
    }

    /// A client sends a SYN: a connection begins, unless the SYN is a repetition.
    fn open(&mut self, client: NodeKey) {
        let fresh = Known { client, tally: ConnectionTally::default(), is_recent: false };
        match self.find(client) {
            Some(known) if known.client == client && known.tally.is_opening() => {}
            Some(known) => *known = fresh,
            None => self.insert(fresh),
        }
    }

    fn insert(&mut self, fresh: Known) {
        if self.free.is_empty() && self.known.len() == MAX_CONNECTIONS {
            let place = self.next_to_go();
            self.forget(self.known[place].client);
        }
        let key = both_ways(fresh.client);
        let place = self.free.pop().unwrap_or(self.known.len() as u32);
        match self.known.get_mut(place as usize) {
            Some(known) => *known = fresh,
            None => self.known.push(fresh),
        }
        self.places.insert(key, place);
    }

    fn forget(&mut self, key: NodeKey) {
        self.free.extend(self.places.remove(&both_ways(key)));
    }

    /// A connection without packets for a round. All are checked at most twice, and few on average.
    fn next_to_go(&mut self) -> usize {
        loop {
            let at = self.hand;
            self.hand = (at + 1) % MAX_CONNECTIONS;
            if !std::mem::take(&mut self.known[at].is_recent) {
                return at;
            }
        }
    }
}

/// The same for both directions.
fn both_ways(key: NodeKey) -> NodeKey {
    key.min(key.reversed())
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::NodeId;

    use super::*;

    fn none() -> Tallies {
        Tallies::new(Arc::new(Addresses::automatic()))
    }

    #[test]
    fn a_connection_begins_with_its_syns_and_another_of_the_same_ports_begins_anew() {
        let key = NodeKey { src: NodeId(1), dst: NodeId(2), src_port: 1024, ..NodeKey::default() };
        let tallies = none();
        let from_client = key.flow_key(&tallies.addresses);
        let found = || tallies.get(from_client).unwrap();
        assert_eq!(tallies.get(from_client), None);
        tallies.sent(key.reversed(), TcpFlags::ACK);
        assert_eq!(tallies.get(from_client), None, "nobody saw it open");
        tallies.sent(key, TcpFlags::SYN);
        tallies.ended(key, 3, true);
        tallies.sent(key, TcpFlags::SYN);
        tallies.sent(key.reversed(), TcpFlags::SYN.with(TcpFlags::ACK));
        tallies.sent(key, TcpFlags::SYN);
        tallies.sent(key.reversed(), TcpFlags::SYN.with(TcpFlags::ACK));
        tallies.sent(key, TcpFlags::ACK);
        tallies.ended(key, 0, false);
        let expected = ConnectionTally { sent: 6, dropped: 1, marked: [1, 0, 0, 1], syns: [3, 2] };
        assert_eq!((found(), found().syn_retransmissions()), (expected, 3));
        tallies.sent(key, TcpFlags::SYN);
        assert_eq!(found().sent, 1);
    }

    #[test]
    fn as_many_as_ever_open_are_not_all_remembered_but_those_that_go_on_are() {
        let key = |number: u32| NodeKey {
            src: NodeId(number),
            dst: NodeId(u32::MAX),
            dst_port: 80,
            ..NodeKey::default()
        };
        let tallies = none();
        tallies.sent(key(0), TcpFlags::SYN);
        let room = || tallies.with(|book| (book.places.capacity(), book.known.capacity()));
        let before = room();
        for number in 1..5 * MAX_CONNECTIONS as u32 {
            tallies.sent(key(number), TcpFlags::SYN);
            tallies.sent(key(0).reversed(), TcpFlags::ACK);
        }
        tallies.with(|book| {
            assert_eq!((book.known.len(), book.places.len()), (MAX_CONNECTIONS, MAX_CONNECTIONS))
        });
        let sent = tallies.with(|book| book.find(key(0)).unwrap().tally.sent);
        assert_eq!(sent, 5 * MAX_CONNECTIONS as u32, "it was never silent");
        assert!(tallies.with(|book| book.find(key(1)).is_none()), "silent since the beginning");
        assert_eq!(room(), before, "all the room was there from the beginning");
    }

    #[test]
    fn what_is_forgotten_makes_room() {
        let key = NodeKey { src: NodeId(1), dst: NodeId(2), ..NodeKey::default() };
        let tallies = none();
        tallies.sent(key, TcpFlags::SYN);
        tallies.forget(key.flow_key(&tallies.addresses));
        assert_eq!(tallies.get(key.flow_key(&tallies.addresses)), None);
        tallies.sent(NodeKey { src_port: 9, ..key }, TcpFlags::SYN);
        tallies.with(|book| assert_eq!((book.known.len(), book.free.len()), (1, 0)));
    }
}
