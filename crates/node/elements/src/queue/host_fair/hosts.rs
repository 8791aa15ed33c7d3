//! Hosts with active flows.

use hashbrown::HashTable;

use shortflow_packet::Address;

use crate::flow_hash::FlowHash;

/// Hosts with listed queues, by address.
#[derive(Debug)]
pub(super) struct Hosts {
    hash: FlowHash,
    /// The index in `hosts` of an address.
    places: HashTable<u32>,
    hosts: Vec<Host>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Host {
    address: Address,
    /// The host's listed queues.
    queues: u32,
    /// Those in the old list with packets, which always have something to send.
    bulk: u32,
}

/// The index of a host in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HostSlot(u32);

impl Hosts {
    pub(super) fn new(hash: FlowHash) -> Self {
        Hosts { hash, places: HashTable::new(), hosts: Vec::new(), free: Vec::new() }
    }

    /// Reserves memory for `hosts` in total.
    pub(super) fn reserve(&mut self, hosts: usize) {
        let Hosts { hash, places, hosts: known, free } = self;
        // Twice the hosts: removals then never make it grow, but only rehash in place.
        let more = (2 * hosts).saturating_sub(places.len());
        places.reserve(more, |&at| hash.hash(&known[at as usize].address));
        known.reserve(hosts.saturating_sub(known.len()));
        free.reserve(hosts.saturating_sub(free.len()));
    }

    /// Adds a listed queue to the host at `address`.
    pub(super) fn enter(&mut self, address: Address) -> HostSlot {
        let hashed = self.hash.hash(&address);
        let hosts = &self.hosts;
        let found = self.places.find(hashed, |&at| hosts[at as usize].address == address);
        if let Some(&place) = found {
            self.hosts[place as usize].queues += 1;
            return HostSlot(place);
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
        let Hosts { hash, hosts, .. } = self;
        self.places.insert_unique(hashed, place, |&at| hash.hash(&hosts[at as usize].address));
        HostSlot(place)
    }

    /// A queue of the host is in the old list and has packets.
    #[inline]
    pub(super) fn became_bulk(&mut self, place: HostSlot) {
        self.hosts[place.0 as usize].bulk += 1;
    }

    /// An old queue of the host has no packets any more.
    #[inline]
    pub(super) fn came_to_rest(&mut self, place: HostSlot) {
        self.hosts[place.0 as usize].bulk -= 1;
    }

    /// A queue of the host, which has no packets, is no longer listed.
    pub(super) fn leave(&mut self, HostSlot(place): HostSlot) {
        let host = &mut self.hosts[place as usize];
        host.queues -= 1;
        if host.queues == 0 {
            debug_assert_eq!(host.bulk, 0, "a queue that holds packets is listed");
            let found = self.places.find_entry(self.hash.hash(&host.address), |&at| at == place);
            found.expect("a host with a listed queue is in the hash table").remove();
            self.free.push(place);
        }
    }

    /// The number of the host's queues that always have something to send.
    #[inline]
    pub(super) fn bulk(&self, place: HostSlot) -> u32 {
        self.hosts[place.0 as usize].bulk
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Rng;

    use super::*;

    #[test]
    fn a_host_is_known_while_queues_of_it_are_listed() {
        let mut hosts = Hosts::new(FlowHash::seeded(&mut Rng::stream(1, "hosts")));
        let first = hosts.enter(Address::v4(1));
        assert_eq!(hosts.enter(Address::v4(1)), first);
        let second = hosts.enter(Address::v4(2));
        assert_ne!(first, second);
        hosts.became_bulk(first);
        hosts.became_bulk(first);
        assert_eq!((hosts.bulk(first), hosts.bulk(second)), (2, 0));
        hosts.came_to_rest(first);
        assert_eq!(hosts.bulk(first), 1, "an empty queue does not count");
        hosts.leave(first);
        hosts.came_to_rest(first);
        hosts.leave(first);
        // Host 1 is forgotten; its place is free for another.
        assert_eq!(hosts.enter(Address::v4(3)), first);
        assert_eq!(hosts.bulk(first), 0);
    }
}
