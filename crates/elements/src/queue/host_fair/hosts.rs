//! The hosts that flows come from or go to, while they send.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::Address;

/// Hosts of which queues are listed, found by their address.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// Where in `hosts` an address's host sits.
    places: HashTable<u32>,
    hosts: Vec<Host>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Host {
    address: Address,
    /// Queues of the host that are listed.
    queues: u32,
    /// Those of them that are old: they always have something to send.
    bulk: u32,
}

/// The place of a host in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HostPlace(u32);

impl Hosts {
    /// Counts a queue of the host at `address` that is now listed.
    pub(super) fn enter(&mut self, address: Address) -> HostPlace {
        let hashed = hash(address);
        let hosts = &self.hosts;
        let found = self.places.find(hashed, |&at| hosts[at as usize].address == address);
        if let Some(&place) = found {
            self.hosts[place as usize].queues += 1;
            return HostPlace(place);
        }
        let host = Host { address, queues: 1, bulk: 0 };
        let place = match self.free.pop() {
            Some(place) => {
                self.hosts[place as usize] = host;
                place
            }
            None => {
                self.hosts.push(host);
                (self.hosts.len() - 1) as u32
            }
        };
        let hosts = &self.hosts;
        self.places.insert_unique(hashed, place, |&at| hash(hosts[at as usize].address));
        HostPlace(place)
    }

    /// A queue of the host became an old one.
    #[inline]
    pub(super) fn became_bulk(&mut self, place: HostPlace) {
        self.hosts[place.0 as usize].bulk += 1;
    }

    /// An old queue of the host is no longer listed.
    pub(super) fn leave(&mut self, HostPlace(place): HostPlace) {
        let host = &mut self.hosts[place as usize];
        host.bulk -= 1;
        host.queues -= 1;
        if host.queues == 0 {
            let found = self.places.find_entry(hash(host.address), |&at| at == place);
            found.expect("a host with a listed queue is in the hash table").remove();
            self.free.push(place);
        }
    }

    /// How many of the host's queues always have something to send.
    #[inline]
    pub(super) fn bulk(&self, place: HostPlace) -> u32 {
        self.hosts[place.0 as usize].bulk
    }
}

fn hash(address: Address) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_while_queues_of_it_are_listed() {
        let mut hosts = Hosts::default();
        let first = hosts.enter(Address(1));
        assert_eq!(hosts.enter(Address(1)), first);
        let second = hosts.enter(Address(2));
        assert_ne!(first, second);
        hosts.became_bulk(first);
        hosts.became_bulk(first);
        assert_eq!((hosts.bulk(first), hosts.bulk(second)), (2, 0));
        hosts.leave(first);
        assert_eq!(hosts.bulk(first), 1);
        hosts.leave(first);
        // Host 1 is forgotten; its place is free for another.
        assert_eq!(hosts.enter(Address(3)), first);
        assert_eq!(hosts.bulk(first), 0);
    }
}
