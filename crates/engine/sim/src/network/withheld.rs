//! Queues that withhold segments in TCP: connections ask before they send, and continue when the queue names them.

use shortflow_packet::Packet;

use crate::network::fabric::Fabric;
use crate::network::index::PortId;
use crate::network::key::NodeKey;

impl Fabric {
    /// Whether a queue withholds segments.
    #[inline]
    pub(crate) fn withholds(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The port that TCPs ask before they send packets with this 5-tuple, if there is one.
    pub(crate) fn asked_port(&self, key: NodeKey) -> Option<PortId> {
        let index = self.network.routes.port(key.src, key.dst);
        self.network.ports.get(index).filter(|hop| hop.port.is_asked()).map(|_| index)
    }

    /// Whether a connection, which the engine calls `asker`, may send a packet of `size` bytes with this 5-tuple
    /// through a port that is asked.
    pub(crate) fn ask(&mut self, index: PortId, key: NodeKey, size: u32, asker: u32) -> bool {
        let key = key.flow_key(&self.pool.addresses);
        let packet = Packet { key, size, ..Packet::default() };
        let (may_send, changed) = self.network.ports[index].port.ask(self.now, packet, asker);
        self.after_port(index, changed);
        may_send
    }

    /// The connection behind this 5-tuple is gone.
    pub(crate) fn forget_asker(&mut self, key: NodeKey) {
        if let Some(index) = self.asked_port(key) {
            let key = key.flow_key(&self.pool.addresses);
            let changed = self.network.ports[index].port.forget_asker(self.now, &key);
            self.after_port(index, changed);
        }
    }

    /// A connection that may go on now.
    pub(crate) fn next_asker(&mut self) -> Option<u32> {
        loop {
            let Some(&index) = self.releasing.last() else {
                self.releasing = self.ports_with_askers();
                if self.releasing.is_empty() {
                    return None;
                }
                continue;
            };
            let (asker, changed) = self.network.ports[index].port.next_asker(self.now);
            if asker.is_none() {
                self.releasing.pop();
            }
            self.after_port(index, changed);
            if asker.is_some() {
                return asker;
            }
        }
    }

    fn ports_with_askers(&mut self) -> Vec<PortId> {
        let ports = &mut self.network.ports;
        self.asked.iter().copied().filter(|&index| ports[index].port.has_asker()).collect()
    }
}
