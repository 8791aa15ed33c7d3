//! What became of the packets of each TCP connection.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use shortflow_elements::{FlowKey, Protocol, TcpFlags};

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

/// The latest connection of each 5-tuple, for others to look at while packets pass.
#[derive(Debug, Clone, Default)]
pub struct Tallies(Arc<Mutex<ByKey>>);

type ByKey = FxHashMap<NodeKey, ConnectionTally>;

impl Tallies {
    /// What became so far of the packets of the latest connection with this 5-tuple, from client to server;
    /// none while its opening was not seen.
    pub fn of(&self, key: FlowKey) -> Option<ConnectionTally> {
        let key = NodeKey::of(key, usize::MAX)?;
        self.with(|tallies| tallies.get(&key).copied())
    }

    /// A host sends a packet.
    pub(crate) fn sent(&self, key: NodeKey, flags: TcpFlags) {
        if key.transport.protocol() != Protocol::TCP {
            return;
        }
        let (is_syn, is_answer) = (flags.has(TcpFlags::SYN), flags.has(TcpFlags::ACK));
        self.with(|tallies| {
            if is_syn && !is_answer {
                let tally = tallies.entry(key).or_default();
                if !tally.is_opening() {
                    *tally = ConnectionTally::default();
                }
            }
            if let Some(tally) = of_either_way(tallies, key) {
                tally.sent += 1;
                tally.syns[usize::from(is_answer)] += u32::from(is_syn);
            }
        });
    }

    /// A packet has ended its journey, as of this colour.
    pub(crate) fn ended(&self, key: NodeKey, color: usize, is_dropped: bool) {
        if key.transport.protocol() != Protocol::TCP {
            return;
        }
        self.with(|tallies| {
            if let Some(tally) = of_either_way(tallies, key) {
                tally.marked[color] += 1;
                tally.dropped += u32::from(is_dropped);
            }
        });
    }

    /// Whoever else looks at them holds them for a moment only.
    fn with<T>(&self, act: impl FnOnce(&mut ByKey) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The connection to which a packet belongs, whichever way it goes.
fn of_either_way(tallies: &mut ByKey, key: NodeKey) -> Option<&mut ConnectionTally> {
    let client = if tallies.contains_key(&key) { key } else { key.reversed() };
    tallies.get_mut(&client)
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::NodeId;

    use super::*;

    #[test]
    fn a_connection_begins_with_its_syns_and_another_of_the_same_ports_begins_anew() {
        let key = NodeKey { src: NodeId(1), dst: NodeId(2), src_port: 1024, ..NodeKey::default() };
        let tallies = Tallies::default();
        let found = || tallies.of(key.into()).unwrap();
        assert_eq!(tallies.of(key.into()), None);
        tallies.sent(key.reversed(), TcpFlags::ACK);
        assert_eq!(tallies.of(key.into()), None, "nobody saw it open");
        tallies.sent(key, TcpFlags::SYN);
        tallies.ended(key, 3, true);
        tallies.sent(key, TcpFlags::SYN);
        tallies.sent(key.reversed(), TcpFlags::SYN.with(TcpFlags::ACK));
        tallies.sent(key, TcpFlags::ACK);
        tallies.ended(key, 0, false);
        let expected = ConnectionTally { sent: 4, dropped: 1, marked: [1, 0, 0, 1], syns: [2, 1] };
        assert_eq!((found(), found().syn_retransmissions()), (expected, 1));
        tallies.sent(key, TcpFlags::SYN);
        assert_eq!(found().sent, 1);
    }
}
