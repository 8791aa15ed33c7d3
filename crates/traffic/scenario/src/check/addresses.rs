//! Checks the addresses of hosts.

use std::rc::Rc;

use shortflow_packet::{Address, Prefix};
use shortflow_text::Document;

use super::topology::Topology;
use crate::addresses::{Addresses, Given, IpVersion};
use crate::file::{HostGroup, ScenarioFile};
use crate::model::{Node, NodeId};

/// Reads the key `address` of all groups of hosts.
pub(super) fn check(
    document: &mut Document,
    file: &ScenarioFile,
    topology: &Topology,
) -> Addresses {
    let mut given: Vec<(NodeId, Given)> = Vec::new();
    let mut places: Vec<Owned> = Vec::new();
    for (name, group) in file.hosts.iter() {
        let Some(members) = topology.members(name) else { continue };
        let Some(blocks) = blocks(document, name, group, members.len() as u32) else { continue };
        let nodes = members.map(NodeId);
        for (at, node) in nodes.enumerate() {
            let mut own = Given::default();
            for (path, block) in &blocks {
                let address = block.address(at as u32);
                own[IpVersion::from_address(address) as usize] = Some(address);
                places.push((address, node, path.clone()));
            }
            given.push((node, own));
        }
    }
    if document.is_sound() {
        unique(document, &topology.nodes, &given, places);
    }
    Addresses::new(topology.nodes.len() as u32, &given)
}

/// The first address of a prefix that a host can have; `None` if it has none.
pub(crate) fn first_usable(prefix: Prefix) -> Option<Address> {
    let block = Block::within(prefix, 1).and_then(|block| block.checked("", 1));
    block.ok().map(|block| block.address(0))
}

/// An address, its owner, and the path of its key.
type Owned = (Address, NodeId, Rc<str>);

/// The blocks of addresses of a group, each with its path. `None` without the key, or after a mistake.
fn blocks(
    document: &mut Document,
    name: &str,
    group: &HostGroup,
    count: u32,
) -> Option<Vec<(Rc<str>, Block)>> {
    let listed = group.address.as_ref()?;
    let path = format!("hosts.{name}.address");
    if listed.values.is_empty() {
        document.mistake(
            &path,
            "the list is empty",
            "list an IPv4 address, an IPv6 address, or one of each",
        );
        return None;
    }
    let mut found: Vec<(Rc<str>, Block)> = Vec::new();
    for (index, text) in listed.values.iter().enumerate() {
        let path = if listed.is_list { format!("{path}.{index}") } else { path.clone() };
        let block = Block::parse(text, count).and_then(|block| block.checked(name, count));
        match block {
            Ok(block) if found.iter().any(|(_, other)| other.ip() == block.ip()) => {
                let message = format!("`{name}` has two {} addresses", block.ip().name());
                let help = "a host has at most one address of each version";
                document.mistake(&path, message, help);
                return None;
            }
            Ok(block) => found.push((path.into(), block)),
            Err((message, help)) => {
                document.mistake(&path, message, help);
                return None;
            }
        }
    }
    Some(found)
}

/// Consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    first: Address,
    /// The step from one host to the next.
    step: u128,
}

/// The error and the help.
type Wrong = (String, String);

impl Block {
    /// Parses an address, the first of `count` consecutive ones, or a prefix with room for `count` addresses.
    fn parse(text: &str, count: u32) -> Result<Block, Wrong> {
        let Some((address, length)) = text.split_once('/') else {
            return Ok(Block { first: parsed(text, text)?, step: 1 });
        };
        let address = parsed(address, text)?;
        let length: u8 = length.parse().map_err(|_| not_an_address(text))?;
        let prefix = Prefix::new(address, length).map_err(|error| {
            let help = "bits beyond the length must be zero; the first address alone is written without `/`";
            (error.to_string(), help.to_owned())
        })?;
        Block::within(prefix, count)
    }

    /// The addresses of a prefix that hosts can have, in order. In IPv4 the first address (the network) and
    /// the last one (broadcast) are excluded, except in a /31 or /32 (RFC 3021). In IPv6 the first address
    /// (RFC 4291 §2.6.1) is excluded, except in a /127 or /128 (RFC 6164). If an IPv6 prefix is shorter than
    /// 64 bits, each host has its own /64 and the address ::1 in it.
    fn within(prefix: Prefix, count: u32) -> Result<Block, Wrong> {
        let length = u32::from(prefix.length());
        let of_all = if prefix.is_v4() { 32 } else { 128 };
        let free = of_all - length;
        let (skipped, step, room) = match (prefix.is_v4(), free) {
            (_, 0 | 1) => (0, 1, 1_u128 << free),
            (true, free) => (1, 1, (1 << free) - 2),
            (false, free) if free > 64 => {
                (1, 1 << 64, 1_u128.checked_shl(free - 64).unwrap_or(u128::MAX))
            }
            (false, free) => (1, 1, (1 << free) - 1),
        };
        if room < u128::from(count) {
            let (network, has) = (prefix.network(), plural(room, "host"));
            let message =
                format!("{network}/{length} has room for {has}, and the group has {count}");
            let help = match step {
                1 => "write a shorter prefix, or the first address of the group",
                _ => {
                    "each host gets a /64 of its own: write a shorter prefix, or the first address of the group"
                }
            };
            return Err((message, help.to_owned()));
        }
        Ok(Block { first: plus(prefix.network(), skipped), step })
    }

    fn ip(&self) -> IpVersion {
        IpVersion::from_address(self.first)
    }

    /// The address of the host with this index in the group.
    fn address(&self, at: u32) -> Address {
        plus(self.first, self.step * u128::from(at))
    }

    /// The block itself, if all of its `count` addresses can belong to hosts.
    fn checked(self, name: &str, count: u32) -> Result<Block, Wrong> {
        let room = match self.first.as_v4() {
            Some(first) => u128::from(u32::MAX - first),
            None => u128::MAX - bits(self.first),
        };
        let last = self.step.checked_mul(u128::from(count - 1));
        if last.is_none_or(|last| last > room) {
            let message = format!("there are fewer than {count} addresses from {} on", self.first);
            return Err((message, "start at a lower address".to_owned()));
        }
        let wrong = (0..count).map(|at| (at, self.address(at)));
        let wrong =
            wrong.filter_map(|(at, address)| Some((at, address, unusable(address)?))).next();
        let Some((at, address, why)) = wrong else { return Ok(self) };
        let whose = if count == 1 { name.to_owned() } else { format!("{name}[{at}]") };
        let message = format!("{address} cannot be the address of `{whose}`: it is {why}");
        Err((
            message,
            "write a unicast address, such as \"100.64.0.1\" or \"2001:db8::1\"".to_owned(),
        ))
    }
}

fn parsed(address: &str, text: &str) -> Result<Address, Wrong> {
    let parsed: Address = address.parse().map_err(|_| not_an_address(text))?;
    if address.contains(':') && parsed.as_v4().is_some() {
        let message = format!("\"{text}\" is an IPv4-mapped IPv6 address");
        return Err((message, format!("write \"{parsed}\"")));
    }
    Ok(parsed)
}

fn not_an_address(text: &str) -> Wrong {
    let help = "write an address such as \"100.64.0.1\" or \"2001:db8::1\", a prefix such as \"100.64.0.0/24\", or a \
                list with one of IPv4 and one of IPv6";
    (format!("invalid address \"{text}\""), help.to_owned())
}

fn bits(address: Address) -> u128 {
    match std::net::IpAddr::from(address) {
        std::net::IpAddr::V4(address) => address.to_bits().into(),
        std::net::IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address `more` after this one, of the same version.
fn plus(address: Address, more: u128) -> Address {
    match address.as_v4() {
        Some(first) => Address::v4(first + more as u32),
        None => Address::v6(bits(address) + more),
    }
}

fn plural(count: u128, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Why no host can have this address (RFC 6890), if so.
fn unusable(address: Address) -> Option<&'static str> {
    match std::net::IpAddr::from(address) {
        std::net::IpAddr::V4(address) => match address.octets() {
            [0, ..] => Some("one of \"this network\", 0.0.0.0/8"),
            [127, ..] => Some("a loopback address"),
            [224..=239, ..] => Some("a multicast address"),
            [255, 255, 255, 255] => Some("the broadcast address"),
            _ => None,
        },
        std::net::IpAddr::V6(address) => {
            let is_link_local = address.segments()[0] & 0xffc0 == 0xfe80;
            match () {
                () if address.is_unspecified() => Some("the unspecified address"),
                () if address.is_loopback() => Some("the loopback address"),
                () if address.is_multicast() => Some("a multicast address"),
                () if is_link_local => Some("a link-local address, which no router forwards"),
                () => None,
            }
        }
    }
}

/// Refuses addresses that belong to two nodes.
fn unique(
    document: &mut Document,
    nodes: &[Node],
    given: &[(NodeId, Given)],
    mut places: Vec<Owned>,
) {
    let name = |node: NodeId| &nodes[node.index()].name;
    // An automatic address. `given` is in the order of nodes.
    let is_automatic = |node: NodeId| {
        node.index() < nodes.len() && given.binary_search_by_key(&node, |(node, _)| *node).is_err()
    };
    for (address, _, path) in &places {
        let Some(other) = NodeId::of_automatic(*address).filter(|other| is_automatic(*other))
        else {
            continue;
        };
        let last = NodeId(nodes.len() as u32 - 1);
        let [first, last] =
            [NodeId(0), last].map(|node| node.automatic(IpVersion::from_address(*address)));
        let message = format!("{address} is the automatic address of `{}`", name(other));
        let help = format!(
            "nodes without `address` get {first} to {last} in the order of the file; choose another address"
        );
        document.mistake(path, message, help);
        return;
    }
    places.sort_by_key(|(address, node, _)| (*address, *node));
    let twice = places.windows(2).find(|pair| pair[0].0 == pair[1].0);
    if let Some([(address, one, _), (_, other, path)]) = twice {
        let message =
            format!("`{}` and `{}` both have the address {address}", name(*one), name(*other));
        document.mistake(path, message, "give each host a different address");
    }
}
