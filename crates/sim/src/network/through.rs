//! Ports that hand packets on at once, and need no events of their own.
//!
//! When a packet goes on a wire, the time at which it reaches the next node is fixed. If it goes on
//! from there through a plain port that no other port and no host feeds, what happens to it there
//! follows too, since that port gets its packets in the order in which this one sends them. So the
//! packet joins the next port already now, dated with the time at which it will be there: there is
//! one event less for it. What stays on this port's wire is a stub, which is counted once its time
//! has come. Results are the same to the bit: a packet that the next port refuses is dropped when it
//! gets there, and ports whose counts are reported are never joined ahead of time.

use std::collections::VecDeque;

use shortflow_elements::DropReason;
use shortflow_units::Instant;

use crate::network::fabric::Fabric;
use crate::network::layout::Hop;
use crate::network::pool::Parcel;
use crate::network::port::Passage;
use crate::network::routes::{NodeIndex, PortIndex, Routes};

/// What a port keeps that hands packets on at once.
#[derive(Default)]
pub(crate) struct Through {
    /// Packets still on the wire that the next port will refuse.
    refused: VecDeque<Refused>,
}

struct Refused {
    arrives: Instant,
    by: PortIndex,
    parcel: Parcel,
}

impl Hop {
    /// Whether packets may join this port ahead of time.
    fn may_be_joined_ahead(&self) -> bool {
        self.port.is_plain() && self.near.is_none() && !self.port.counters.are_reported()
    }

    /// Packets that are counted at this port, but are at another already.
    pub(crate) fn handed_on(&self) -> u64 {
        let Some(through) = &self.through else { return 0 };
        self.port.on_wire() - through.refused.len() as u64
    }
}

impl Fabric {
    /// Finds the ports that can hand packets on at once when all packets go between these `pairs` of
    /// hosts, one way or the other.
    pub(crate) fn find_through_ports(&mut self, pairs: &[(NodeIndex, NodeIndex)]) {
        let ports = &self.network.ports;
        let ends: Vec<NodeIndex> = ports.iter().map(|hop| hop.to).collect();
        let may_feed = |from: PortIndex, into: PortIndex| {
            ports[from as usize].far.is_none() && ports[into as usize].may_be_joined_ahead()
        };
        let through = through_ports(&ends, &self.network.routes, pairs, may_feed);
        for port in through {
            self.network.ports[port as usize].through = Some(Box::default());
        }
    }

    /// Puts the stub of a packet on the wire of a port that hands packets on at once, and the packet
    /// into the next.
    pub(crate) fn hand_on(&mut self, index: PortIndex, passage: Passage) {
        let Passage { arrives, parcel } = passage;
        let hop = &mut self.network.ports[index as usize];
        if hop.port.wire_is_full() {
            self.totals.hops += hop.port.retire(self.now);
        }
        hop.port.carry(Passage { arrives, parcel: parcel.stub() });
        let next = self.network.routes.port(hop.to, parcel.to);
        match self.network.ports[next as usize].port.book(arrives, &parcel) {
            Some(arrives) => self.carry(next, Passage { arrives, parcel }),
            None => self.refuse_later(index, Refused { arrives, by: next, parcel }),
        }
    }

    #[cold]
    fn refuse_later(&mut self, index: PortIndex, refused: Refused) {
        let arrives = refused.arrives;
        let through = self.network.ports[index as usize].through.as_mut();
        let waiting = &mut through.expect("only such ports hand packets on").refused;
        waiting.push_back(refused);
        if waiting.len() == 1 {
            self.set_arrival(index, arrives);
        }
    }

    /// A packet has arrived that the next port refuses.
    #[cold]
    pub(crate) fn refuse_arrived(&mut self, index: PortIndex) {
        let through = self.network.ports[index as usize].through.as_mut();
        let waiting = &mut through.expect("only such ports hand packets on").refused;
        let refused = waiting.pop_front().expect("only refused packets schedule arrivals here");
        let next_at = waiting.front().map_or(Instant::NEVER, |next| next.arrives);
        self.set_arrival(index, next_at);
        self.refuse(refused.by, refused.parcel, DropReason::Overlimit);
    }

    /// Counts what has passed the ports that hand packets on at once.
    pub(crate) fn retire(&mut self) {
        for hop in self.network.ports.iter_mut().filter(|hop| hop.through.is_some()) {
            self.totals.hops += hop.port.retire(self.now);
        }
    }
}

/// The ports, given by the nodes at their far `ends`, all of whose packets go on through ports that
/// they alone feed, and `may_feed` ahead of time.
fn through_ports(
    ends: &[NodeIndex],
    routes: &Routes,
    pairs: &[(NodeIndex, NodeIndex)],
    may_feed: impl Fn(PortIndex, PortIndex) -> bool,
) -> Vec<PortIndex> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Host,
        Port(PortIndex),
    }
    let mut feeders = vec![Feeder::Nobody; ends.len()];
    let mut is_through = vec![true; ends.len()];
    let mut exclude = |feeder: Feeder| {
        if let Feeder::Port(port) = feeder {
            is_through[port as usize] = false;
        }
    };
    for (from, to) in pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
        let mut node = from;
        let mut feeder = Feeder::Host;
        while node != to {
            let port = routes.port(node, to);
            match &mut feeders[port as usize] {
                known @ Feeder::Nobody => *known = feeder,
                known if *known == feeder => {}
                known => {
                    exclude(*known);
                    exclude(feeder);
                }
            }
            if let Feeder::Port(before) = feeder
                && !may_feed(before, port)
            {
                exclude(feeder);
            }
            feeder = Feeder::Port(port);
            node = ends[port as usize];
        }
        // The last port gives packets to a host.
        exclude(feeder);
    }
    let is_used = |port: &PortIndex| feeders[*port as usize] != Feeder::Nobody;
    (0..ends.len() as PortIndex).filter(|&p| is_through[p as usize]).filter(is_used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ports of a dumbbell that are through ports when packets go between `pairs`, by their
    /// ends. Hosts 0 and 1 hang from router 2, hosts 4 and 5 from router 3.
    fn through(pairs: &[(u32, u32)], except: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let links = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)];
        let ports: Vec<_> = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        let routes = Routes::new(&[false, false, true, true, false, false], &ports);
        let ends: Vec<_> = ports.iter().map(|&(_, to)| to).collect();
        let may_feed = |_, into: PortIndex| !except.contains(&ports[into as usize]);
        let found = through_ports(&ends, &routes, pairs, may_feed);
        found.into_iter().map(|port| ports[port as usize]).collect()
    }

    #[test]
    fn a_bottleneck_hands_on_where_packets_come_over_it_alone() {
        assert_eq!(through(&[(0, 4), (1, 5)], &[]), [(2, 3), (3, 2)]);
        // With one pair nothing comes together anywhere, and all but the last ports hand on.
        assert_eq!(through(&[(0, 4)], &[]), [(0, 2), (2, 3), (3, 2), (4, 3)]);
    }

    #[test]
    fn packets_that_come_together_need_events() {
        // Router 3 sends to host 5 what comes from host 0 over the bottleneck and from host 4; what
        // host 5 sends comes together with nothing.
        assert_eq!(through(&[(0, 5), (4, 5)], &[]), [(0, 2), (3, 2), (5, 3)]);
    }

    #[test]
    fn a_port_that_may_not_be_joined_ahead_keeps_all_its_feeders_packets_back() {
        assert_eq!(through(&[(0, 4), (1, 5)], &[(3, 5)]), [(3, 2)]);
    }

    #[test]
    fn ports_without_packets_are_left_alone() {
        assert_eq!(through(&[], &[]), []);
    }
}
