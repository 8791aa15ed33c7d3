//! Ports that hand packets on at once, without events of their own.
//!
//! When a packet is put on a wire, the time at which it reaches the next node is fixed. Suppose that it
//! leaves that node through a port whose departures follow from arrivals, and which no other port and no host
//! feeds. That port gets its packets in the order in which this port sends them, so the packet's times there
//! follow too. The packet therefore joins the next port at once, with its later arrival time, which saves an
//! event. A stub stays on this port's wire, and is counted when its time has come. Results are identical to
//! the bit: a packet that the next port refuses is dropped at its arrival time, and reported ports are never
//! joined ahead of time.

use std::collections::VecDeque;

use shortflow_elements::DropReason;
use shortflow_scenario::NodeId;
use shortflow_units::Instant;

use crate::network::fabric::Fabric;
use crate::network::index::PortId;
use crate::network::layout::Hop;
use crate::network::pool::Parcel;
use crate::network::port::Passage;
use crate::network::routes::Routes;

/// The state of a port that hands packets on at once.
#[derive(Default)]
pub(crate) struct Through {
    /// Packets on the wire that the next port will refuse.
    refused: VecDeque<Refused>,
}

struct Refused {
    arrives: Instant,
    by: PortId,
    parcel: Parcel,
    reason: DropReason,
}

impl Hop {
    /// Whether packets may join this port ahead of time.
    fn may_be_joined_ahead(&self) -> bool {
        self.port.is_booked() && self.near.is_none() && !self.port.counters.are_reported()
    }

    /// Packets that are counted at this port, but are already at another one.
    pub(crate) fn handed_on(&self) -> u64 {
        let Some(through) = &self.through else { return 0 };
        self.port.on_wire() - through.refused.len() as u64
    }
}

impl Fabric {
    /// Finds the ports that can hand packets on at once, if all packets travel between these `pairs` of
    /// hosts, in either direction.
    pub(crate) fn find_through_ports(&mut self, pairs: &[(NodeId, NodeId)]) {
        let ports = &self.network.ports;
        let ends: Vec<NodeId> = ports.iter().map(|hop| hop.to).collect();
        let may_feed = |from: PortId, into: PortId| {
            ports[from].far.is_none() && ports[into].may_be_joined_ahead()
        };
        let through = through_ports(&ends, &self.network.routes, pairs, may_feed);
        for port in through {
            self.network.ports[port].through = Some(Box::default());
        }
    }

    /// Puts the stub of a packet on the wire of a port that hands packets on at once, and the packet into the
    /// next port, with its time of arrival there.
    pub(crate) fn hand_on(&mut self, index: PortId, arrives: Instant, mut parcel: Parcel) {
        if self.network.ports[index].port.has_gate() {
            // The last port on the path, which is joined next or soon, is one of many.
            let last = self.network.routes.last_hop(parcel.to);
            self.network.ports.get(last).inspect(|last| last.prefetch_policy());
        }
        let hop = &mut self.network.ports[index];
        if hop.port.wire_is_full() {
            self.totals.hops += hop.port.retire(self.now);
        }
        hop.port.carry(Passage { arrives, parcel: parcel.stub() });
        let next = self.network.routes.port(hop.to, parcel.to);
        match self.network.ports[next].port.book(arrives, &mut parcel, &mut self.pool) {
            Ok(arrives) => self.carry(next, Passage { arrives, parcel }),
            Err(reason) => self.refuse_later(index, Refused { arrives, by: next, parcel, reason }),
        }
    }

    #[cold]
    fn refuse_later(&mut self, index: PortId, refused: Refused) {
        let arrives = refused.arrives;
        let through = self.network.ports[index].through.as_mut();
        let waiting = &mut through.expect("only such ports hand packets on").refused;
        waiting.push_back(refused);
        if waiting.len() == 1 {
            self.set_arrival(index, arrives);
        }
    }

    /// A packet arrives that the next port refuses.
    #[cold]
    pub(crate) fn refuse_arrived(&mut self, index: PortId) {
        let through = self.network.ports[index].through.as_mut();
        let waiting = &mut through.expect("only such ports hand packets on").refused;
        let refused = waiting.pop_front().expect("only refused packets schedule arrivals here");
        let next_at = waiting.front().map_or(Instant::NEVER, |next| next.arrives);
        self.set_arrival(index, next_at);
        self.refuse(refused.by, refused.parcel, refused.reason);
    }

    /// Counts the packets that have passed the ports that hand packets on at once.
    pub(crate) fn retire(&mut self) {
        for hop in self.network.ports.iter_mut().filter(|hop| hop.through.is_some()) {
            self.totals.hops += hop.port.retire(self.now);
        }
    }
}

/// The ports, with the nodes at their far `ends`, whose packets all continue through ports that only they
/// feed, and which they `may_feed` ahead of time.
fn through_ports(
    ends: &[NodeId],
    routes: &Routes,
    pairs: &[(NodeId, NodeId)],
    may_feed: impl Fn(PortId, PortId) -> bool,
) -> Vec<PortId> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Host,
        Port(PortId),
    }
    let mut feeders = vec![Feeder::Nobody; ends.len()];
    let mut is_through = vec![true; ends.len()];
    let mut exclude = |feeder: Feeder| {
        if let Feeder::Port(port) = feeder {
            is_through[port.index()] = false;
        }
    };
    for (from, to) in pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
        let mut node = from;
        let mut feeder = Feeder::Host;
        while node != to {
            let port = routes.port(node, to);
            match &mut feeders[port.index()] {
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
            node = ends[port.index()];
        }
        // The last port delivers packets to a host.
        exclude(feeder);
    }
    let is_used = |port: &PortId| feeders[port.index()] != Feeder::Nobody;
    PortId::first(ends.len()).filter(|port| is_through[port.index()]).filter(is_used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ports of a dumbbell that are through ports when packets go between `pairs`, by their
    /// ends. Hosts 0 and 1 hang from router 2, hosts 4 and 5 from router 3.
    fn through(pairs: &[(u32, u32)], except: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let links = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)];
        let ports: Vec<_> = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        let nodes = |pairs: &[(u32, u32)]| -> Vec<(NodeId, NodeId)> {
            pairs.iter().map(|&(a, b)| (NodeId(a), NodeId(b))).collect()
        };
        let routes = Routes::new(&[false, false, true, true, false, false], &nodes(&ports));
        let ends: Vec<_> = ports.iter().map(|&(_, to)| NodeId(to)).collect();
        let may_feed = |_, into: PortId| !except.contains(&ports[into.index()]);
        let found = through_ports(&ends, &routes, &nodes(pairs), may_feed);
        found.into_iter().map(|port| ports[port.index()]).collect()
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
