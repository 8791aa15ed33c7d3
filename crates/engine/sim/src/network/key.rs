//! The simulator's form of the 5-tuple.

use shortflow_packet::{Address, FlowKey, Protocol};
use shortflow_scenario::{Addresses, IpVersion, NodeId};

/// A 5-tuple with nodes instead of addresses, in 16 bytes. Elements see the corresponding [`FlowKey`] with
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct NodeKey {
    /// The sending node.
    pub(crate) src: NodeId,
    /// The receiving node.
    pub(crate) dst: NodeId,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) transport: Transport,
}

/// The transport protocol, and how addresses are found. It has the width of a node index: a key without
/// padding is copied as a whole, with padding it would be copied byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Transport(u32);

impl Transport {
    /// TCP between automatic addresses of IPv4.
    const TCP: Transport = Transport(Protocol::TCP.0 as u32);

    /// This bit above the protocol number marks IPv6 packets.
    const V6: u32 = 1 << 8;

    /// This bit marks networks with given addresses.
    const GIVEN: u32 = 1 << 9;

    /// The transport of hosts with these addresses.
    pub(crate) fn new(protocol: Protocol, ip: IpVersion, addresses: &Addresses) -> Self {
        let version = if ip == IpVersion::V6 { Transport::V6 } else { 0 };
        let given = if addresses.are_given() { Transport::GIVEN } else { 0 };
        Transport(u32::from(protocol.0) | version | given)
    }

    /// The protocol.
    #[inline]
    pub(crate) fn protocol(self) -> Protocol {
        Protocol(self.0 as u8)
    }

    /// Whether the addresses are automatic IPv4 addresses, as in most scenarios.
    #[inline]
    fn is_plain(self) -> bool {
        self.0 < Transport::V6
    }

    fn ip(self) -> IpVersion {
        if self.0 & Transport::V6 != 0 { IpVersion::V6 } else { IpVersion::V4 }
    }
}

impl Default for Transport {
    fn default() -> Self {
        Transport::TCP
    }
}

impl NodeKey {
    /// The key of packets in the other direction.
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

    /// The key of a 5-tuple with addresses; `None` unless both belong to nodes.
    pub(crate) fn from_flow_key(key: FlowKey, addresses: &Addresses) -> Option<NodeKey> {
        let FlowKey { src_port, dst_port, protocol, .. } = key;
        let [src_ip, ip] = [key.src, key.dst].map(IpVersion::from_address);
        let [src, dst] = [addresses.node(key.src)?, addresses.node(key.dst)?];
        let transport = Transport::new(protocol, ip, addresses);
        (src_ip == ip).then_some(NodeKey { src, dst, src_port, dst_port, transport })
    }

    /// Its 5-tuple with addresses.
    #[inline]
    pub(crate) fn flow_key(self, addresses: &Addresses) -> FlowKey {
        if !self.transport.is_plain() {
            return self.looked_up(addresses);
        }
        self.between([self.src, self.dst].map(|node| node.automatic(IpVersion::V4)))
    }

    #[inline(never)]
    fn looked_up(self, addresses: &Addresses) -> FlowKey {
        let ip = self.transport.ip();
        let address = |node| addresses.get(node, ip).expect("hosts speak a version that they have");
        self.between([self.src, self.dst].map(address))
    }

    #[inline]
    fn between(self, [src, dst]: [Address; 2]) -> FlowKey {
        let (src_port, dst_port) = (self.src_port, self.dst_port);
        FlowKey { src, dst, src_port, dst_port, protocol: self.transport.protocol() }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_scenario::{Overrides, from_texts};

    use super::*;

    #[test]
    fn elements_are_shown_the_addresses_of_the_nodes() {
        let addresses = Addresses::automatic();
        let key = NodeKey {
            src: NodeId(3),
            dst: NodeId(70_000),
            src_port: 1024,
            dst_port: 80,
            transport: Transport::new(Protocol::UDP, IpVersion::V4, &addresses),
        };
        let shown = key.flow_key(&addresses);
        assert_eq!(
            [shown.src, shown.dst].map(|at| addresses.node(at)),
            [Some(key.src), Some(key.dst)]
        );
        assert_eq!((shown.src_port, shown.dst_port, shown.protocol), (1024, 80, Protocol::UDP));
        assert_eq!(key.reversed().flow_key(&addresses), key.flow_key(&addresses).reversed());
        let transport = Transport::new(Protocol::UDP, IpVersion::V6, &addresses);
        let over_v6 = NodeKey { transport, ..key };
        assert_eq!(over_v6.flow_key(&addresses).src, "fd00::a00:4".parse().unwrap());
    }

    #[test]
    fn elements_are_shown_the_addresses_that_hosts_are_given() {
        let text = r#"
            duration = "1 s"
            hosts.a.address = ["100.64.0.7", "2001:db8::7"]
            hosts.b = {}
            links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms" }
            workloads.file.bulk = { from = "a", to = "b" }
        "#;
        let loaded = from_texts(&[("s.toml", text)], &Overrides::default()).unwrap();
        let addresses = &loaded.points()[0].scenario.addresses;
        for (ip, expected) in [
            (IpVersion::V4, ["100.64.0.7", "10.0.0.2"]),
            (IpVersion::V6, ["2001:db8::7", "fd00::a00:2"]),
        ] {
            let transport = Transport::new(Protocol::TCP, ip, addresses);
            let key = NodeKey { dst: NodeId(1), transport, ..NodeKey::default() };
            let shown = key.flow_key(addresses);
            assert_eq!([shown.src, shown.dst].map(|address| address.to_string()), expected);
            assert_eq!(NodeKey::from_flow_key(shown, addresses), Some(key));
        }
    }

    #[test]
    fn addresses_that_are_no_node_s_have_no_key() {
        let text = r#"
            duration = "1 s"
            hosts.a.count = 4
            routers.r = {}
            links.line = { between = ["a", "r"], rate = "1 Mbit/s", delay = "1 ms" }
            workloads.file.bulk = { from = "a[0]", to = "a[1]" }
        "#;
        let loaded = from_texts(&[("s.toml", text)], &Overrides::default()).unwrap();
        let of_five = &loaded.points()[0].scenario.addresses;
        let key = NodeKey { src: NodeId(3), dst: NodeId(4), ..NodeKey::default() };
        let plain = key.flow_key(of_five);
        let over_v6 = Transport::new(Protocol::ICMPV6, IpVersion::V6, of_five);
        for transport in [Transport::TCP, over_v6] {
            let key = NodeKey { transport, ..key };
            assert_eq!(NodeKey::from_flow_key(key.flow_key(of_five), of_five), Some(key));
        }
        let address = |text: &str| text.parse().unwrap();
        for dst in ["10.0.0.6", "fd01::a00:5", "fd00::a00:5"].map(address) {
            assert_eq!(NodeKey::from_flow_key(FlowKey { dst, ..plain }, of_five), None, "{dst}");
        }
    }
}
