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
    /// The only port of a node that has just one, else `NONE`.
    only: Vec<PortIndex>,
    /// The node that stands for this one in the tables: itself, or the one it hangs from.
    attachment: Vec<NodeIndex>,
    /// The port from the attachment to this node, where they differ.
    last_hop: Vec<PortIndex>,
    /// The row and column of a node in `table`.
    row: Vec<u32>,
    table: Vec<PortIndex>,
    rows: usize,
}

impl Routes {
    /// Routes over `ports`, each a pair of nodes (from, to).
    pub(crate) fn new(nodes: usize, ports: &[(NodeIndex, NodeIndex)]) -> Self {
        let mut out: Vec<Vec<PortIndex>> = vec![Vec::new(); nodes];
        for (port, (from, _)) in ports.iter().enumerate() {
            out[*from as usize].push(port as PortIndex);
        }
        let is_leaf = |node: NodeIndex| out[node as usize].len() == 1;
        let mut routes = Routes {
            only: out.iter().map(|ports| if ports.len() == 1 { ports[0] } else { NONE }).collect(),
            attachment: (0..nodes as NodeIndex).collect(),
            last_hop: vec![NONE; nodes],
            row: vec![NONE; nodes],
            table: Vec::new(),
            rows: 0,
        };
        for (port, &(from, to)) in ports.iter().enumerate() {
            if is_leaf(to) {
                routes.attachment[to as usize] = from;
                routes.last_hop[to as usize] = port as PortIndex;
            }
        }
        let inner: Vec<NodeIndex> =
            (0..nodes as NodeIndex).filter(|&node| out[node as usize].len() > 1).collect();
        for (row, &node) in inner.iter().enumerate() {
            routes.row[node as usize] = row as u32;
        }
        routes.rows = inner.len();
        routes.table = vec![NONE; inner.len() * inner.len()];
        for &source in &inner {
            routes.fill(source, &out, ports);
        }
        routes
    }

    /// Breadth first from `source` over inner nodes, noting the first port of each path.
    fn fill(&mut self, source: NodeIndex, out: &[Vec<PortIndex>], ports: &[(NodeIndex, NodeIndex)]) {
        let row = self.row[source as usize] as usize * self.rows;
        let mut queue = VecDeque::from([(source, NONE)]);
        while let Some((node, first)) = queue.pop_front() {
            for &port in &out[node as usize] {
                let next = ports[port as usize].1;
                let column = self.row[next as usize];
                if column == NONE || next == source || self.table[row + column as usize] != NONE {
                    continue;
                }
                let first = if first == NONE { port } else { first };
                self.table[row + column as usize] = first;
                queue.push_back((next, first));
            }
        }
    }

    /// The port through which `node` sends towards `destination`; they must differ and be
    /// connected.
    #[inline]
    pub(crate) fn port(&self, node: NodeIndex, destination: NodeIndex) -> PortIndex {
        let only = self.only[node as usize];
        if only != NONE {
            return only;
        }
        let attachment = self.attachment[destination as usize];
        if attachment == node {
            return self.last_hop[destination as usize];
        }
        let row = self.row[node as usize] as usize * self.rows;
        self.table[row + self.row[attachment as usize] as usize]
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
        let routes = Routes::new(nodes, ports);
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
