//! The addresses of nodes, and the IP version between two hosts.

use shortflow_packet::Address;

use crate::model::NodeId;

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6. Packets have the same size as over IPv4, so each carries 20 bytes less data.
    V6,
}

impl IpVersion {
    /// Both.
    pub const ALL: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];

    /// The version of an address.
    pub fn from_address(address: Address) -> IpVersion {
        if address.as_v4().is_some() { IpVersion::V4 } else { IpVersion::V6 }
    }

    /// `IPv4` or `IPv6`.
    pub const fn name(self) -> &'static str {
        match self {
            IpVersion::V4 => "IPv4",
            IpVersion::V6 => "IPv6",
        }
    }

    /// Bytes of the header without options.
    pub const fn header(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// The extra length of the header in bytes, compared with IPv4, for which scenarios are written.
    pub const fn more(self) -> u32 {
        self.header() - IpVersion::V4.header()
    }
}

/// The address of the first node without its own addresses: 10.0.0.1.
const FIRST_ADDRESS: u32 = 0x0a00_0001;

/// The same, after the prefix fd00::/96 of unique local addresses (RFC 4193).
const FIRST_ADDRESS_V6: u128 = 0xfd00 << 112 | FIRST_ADDRESS as u128;

impl NodeId {
    /// The address in this version of a node without its own addresses. The first node of a scenario has
    /// 10.0.0.1 and fd00::a00:1, and further nodes count up.
    #[inline]
    pub const fn automatic(self, ip: IpVersion) -> Address {
        match ip {
            IpVersion::V4 => Address::v4(FIRST_ADDRESS + self.0),
            IpVersion::V6 => Address::v6(FIRST_ADDRESS_V6 + self.0 as u128),
        }
    }

    /// The node with the automatic address `address`, if there are so many nodes.
    #[inline]
    pub(crate) fn of_automatic(address: Address) -> Option<NodeId> {
        let node = NodeId(address.last_32_bits().wrapping_sub(FIRST_ADDRESS));
        // Larger numbers do not fit into 32 bits, so no node has them.
        let exists = node.0 <= u32::MAX - FIRST_ADDRESS;
        (exists && node.automatic(IpVersion::from_address(address)) == address).then_some(node)
    }
}

/// The addresses given to a host: by version, at most one of each.
pub(crate) type Given = [Option<Address>; 2];

/// The addresses of all nodes of a scenario. A node without its own addresses has one address of each
/// version, which follows from its [number](NodeId::automatic). Other nodes have exactly the given addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses {
    nodes: u32,
    /// By node and version. Empty if no node has its own addresses.
    table: Vec<Given>,
    /// The owner of each given address, in the order of addresses.
    owners: Vec<(Address, NodeId)>,
}

impl Addresses {
    /// The addresses of `nodes` nodes, some of which are given.
    pub(crate) fn new(nodes: u32, given: &[(NodeId, Given)]) -> Addresses {
        if given.is_empty() {
            return Addresses { nodes, ..Addresses::default() };
        }
        let automatic = |node: NodeId| IpVersion::ALL.map(|ip| Some(node.automatic(ip)));
        let mut table: Vec<Given> = (0..nodes).map(NodeId).map(automatic).collect();
        let mut owners: Vec<(Address, NodeId)> = Vec::new();
        for &(node, addresses) in given {
            table[node.index()] = addresses;
            owners.extend(addresses.into_iter().flatten().map(|address| (address, node)));
        }
        owners.sort_unstable();
        Addresses { nodes, table, owners }
    }

    /// The addresses of any number of nodes, all automatic.
    pub fn automatic() -> Addresses {
        Addresses { nodes: u32::MAX, ..Addresses::default() }
    }

    /// Whether some node has its own addresses.
    #[inline]
    pub fn are_given(&self) -> bool {
        !self.table.is_empty()
    }

    /// The address of a node in this version, if it has one.
    #[inline]
    pub fn get(&self, node: NodeId, ip: IpVersion) -> Option<Address> {
        match self.table.get(node.index()) {
            Some(addresses) => addresses[ip as usize],
            None => Some(node.automatic(ip)),
        }
    }

    /// The addresses of a node: IPv4 first.
    pub fn of_node(&self, node: NodeId) -> impl Iterator<Item = Address> {
        IpVersion::ALL.into_iter().filter_map(move |ip| self.get(node, ip))
    }

    /// The node with this address. O(log n) in the given addresses.
    #[inline]
    pub fn node(&self, address: Address) -> Option<NodeId> {
        let place = self.owners.binary_search_by_key(&address, |(address, _)| *address);
        if let Ok(place) = place {
            return Some(self.owners[place].1);
        }
        let node = NodeId::of_automatic(address).filter(|node| node.0 < self.nodes)?;
        (self.get(node, IpVersion::from_address(address)) == Some(address)).then_some(node)
    }

    /// The IP version between two hosts: IPv6 if both are given an IPv6 address, else IPv4 if both have one,
    /// else IPv6. `None` if they have no version in common. This follows RFC 6724 (§2.1, §10.3): automatic
    /// IPv6 addresses are unique local ones, which rank below IPv4.
    pub fn version(&self, a: NodeId, b: NodeId) -> Option<IpVersion> {
        let own = |node: NodeId| {
            self.get(node, IpVersion::V6).is_some_and(|own| own != node.automatic(IpVersion::V6))
        };
        let both = |ip| self.get(a, ip).is_some() && self.get(b, ip).is_some();
        match own(a) && own(b) {
            true => Some(IpVersion::V6),
            false => IpVersion::ALL.into_iter().find(|ip| both(*ip)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn nodes_without_addresses_of_their_own_have_automatic_ones_of_both_versions() {
        let addresses = Addresses::new(5, &[]);
        let shown: Vec<String> =
            addresses.of_node(NodeId(3)).map(|address| address.to_string()).collect();
        assert_eq!(shown, ["10.0.0.4", "fd00::a00:4"]);
        for node in [0, 4].map(NodeId) {
            assert!(addresses.of_node(node).all(|address| addresses.node(address) == Some(node)));
        }
        for stranger in ["10.0.0.0", "10.0.0.6", "fd01::a00:4", "::a00:4", "9.255.255.255"] {
            assert_eq!(addresses.node(address(stranger)), None, "{stranger}");
        }
        assert_eq!(addresses.version(NodeId(0), NodeId(4)), Some(IpVersion::V4));
        assert!(!addresses.are_given());
    }

    #[test]
    fn a_node_with_addresses_of_its_own_has_exactly_these() {
        let given = [
            (NodeId(1), [Some(address("100.64.0.1")), None]),
            (NodeId(2), [None, Some(address("2001:db8::1"))]),
        ];
        let addresses = Addresses::new(4, &given);
        let of = |node| addresses.of_node(NodeId(node)).collect::<Vec<_>>();
        assert_eq!(of(1), [address("100.64.0.1")]);
        assert_eq!(of(2), [address("2001:db8::1")]);
        assert_eq!(of(3), [address("10.0.0.4"), address("fd00::a00:4")]);
        assert_eq!(addresses.node(address("100.64.0.1")), Some(NodeId(1)));
        assert_eq!(addresses.node(address("2001:db8::1")), Some(NodeId(2)));
        assert_eq!(addresses.node(address("10.0.0.2")), None, "node 1 has another address");
        assert_eq!(addresses.node(address("10.0.0.4")), Some(NodeId(3)));
    }

    #[test]
    fn two_hosts_speak_ipv6_where_both_are_given_it_or_one_has_nothing_else() {
        let [v4, v6] = [address("100.64.0.1"), address("2001:db8::1")];
        let [other_v4, other_v6] = [address("100.64.0.2"), address("2001:db8::2")];
        let given = [
            (NodeId(0), [Some(v4), Some(v6)]),
            (NodeId(1), [Some(other_v4), Some(other_v6)]),
            (NodeId(2), [Some(address("100.64.0.3")), None]),
            (NodeId(3), [None, Some(address("2001:db8::3"))]),
        ];
        let addresses = Addresses::new(5, &given);
        let version = |a, b| addresses.version(NodeId(a), NodeId(b));
        assert_eq!(version(0, 1), Some(IpVersion::V6));
        assert_eq!(version(0, 2), Some(IpVersion::V4));
        assert_eq!(version(0, 3), Some(IpVersion::V6));
        assert_eq!(version(0, 4), Some(IpVersion::V4), "the fifth has a unique local one");
        assert_eq!(version(3, 4), Some(IpVersion::V6));
        assert_eq!(version(2, 3), None);
    }
}
