//! The source ports of connections.

use std::collections::BTreeMap;

use shortflow_scenario::NodeId;

use crate::host::flow::{FlowId, Flows};
use crate::network::key::NodeKey;

/// Chooses the source port of each node's next connection.
///
/// Ports are used in turn (RFC 6056 §3.3.1), so a port repeats after 64,512 connections of a node. A port
/// whose 5-tuple still belongs to an open connection is skipped.
#[derive(Debug)]
pub(crate) struct EphemeralPorts {
    /// The lowest port.
    first: u16,
    /// How many ports each node has used in its current turn.
    turns: Vec<u64>,
    /// The open connections of a node when its ports last started again.
    open_before: BTreeMap<NodeId, BTreeMap<NodeKey, FlowId>>,
    exhausted: Option<NodeKey>,
}

impl EphemeralPorts {
    pub(crate) fn new(nodes: usize) -> Self {
        let turns = vec![0; nodes];
        EphemeralPorts { first: FIRST, turns, open_before: BTreeMap::new(), exhausted: None }
    }

    /// The 5-tuple of the next connection of `client`, which is `key` with another source port. `flows` are
    /// all open connections.
    ///
    /// If every 5-tuple is in use, one is used twice, and the ports are [exhausted](Self::exhausted).
    pub(crate) fn assign(&mut self, client: NodeId, key: NodeKey, flows: &Flows) -> NodeKey {
        for _ in 0..self.count() {
            let key = NodeKey { src_port: self.next(client, flows), ..key };
            if !self.is_taken(client, &key, flows) {
                return key;
            }
        }
        let key = NodeKey { src_port: self.first, ..key };
        self.exhausted.get_or_insert(key);
        key
    }

    /// The first connection for which no port was free.
    pub(crate) fn exhausted(&self) -> Option<&NodeKey> {
        self.exhausted.as_ref()
    }

    /// The number of ports of a node.
    pub(crate) fn count(&self) -> u64 {
        u64::from(u16::MAX - self.first) + 1
    }

    fn next(&mut self, client: NodeId, flows: &Flows) -> u16 {
        let count = self.count();
        let turn = &mut self.turns[client.index()];
        let place = *turn % count;
        if place == 0 && *turn > 0 {
            let open = flows.named().filter(|(_, flow)| flow.key().src == client);
            let open = open.map(|(id, flow)| (flow.key(), id)).collect();
            self.open_before.insert(client, open);
        }
        *turn += 1;
        self.first + place as u16
    }

    /// Whether a connection from an earlier turn still has the 5-tuple.
    fn is_taken(&self, client: NodeId, key: &NodeKey, flows: &Flows) -> bool {
        let before = self.open_before.get(&client).and_then(|open| open.get(key));
        before.is_some_and(|&id| flows.get(id).is_some_and(|flow| flow.key() == *key))
    }
}

/// Lower ports belong to services.
const FIRST: u16 = 1024;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shortflow_tcp::Era;

    use super::*;
    use crate::host::application::Application;
    use crate::host::flow::Flow;
    use crate::network::key::Transport;

    /// Four ports for each of two nodes, and the connections that node 0 opens to node 1.
    struct Host {
        ports: EphemeralPorts,
        flows: Flows,
    }

    impl Host {
        fn new() -> Self {
            let ports = EphemeralPorts { first: u16::MAX - 3, ..EphemeralPorts::new(2) };
            Host { ports, flows: Flows::default() }
        }

        /// Opens a connection to this port, and says which of the four it comes from.
        fn open(&mut self, server_port: u16) -> (FlowId, u16) {
            let key = NodeKey {
                src: NodeId(0),
                dst: NodeId(1),
                src_port: 0,
                dst_port: server_port,
                transport: Transport::default(),
            };
            let key = self.ports.assign(key.src, key, &self.flows);
            let application = Application::Bulk { workload: 0, size: None };
            let flow = Flow::new(key, &Arc::new(Era::LinuxToday.config()), application);
            (self.flows.insert(flow).0, key.src_port - self.ports.first)
        }

        /// Opens a connection to port 80 that is over at once.
        fn visit(&mut self) -> u16 {
            let (id, port) = self.open(80);
            self.flows.remove(id);
            port
        }
    }

    #[test]
    fn ports_are_given_in_turn_and_come_again() {
        let mut host = Host::new();
        let ports: Vec<u16> = (0..6).map(|_| host.visit()).collect();
        assert_eq!(ports, [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn a_port_whose_5_tuple_is_still_open_is_passed_over_until_it_closes() {
        let mut host = Host::new();
        host.visit();
        let (long, at) = host.open(80);
        assert_eq!(at, 1);
        let ports: Vec<u16> = (0..6).map(|_| host.visit()).collect();
        assert_eq!(ports, [2, 3, 0, 2, 3, 0]);
        host.flows.remove(long);
        assert_eq!(host.visit(), 1);
    }

    #[test]
    fn a_connection_to_another_port_takes_nothing_away() {
        let mut host = Host::new();
        assert_eq!(host.open(443).1, 0);
        let ports: Vec<u16> = (0..5).map(|_| host.visit()).collect();
        assert_eq!(ports, [1, 2, 3, 0, 1]);
    }

    #[test]
    fn ports_are_exhausted_when_each_5_tuple_is_open() {
        let mut host = Host::new();
        for _ in 0..4 {
            host.open(80);
        }
        assert_eq!(host.ports.exhausted(), None);
        host.open(80);
        assert_eq!(host.ports.exhausted().map(|key| key.dst_port), Some(80));
    }
}
