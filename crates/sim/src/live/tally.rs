//! What became of the packets of each TCP connection.

use rustc_hash::FxHashMap;
use shortflow_elements::{Protocol, TcpFlags};

use crate::network::key::NodeKey;

/// What became of the packets of a TCP connection, both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionTally {
    /// Packets sent.
    pub sent: u32,
    /// Packets dropped on the way.
    pub dropped: u32,
    /// Packets that ended their journey marked green, yellow, red, otherwise.
    pub marked: [u32; 4],
    /// SYNs and SYN-ACKs sent.
    pub syns: [u32; 2],
}

impl ConnectionTally {
    /// SYNs and SYN-ACKs that were sent again.
    pub fn syn_retransmissions(&self) -> u32 {
        self.syns.iter().map(|count| count.saturating_sub(1)).sum()
    }

    /// Whether nothing but SYNs was seen so far: one more belongs to the same opening.
    fn is_opening(&self) -> bool {
        self.sent == self.syns[0]
    }
}

/// The connections of each 5-tuple from client to server, in the order in which they were opened.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    connections: FxHashMap<NodeKey, Vec<ConnectionTally>>,
}

impl Tallies {
    /// A host sends a packet.
    pub(crate) fn sent(&mut self, key: NodeKey, flags: TcpFlags) {
        if key.protocol != Protocol::TCP {
            return;
        }
        let (is_syn, is_answer) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK));
        if is_syn && !is_answer {
            let tallies = self.connections.entry(key).or_default();
            if tallies.last().is_none_or(|last| !last.is_opening()) {
                tallies.push(ConnectionTally::default());
            }
        }
        if let Some(tally) = self.last(key) {
            tally.sent += 1;
            tally.syns[usize::from(is_answer)] += u32::from(is_syn);
        }
    }

    /// A packet has ended its journey, as of this colour.
    pub(crate) fn ended(&mut self, key: NodeKey, color: usize, is_dropped: bool) {
        if key.protocol == Protocol::TCP
            && let Some(tally) = self.last(key)
        {
            tally.marked[color] += 1;
            tally.dropped += u32::from(is_dropped);
        }
    }

    /// The connections of this 5-tuple, from client to server.
    pub(crate) fn of(&self, key: NodeKey) -> &[ConnectionTally] {
        self.connections.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The connection to which a packet belongs, whichever way it goes.
    fn last(&mut self, key: NodeKey) -> Option<&mut ConnectionTally> {
        let client = if self.connections.contains_key(&key) { key } else { key.reversed() };
        self.connections.get_mut(&client)?.last_mut()
    }
}
