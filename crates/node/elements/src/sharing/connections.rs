//! The known connections of an aggregate, and their numbers.

use shortflow_packet::{FlowKey, Packet, Protocol, TcpFlags};
use shortflow_units::{Duration, Instant, Rng};

use super::{AggregateProfile, SharedProfile, Sharing};
use crate::ParamsError;
use crate::chains::{Chain, Chains};
use crate::flow_hash::FlowHash;
use crate::flow_map::FlowMap;
use crate::params::above_zero;

/// How many connections of an aggregate have a share at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    connections: usize,
    idle_timeout: Duration,
}

impl ConnectionLimits {
    /// At most `connections` are known. A further one replaces the one that has been idle longest. One that
    /// has been idle for longer than `idle_timeout` is removed.
    pub fn new(connections: usize, idle_timeout: Duration) -> Result<Self, ParamsError> {
        if !(1..=MAX_CONNECTIONS).contains(&connections) {
            let message =
                format!("connections must be 1 to {MAX_CONNECTIONS}; found {connections}");
            return Err(ParamsError::new("connections", message));
        }
        let idle_timeout = above_zero("idle_timeout", idle_timeout)?;
        Ok(ConnectionLimits { connections, idle_timeout })
    }

    /// The limit on known connections.
    pub fn connections(&self) -> usize {
        self.connections
    }

    /// The idle time after which one is removed.
    pub fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }
}

/// Distributing tokens takes one step per connection.
const MAX_CONNECTIONS: usize = 4096;

/// The connections of one aggregate and their shares of its profile. A connection is known from its first
/// packet on, whatever that is, so a new policy also handles connections that are already open. A connection
/// loses its share when it closes, with the packet that has its FIN or RST. Later packets get a temporary
/// share.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    flows: FlowMap<FlowKey, Known>,
    /// From the longest idle to the most recently seen.
    recent: Chain,
    links: Chains,
    pub(crate) shared: SharedProfile,
    stats: ConnectionStats,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
struct Known {
    seen_at: Instant,
    /// Some of its packets wait, so it cannot be removed.
    waits: bool,
    is_closed: bool,
    has_share: bool,
}

/// Counters of the connections of an aggregate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectionStats {
    /// New connections.
    pub(crate) joined: u64,
    /// Connections that were replaced by a new one before their idle timeout.
    pub(crate) evicted: u64,
}

/// The result of a lookup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Its number.
    pub(crate) number: u32,
    /// Whether it is new.
    pub(crate) is_new: bool,
}

impl Connections {
    /// No connections, and a full bucket. The hash of the table has a seed from `rng`.
    pub(crate) fn new(
        profile: AggregateProfile,
        sharing: Sharing,
        limits: ConnectionLimits,
        mut rng: Rng,
    ) -> Self {
        Connections {
            limits,
            flows: FlowMap::new(FlowHash::seeded(&mut rng), 0),
            recent: Chain::EMPTY,
            links: Chains::default(),
            shared: SharedProfile::new(profile, sharing),
            stats: ConnectionStats::default(),
        }
    }

    /// Reserves memory for `connections` in total, up to the limit.
    pub(crate) fn reserve(&mut self, connections: usize) {
        let connections = connections.min(self.limits.connections);
        self.flows.reserve(connections);
        self.links.reserve(connections.saturating_sub(self.links.len()));
        self.shared.reserve(connections);
    }

    pub(crate) fn stats(&self) -> ConnectionStats {
        self.stats
    }

    /// The number of the connection with this name, if it is known.
    pub(crate) fn find(&self, key: &FlowKey) -> Option<u32> {
        self.flows.find(key)
    }

    /// The connection of `packet`, which arrives at `now`; it has a share from now on. `None` if it is new
    /// and packets of all others wait.
    pub(crate) fn see(&mut self, now: Instant, packet: &Packet) -> Option<Seen> {
        self.shared.earn(now);
        self.forget_silent(now);
        let found = self.flows.find(&packet.key);
        let number = match found {
            Some(number) => number,
            None => self.insert(now, packet.key)?,
        };
        self.links.remove(&mut self.recent, number as usize);
        self.links.push_last(&mut self.recent, number as usize);
        let known = &mut self.flows[number];
        known.seen_at = now;
        // The ports of a closed connection may be reused.
        known.is_closed &= !packet.flags.has(TcpFlags::SYN);
        if !known.has_share {
            known.has_share = true;
            self.shared.join(number);
        }
        Some(Seen { number, is_new: found.is_none() })
    }

    /// Sets the round-trip time of the connection.
    pub(crate) fn set_rtt(&mut self, number: u32, rtt: Duration) {
        if self.flows[number].has_share {
            self.shared.set_rtt(number, rtt);
        }
    }

    /// Packets of the connection wait from now on, or none any more.
    pub(crate) fn set_waiting(&mut self, number: u32, waits: bool) {
        self.flows[number].waits = waits;
        self.settle(number);
    }

    /// `packet` of the connection has passed or was dropped.
    pub(crate) fn passed(&mut self, number: u32, packet: &Packet) {
        let closes = packet.flags.has(TcpFlags::FIN) || packet.flags.has(TcpFlags::RST);
        self.flows[number].is_closed |= packet.key.protocol == Protocol::TCP && closes;
        self.settle(number);
    }

    /// Removes the share of a connection that has closed and does not wait.
    fn settle(&mut self, number: u32) {
        let known = &mut self.flows[number];
        if known.is_closed && known.has_share && !known.waits {
            known.has_share = false;
            self.shared.leave(number);
        }
    }

    fn insert(&mut self, now: Instant, key: FlowKey) -> Option<u32> {
        if self.flows.len() == self.limits.connections {
            let oldest = self.oldest_idle()?;
            self.forget(oldest);
            self.stats.evicted += 1;
        }
        self.stats.joined += 1;
        let known = Known { seen_at: now, waits: false, is_closed: false, has_share: false };
        let number = self.flows.insert(key, known);
        if number as usize == self.links.len() {
            self.links.add();
        }
        self.links.push_last(&mut self.recent, number as usize);
        Some(number)
    }

    fn forget_silent(&mut self, now: Instant) {
        while let Some(oldest) = self.oldest_idle()
            && now.since(self.flows[oldest].seen_at) > self.limits.idle_timeout
        {
            self.forget(oldest);
        }
    }

    /// The longest idle of those that do not wait.
    fn oldest_idle(&self) -> Option<u32> {
        let mut numbers = self.links.iter(&self.recent).map(|number| number as u32);
        numbers.find(|&number| !self.flows[number].waits)
    }

    fn forget(&mut self, number: u32) {
        if self.flows[number].has_share {
            self.shared.leave(number);
        }
        self.links.remove(&mut self.recent, number as usize);
        self.flows.remove(number);
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::{Bytes, Rate};

    use super::super::Depths;
    use super::*;
    use crate::test_packet;

    /// At most two connections of a profile of 8 kbit/s and 3000 bytes, silent for up to 10 s.
    fn two() -> Connections {
        let rate = Rate::from_bits_per_sec(8_000);
        let profile = AggregateProfile::new(rate, Bytes(3_000), Bytes(1_500)).unwrap();
        let limits = ConnectionLimits::new(2, Duration::from_secs(10)).unwrap();
        let sharing = Sharing::Partitioned(Depths::Equal);
        Connections::new(profile, sharing, limits, Rng::stream(1, "connections"))
    }

    fn packet(port: u16, flags: TcpFlags) -> Packet {
        let mut packet = Packet { flags, size: 1_500, ..test_packet() };
        packet.key.src_port = port;
        packet
    }

    fn secs(secs: u64) -> Instant {
        Instant::START + Duration::from_secs(secs)
    }

    #[test]
    fn a_connection_is_known_until_it_is_silent_for_too_long_or_gives_way() {
        let mut connections = two();
        let mut is_new =
            |at, port| connections.see(secs(at), &packet(port, TcpFlags::ACK)).unwrap().is_new;
        assert_eq!([is_new(0, 1), is_new(1, 2), is_new(2, 1)], [true, true, false]);
        assert!(is_new(3, 3), "it takes the place of 2");
        assert_eq!([is_new(4, 1), is_new(5, 2)], [false, true]);
        assert!(!is_new(14, 1), "silent for 10 s");
        assert!(is_new(25, 1), "silent for 11 s");
        assert_eq!((connections.stats().joined, connections.stats().evicted), (5, 2));
    }

    #[test]
    fn one_that_waits_is_not_forgotten_and_where_all_wait_no_new_one_comes_in() {
        let mut connections = two();
        for port in [1, 2] {
            let seen = connections.see(secs(0), &packet(port, TcpFlags::ACK)).unwrap();
            connections.set_waiting(seen.number, true);
        }
        assert!(connections.see(secs(99), &packet(3, TcpFlags::ACK)).is_none());
        let second = connections.find(&packet(2, TcpFlags::ACK).key).unwrap();
        connections.set_waiting(second, false);
        assert!(connections.see(secs(99), &packet(3, TcpFlags::ACK)).unwrap().is_new);
        assert!(connections.find(&packet(1, TcpFlags::ACK).key).is_some());
    }

    #[test]
    fn the_share_of_a_connection_that_closes_is_the_others_at_once() {
        let mut connections = two();
        let [first, second] = [1, 2]
            .map(|port| connections.see(secs(0), &packet(port, TcpFlags::ACK)).unwrap().number);
        // 1500 bytes each; nothing is left of the second's.
        assert!(connections.shared.admit(second, &packet(2, TcpFlags::ACK)));
        assert!(!connections.shared.conforms(second, &packet(2, TcpFlags::ACK)));
        connections.passed(first, &packet(1, TcpFlags::FIN.with(TcpFlags::ACK)));
        connections.see(secs(0), &packet(2, TcpFlags::ACK));
        connections.shared.earn(Instant::from_nanos(1_000_000));
        assert!(connections.shared.admit(second, &packet(2, TcpFlags::ACK)), "what the first had");

        // An acknowledgement after the FIN has a share for the moment, and a SYN opens it anew.
        let late = connections.see(secs(2), &packet(1, TcpFlags::ACK)).unwrap();
        assert!(!late.is_new);
        connections.passed(first, &packet(1, TcpFlags::ACK));
        assert!(!connections.flows[first].has_share);
        connections.see(secs(2), &packet(1, TcpFlags::SYN));
        connections.passed(first, &packet(1, TcpFlags::SYN));
        assert!(connections.flows[first].has_share);
    }
}
