//! Routes: fewest hops, and the first link in case of ties.
//!
//! A node with one link needs no table, and a router needs one entry per router, not per host. The tables
//! have (routers)² entries, whatever the number of hosts.

use std::collections::VecDeque;

use shortflow_scenario::NodeId;

use crate::network::index::PortId;

/// Means that there is no port.
const NO_PORT: PortId = PortId(u32::MAX);

/// Means that there is no row.
const NO_ROW: u32 = u32::MAX;

/// The routes of all nodes.
#[derive(Debug)]
pub(crate) struct Routes {
    nodes: Vec<Node>,
    /// The first port of the path from the node of a row to the node of a column.
    table: Vec<PortId>,
    rows: usize,
}

/// A node, as a source and as a destination.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The only port of a node that has just one, else `NO_PORT`.
    only: PortId,
    /// The node that represents this one in the table: itself, or its only neighbour.
    attachment: NodeId,
    /// The port from the attachment to this node, if they differ.
    last_hop: PortId,
    /// The row and column of the attachment in the table.
    row: u32,
}

impl Routes {
    /// Routes over `ports`, each a pair of nodes (from, to). Only nodes for which `forwards` is true forward
    /// packets.
    pub(crate) fn new(forwards: &[bool], ports: &[(NodeId, NodeId)]) -> Self {
        let nodes = forwards.len();
        let mut out: Vec<Vec<PortId>> = vec![Vec::new(); nodes];
        for (port, (from, _)) in PortId::first(ports.len()).zip(ports) {
            out[from.index()].push(port);
        }
        let mut routes = Routes { nodes: Vec::new(), table: Vec::new(), rows: 0 };
        for (node, ports) in out.iter().enumerate() {
            let only = if let [only] = ports[..] { only } else { NO_PORT };
            let row = if ports.len() > 1 { routes.rows as u32 } else { NO_ROW };
            routes.rows += usize::from(ports.len() > 1);
            let attachment = NodeId(node as u32);
            routes.nodes.push(Node { only, attachment, last_hop: NO_PORT, row });
        }
        for (port, &(from, to)) in PortId::first(ports.len()).zip(ports) {
            if routes.nodes[to.index()].only != NO_PORT {
                let row = routes.nodes[from.index()].row;
                let node = &mut routes.nodes[to.index()];
                *node = Node { attachment: from, last_hop: port, row, ..*node };
            }
        }
        routes.table = vec![NO_PORT; routes.rows * routes.rows];
        for source in (0..nodes as u32).map(NodeId) {
            if routes.nodes[source.index()].only == NO_PORT {
                routes.fill(source, forwards, &out, ports);
            }
        }
        routes
    }

    /// Breadth-first search from `source` over inner nodes. Stores the first port of each path.
    fn fill(
        &mut self,
        source: NodeId,
        forwards: &[bool],
        out: &[Vec<PortId>],
        ports: &[(NodeId, NodeId)],
    ) {
        let row = self.nodes[source.index()].row;
        if row == NO_ROW {
            return;
        }
        let row = row as usize * self.rows;
        let mut queue = VecDeque::from([(source, NO_PORT)]);
        while let Some((node, first)) = queue.pop_front() {
            for &port in &out[node.index()] {
                let next = ports[port.index()].1;
                let Node { row: column, only, .. } = self.nodes[next.index()];
                if only != NO_PORT || next == source || self.table[row + column as usize] != NO_PORT
                {
                    continue;
                }
                let first = if first == NO_PORT { port } else { first };
                self.table[row + column as usize] = first;
                if forwards[next.index()] {
                    queue.push_back((next, first));
                }
            }
        }
    }

    /// The last port on the path to `node`, if it has a single link; else `NO_PORT`.
    #[inline]
    pub(crate) fn last_hop(&self, node: NodeId) -> PortId {
        self.nodes[node.index()].last_hop
    }

    /// The port through which `node` sends, if it has only one; else `NO_PORT`.
    #[inline]
    pub(crate) fn only(&self, node: NodeId) -> PortId {
        self.nodes[node.index()].only
    }

    /// The port through which `node` sends to `destination`. They must differ and be connected.
    #[inline]
    pub(crate) fn port(&self, node: NodeId, destination: NodeId) -> PortId {
        let source = &self.nodes[node.index()];
        if source.only != NO_PORT {
            return source.only;
        }
        let destination = &self.nodes[destination.index()];
        if destination.attachment == node {
            return destination.last_hop;
        }
        self.table[source.row as usize * self.rows + destination.row as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Duplex links as pairs of ports: link i is ports 2i and 2i + 1.
    fn duplex(links: &[(u32, u32)]) -> Vec<(NodeId, NodeId)> {
        let links = links.iter().map(|&(a, b)| (NodeId(a), NodeId(b)));
        links.flat_map(|(a, b)| [(a, b), (b, a)]).collect()
    }

    /// The nodes that a packet passes from `from` to `to`.
    fn path(nodes: usize, ports: &[(NodeId, NodeId)], from: u32, to: u32) -> Vec<u32> {
        let routes = Routes::new(&vec![true; nodes], ports);
        let mut path = vec![from];
        while *path.last().unwrap() != to {
            let node = NodeId(*path.last().unwrap());
            let (at, next) = ports[routes.port(node, NodeId(to)).index()];
            assert_eq!(at, node);
            path.push(next.0);
            assert!(path.len() <= nodes, "loop: {path:?}");
        }
        path
    }

    #[test]
    fn a_dumbbell_is_crossed_through_both_routers() {
        let ports = duplex(&[(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]);
        assert_eq!(path(6, &ports, 0, 5), [0, 2, 3, 5]);
        assert_eq!(path(6, &ports, 5, 1), [5, 3, 2, 1]);
        assert_eq!(path(6, &ports, 0, 1), [0, 2, 1]);
    }

    #[test]
    fn a_ring_is_crossed_on_its_short_side_and_ties_go_to_the_first_link() {
        let ports = duplex(&[(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert_eq!(path(4, &ports, 0, 1), [0, 1]);
        assert_eq!(path(4, &ports, 0, 3), [0, 3]);
        assert_eq!(path(4, &ports, 0, 2), [0, 1, 2]);
    }

    #[test]
    fn two_hosts_on_one_wire_need_no_router() {
        let ports = duplex(&[(0, 1)]);
        assert_eq!(path(2, &ports, 0, 1), [0, 1]);
        assert_eq!(path(2, &ports, 1, 0), [1, 0]);
    }

    #[test]
    fn a_host_with_two_links_is_no_way_through() {
        // 0 and 2 are both next to host 1, but the way between them leads round over 3 and 4.
        let ports = duplex(&[(0, 1), (1, 2), (0, 3), (3, 4), (4, 2)]);
        let routes = Routes::new(&[true, false, true, true, true], &ports);
        let first = |to| ports[routes.port(NodeId(0), NodeId(to)).index()].1;
        assert_eq!([first(2), first(1)], [NodeId(3), NodeId(1)]);
    }

    proptest::proptest! {
        #[test]
        fn every_path_in_a_random_tree_arrives(
            parents in proptest::collection::vec(0u32..1000, 1..30),
        ) {
            let links: Vec<_> = parents
                .iter()
                .enumerate()
                .map(|(i, parent)| (i as u32 + 1, parent % (i as u32 + 1)))
                .collect();
            let nodes = links.len() + 1;
            let ports = duplex(&links);
            for to in 0..nodes as u32 {
                path(nodes, &ports, nodes as u32 - 1, to);
            }
        }
    }
}
