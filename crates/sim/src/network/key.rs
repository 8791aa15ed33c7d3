//! The 5-tuple as the simulator keeps it.

use shortflow_elements::{FlowKey, Protocol};
use shortflow_scenario::NodeId;

/// A 5-tuple with nodes for addresses, in 16 bytes. Elements, which know addresses, are shown the
/// [`FlowKey`] that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct NodeKey {
    /// The node that sends.
    pub(crate) src: NodeId,
    /// The node for which it is.
    pub(crate) dst: NodeId,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) transport: Transport,
}

/// The protocol of what hosts send, and over which version of IP. It is as wide as the number of a node: a
/// key without gaps is copied as one piece, where gaps would be copied byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Transport(u32);

impl Transport {
    /// TCP over IPv4.
    pub(crate) const TCP: Transport = Transport::new(Protocol::TCP, false);
    /// UDP over IPv4.
    pub(crate) const UDP: Transport = Transport::new(Protocol::UDP, false);

    /// Stands above the number of the protocol where the packets are of IPv6.
    const V6: u32 = 1 << 8;

    const fn new(protocol: Protocol, is_v6: bool) -> Self {
        Transport(protocol.0 as u32 | if is_v6 { Transport::V6 } else { 0 })
    }

    /// The protocol.
    #[inline]
    pub(crate) fn protocol(self) -> Protocol {
        Protocol(self.0 as u8)
    }

    #[inline]
    fn is_v6(self) -> bool {
        self.0 & Transport::V6 != 0
    }
}

impl Default for Transport {
    fn default() -> Self {
        Transport::TCP
    }
}

impl NodeKey {
    /// The key of the packets that go the other way.
    #[inline]
    pub(crate) fn reversed(self) -> NodeKey {
        NodeKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            transport: self.transport,
        }
    }

    /// What a 5-tuple of addresses stands for; none unless both are of nodes, of which there are so many.
    pub(crate) fn of(key: FlowKey, nodes: usize) -> Option<NodeKey> {
        let FlowKey { src_port, dst_port, protocol, .. } = key;
        let [src, dst] = [key.src, key.dst].map(NodeId::of_address);
        let transport = Transport::new(protocol, key.src.as_v4().is_none());
        let found = NodeKey { src, dst, src_port, dst_port, transport };
        let exist = src.index() < nodes && dst.index() < nodes;
        (exist && FlowKey::from(found) == key).then_some(found)
    }
}

impl From<NodeKey> for FlowKey {
    #[inline]
    fn from(key: NodeKey) -> FlowKey {
        let is_v6 = key.transport.is_v6();
        let address = if is_v6 { NodeId::address_v6 } else { NodeId::address };
        FlowKey {
            src: address(key.src),
            dst: address(key.dst),
            src_port: key.src_port,
            dst_port: key.dst_port,
            protocol: key.transport.protocol(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_shown_the_addresses_of_the_nodes() {
        let key = NodeKey {
            src: NodeId(3),
            dst: NodeId(70_000),
            src_port: 1024,
            dst_port: 80,
            transport: Transport::UDP,
        };
        let shown = FlowKey::from(key);
        assert_eq!([shown.src, shown.dst].map(NodeId::of_address), [key.src, key.dst]);
        assert_eq!((shown.src_port, shown.dst_port, shown.protocol), (1024, 80, Protocol::UDP));
        assert_eq!(FlowKey::from(key.reversed()), FlowKey::from(key).reversed());
        let over_v6 = NodeKey { transport: Transport::new(Protocol::UDP, true), ..key };
        assert_eq!(FlowKey::from(over_v6).src, "fd00::a00:4".parse().unwrap());
    }

    #[test]
    fn addresses_that_are_no_node_s_have_no_key() {
        let key = NodeKey { src: NodeId(3), dst: NodeId(4), ..NodeKey::default() };
        for transport in [Transport::TCP, Transport::new(Protocol::ICMPV6, true)] {
            let key = NodeKey { transport, ..key };
            assert_eq!(NodeKey::of(key.into(), 5), Some(key));
            assert_eq!(NodeKey::of(key.into(), 4), None, "there are nodes 0 to 3");
        }
        let beside = FlowKey { dst: "fd01::a00:4".parse().unwrap(), ..FlowKey::from(key) };
        assert_eq!(NodeKey::of(beside, 5), None);
    }
}
