//! The 5-tuple as the simulator keeps it.

use shortflow_elements::{FlowKey, Packet, Protocol};

use shortflow_scenario::NodeId;

/// A 5-tuple with nodes for addresses: 16 bytes, so that a packet under way fits into a cache line.
/// Elements, which know addresses, are shown the [`FlowKey`] that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct NodeKey {
    /// The node that sends.
    pub(crate) src: NodeId,
    /// The node for which it is.
    pub(crate) dst: NodeId,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) protocol: Protocol,
}

/// A packet that no element is at.
pub(crate) type Resident = Packet<NodeKey>;

impl NodeKey {
    /// The key of the packets that go the other way.
    #[inline]
    pub(crate) fn reversed(self) -> NodeKey {
        NodeKey {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
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
            protocol: key.protocol,
        }
    }
}

/// Of packets that the simulator made; others have addresses that are no node's.
impl From<FlowKey> for NodeKey {
    #[inline]
    fn from(key: FlowKey) -> NodeKey {
        NodeKey {
            src: NodeId::of_address(key.src),
            dst: NodeId::of_address(key.dst),
            src_port: key.src_port,
            dst_port: key.dst_port,
            protocol: key.protocol,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_under_way_fits_into_a_cache_line() {
        assert_eq!(size_of::<Resident>(), 64);
    }

    #[test]
    fn a_key_comes_back_from_what_elements_are_shown() {
        let key = NodeKey {
            src: NodeId(3),
            dst: NodeId(70_000),
            src_port: 1024,
            dst_port: 80,
            protocol: Protocol::UDP,
        };
        assert_eq!(NodeKey::from(FlowKey::from(key)), key);
        assert_eq!(FlowKey::from(key.reversed()), FlowKey::from(key).reversed());
    }
}
