//! Hosts of a scenario: an address for each busy customer, and for the internet.

use std::net::IpAddr;

use crate::model::Plans;
use crate::prefix::Prefix;

/// Addresses of documentation and tests, for the internet (RFC 5737, RFC 2544; RFC 3849, RFC 9637, RFC 5180).
const INTERNET_V4: [&str; 4] = ["192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1"];
const INTERNET_V6: [&str; 3] = ["2001:db8:ffff::1", "3fff::1", "2001:2::1"];
/// Routers of a scenario, beside those of sites.
const OTHER_ROUTERS: usize = 2;

/// The hosts of a scenario.
pub(crate) struct Hosts {
    /// An address of each version.
    pub(crate) internet: Vec<IpAddr>,
    /// The busy customers, each with its address.
    pub(crate) of_customers: Vec<(usize, IpAddr)>,
    /// Busy customers whose addresses no host can have.
    pub(crate) without: Vec<usize>,
    /// The sites that have busy customers, and those in front of them, in order.
    pub(crate) sites: Vec<usize>,
}

impl Hosts {
    pub(crate) fn new(plans: &Plans, busy: &[usize]) -> Hosts {
        let mut sites: Vec<usize> =
            busy.iter().flat_map(|at| plans.path(plans.customers[*at].site)).collect();
        sites.sort_unstable();
        sites.dedup();
        let owned = Owned::new(plans);
        // A scenario gives its routers the addresses behind those of its hosts, from 10.0.0.1.
        let hosts = busy.len() + 1;
        let first = u128::from(0x0a00_0001u32) + hosts as u128;
        let routers = first..first + (sites.len() + OTHER_ROUTERS) as u128;
        let is_router = |address: IpAddr| match address {
            IpAddr::V4(address) => routers.contains(&u128::from(address.to_bits())),
            IpAddr::V6(_) => false,
        };
        let (mut of_customers, mut without) = (Vec::new(), Vec::new());
        for at in busy {
            let each = plans.customers[*at].addresses.iter();
            match each.copied().find_map(|prefix| owned.first(*at, prefix, &is_router)) {
                Some(address) => of_customers.push((*at, address)),
                None => without.push(*at),
            }
        }
        // Plans look at the customer's address alone, so the internet may have any that no host has.
        let is_free = |address: &IpAddr| of_customers.iter().all(|(_, other)| other != address);
        let free = |text: &&str| text.parse().ok().filter(is_free);
        let internet = [INTERNET_V4.iter().find_map(free), INTERNET_V6.iter().find_map(free)];
        Hosts { internet: internet.into_iter().flatten().collect(), of_customers, without, sites }
    }
}

/// All prefixes, by their first address, with the customer of each.
struct Owned(Vec<(Prefix, usize)>);

impl Owned {
    fn new(plans: &Plans) -> Owned {
        let each = plans.customers.iter().enumerate();
        let of = |(at, customer): (usize, &crate::Customer)| {
            customer.addresses.clone().into_iter().map(move |prefix| (prefix, at))
        };
        let mut all: Vec<(Prefix, usize)> = each.flat_map(of).collect();
        all.sort_unstable();
        Owned(all)
    }

    /// The first address of a prefix that is this customer's, for a host. Skips each longer prefix of another.
    fn first(
        &self,
        customer: usize,
        prefix: Prefix,
        is_taken: &dyn Fn(IpAddr) -> bool,
    ) -> Option<IpAddr> {
        let mut next = prefix.first_host();
        // Each step passes a prefix or a taken address.
        for _ in 0..=self.0.len() + SPECIAL.len() + MAX_TAKEN {
            let address = next.filter(|address| prefix.contains(Prefix::host(*address)))?;
            if is_taken(address) {
                next = Prefix::host(address).after();
                continue;
            }
            if let Some(special) = special(address) {
                next = special.after();
                continue;
            }
            let host = Prefix::host(address);
            let inner = self.0.iter().filter(|(one, _)| one.contains(host));
            let (longest, owner) = inner.max_by_key(|(one, _)| one.length())?;
            if *owner == customer {
                return Some(address);
            }
            next = longest.after();
        }
        None
    }
}

/// Addresses that no host can have in a scenario: of this network, loopback, link-local, multicast and reserved ones (RFC 6890,
/// RFC 4291).
const SPECIAL: [&str; 8] = [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/8",
    "fe80::/10",
    "ff00::/8",
];

fn special(address: IpAddr) -> Option<Prefix> {
    let all = SPECIAL.iter().map(|text| text.parse().expect("a constant is a prefix"));
    all.into_iter().find(|prefix: &Prefix| prefix.contains(Prefix::host(address)))
}

/// More taken addresses in a row than there can be: one for each router.
const MAX_TAKEN: usize = Plans::MAX_CLASSES;
