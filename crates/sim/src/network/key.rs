//! The 5-tuple as the simulator keeps it.

use shortflow_elements::{FlowKey, Protocol};
use shortflow_scenario::NodeId;

/// A 5-tuple with nodes for addresses, in 16 bytes. Elements, which know addresses, are shown the
/// [`FlowKey`] that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct NodeKey {
    /// The node that sends.
    pub(crate) src: NodeId,
    /// The node for which it is.
    pub(crate) dst: NodeId,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) transport: Transport,
}

/// The protocol of what hosts send, as wide as the number of a node: a key without gaps is copied as one
/// piece, where gaps would be copied byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u32)]
pub(crate) enum Transport {
    #[default]
    Tcp,
    Udp,
}

impl From<Transport> for Protocol {
    #[inline]
    fn from(transport: Transport) -> Protocol {
        match transport {
            Transport::Tcp => Protocol::TCP,
            Transport::Udp => Protocol::UDP,
        }
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
}

impl From<NodeKey> for FlowKey {
    #[inline]
    fn from(key: NodeKey) -> FlowKey {
        FlowKey {
            src: key.src.address(),
            dst: key.dst.address(),
            src_port: key.src_port,
            dst_port: key.dst_port,
            protocol: key.transport.into(),
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
            transport: Transport::Udp,
        };
        let shown = FlowKey::from(key);
        assert_eq!([shown.src, shown.dst].map(NodeId::of_address), [key.src, key.dst]);
        assert_eq!((shown.src_port, shown.dst_port, shown.protocol), (1024, 80, Protocol::UDP));
        assert_eq!(FlowKey::from(key.reversed()), FlowKey::from(key).reversed());
    }
}
