//! Where each node sends a packet: fewest hops, ties to the link named first.
//!
//! A node with one link needs no table, and a router needs one entry per router, not per host:
//! the tables take (routers)² entries however many hosts there are.

use std::collections::VecDeque;

/// An index into the simulator's nodes.
pub(crate) type NodeIndex = u32;
/// An index into the simulator's ports.
pub(crate) type PortIndex = u32;

/// Marks a place without a port or router.
const NONE: u32 = u32::MAX;

/// The routes of all nodes.
#[derive(Debug)]
pub(crate) struct Routes {
    nodes: Vec<Node>,
    /// The first port of the way from the node of a row to the node of a column.
    table: Vec<PortIndex>,
    rows: usize,
}

/// A node, as a source and as a destination.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The only port of a node that has just one, else `NONE`.
    only: PortIndex,
    /// The node that stands for this one in the table: itself, or the one it hangs from.
    attachment: NodeIndex,
    /// The port from the attachment to this node, where they differ.
    last_hop: PortIndex,
    /// The row and column of the attachment in the table.
    row: u32,
}

impl Routes {
    /// Routes over `ports`, each a pair of nodes (from, to), of nodes of which only those that
    /// `forwards` says pass on what is not for them.
    pub(crate) fn new(forwards: &[bool], ports: &[(NodeIndex, NodeIndex)]) -> Self {
        let nodes = forwards.len();
        let mut out: Vec<Vec<PortIndex>> = vec![Vec::new(); nodes];
        for (port, (from, _)) in ports.iter().enumerate() {
            out[*from as usize].push(port as PortIndex);
        }
        let mut routes = Routes { nodes: Vec::new(), table: Vec::new(), rows: 0 };
        for (node, ports) in out.iter().enumerate() {
            let only = if ports.len() == 1 { ports[0] } else { NONE };
            let row = if ports.len() > 1 { routes.rows as u32 } else { NONE };
            routes.rows += usize::from(ports.len() > 1);
            routes.nodes.push(Node { only, attachment: node as u32, last_hop: NONE, row });
        }
        for (port, &(from, to)) in ports.iter().enumerate() {
            if routes.nodes[to as usize].only != NONE {
                let row = routes.nodes[from as usize].row;
                let node = &mut routes.nodes[to as usize];
                *node = Node { attachment: from, last_hop: port as PortIndex, row, ..*node };
            }
        }
        routes.table = vec![NONE; routes.rows * routes.rows];
        for source in 0..nodes as NodeIndex {
            if routes.nodes[source as usize].only == NONE {
                routes.fill(source, forwards, &out, ports);
            }
        }
        routes
    }

    /// Breadth first from `source` over inner nodes, noting the first port of each path.
    fn fill(
        &mut self,
        source: NodeIndex,
        forwards: &[bool],
        out: &[Vec<PortIndex>],
        ports: &[(NodeIndex, NodeIndex)],
    ) {
        let row = self.nodes[source as usize].row;
        if row == NONE {
            return;
        }
        let row = row as usize * self.rows;
        let mut queue = VecDeque::from([(source, NONE)]);
        while let Some((node, first)) = queue.pop_front() {
            for &port in &out[node as usize] {
                let next = ports[port as usize].1;
                let Node { row: column, only, .. } = self.nodes[next as usize];
                if only != NONE || next == source || self.table[row + column as usize] != NONE {
                    continue;
                }
                let first = if first == NONE { port } else { first };
                self.table[row + column as usize] = first;
                if forwards[next as usize] {
                    queue.push_back((next, first));
                }
            }
        }
    }

    /// The last port on the way to `node`, where that hangs from another; else no port.
    #[inline]
    pub(crate) fn last_hop(&self, node: NodeIndex) -> PortIndex {
        self.nodes[node as usize].last_hop
    }

    /// The port through which `node` sends, where it has just one; else no port.
    #[inline]
    pub(crate) fn only(&self, node: NodeIndex) -> PortIndex {
        self.nodes[node as usize].only
    }

    /// The port through which `node` sends towards `destination`; they must differ and be
    /// connected.
    #[inline]
    pub(crate) fn port(&self, node: NodeIndex, destination: NodeIndex) -> PortIndex {
        let source = &self.nodes[node as usize];
        if source.only != NONE {
            return source.only;
        }
        let destination = &self.nodes[destination as usize];
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
    fn duplex(links: &[(u32, u32)]) -> Vec<(u32, u32)> {
        links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
    }

    /// The nodes that a packet passes from `from` to `to`.
    fn path(nodes: usize, ports: &[(u32, u32)], from: u32, to: u32) -> Vec<u32> {
        let routes = Routes::new(&vec![true; nodes], ports);
        let mut path = vec![from];
        while *path.last().unwrap() != to {
            let (at, next) = ports[routes.port(*path.last().unwrap(), to) as usize];
            assert_eq!(at, *path.last().unwrap());
            path.push(next);
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
        assert_eq!(ports[routes.port(0, 2) as usize], (0, 3));
        assert_eq!(ports[routes.port(0, 1) as usize], (0, 1));
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
