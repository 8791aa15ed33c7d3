//! Aggregates: packets that share an account, such as those of a flow, of a host, of a pair of hosts.

use shortflow_packet::{FlowKey, Packet};
use shortflow_units::{Duration, Instant, Rng};

use crate::flow_hash::FlowHash;
use crate::params::above_zero;
use crate::table::{LruTable, TableBounds};
use crate::{Color, Meter, ParamsError};

/// Which packets share an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregate {
    /// Packets of one 5-tuple.
    #[default]
    Flow,
    /// Packets from one source address to one destination address.
    HostPair,
    /// Packets from one source address.
    Source,
    /// Packets to one destination address.
    Destination,
}

/// Which packets share an account, and how many accounts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Per {
    aggregate: Aggregate,
    ipv6_prefix: u8,
    bounds: TableBounds,
}

impl Per {
    /// Keeps at most `table_size` accounts: a new one replaces the least recently used one. An account that
    /// has been idle for longer than `idle_timeout` is removed, and starts again when its packets return.
    /// Accounts must therefore return to their initial state within that time, which each element checks.
    /// What a new account starts with in a full table depends on the element.
    ///
    /// An IPv6 host is identified by its first 64 bits, because a user can have any address with these bits
    /// ([`with_ipv6_prefix`](Self::with_ipv6_prefix)).
    pub fn new(
        aggregate: Aggregate,
        table_size: usize,
        idle_timeout: Duration,
    ) -> Result<Self, ParamsError> {
        if table_size == 0 || table_size > MAX_ENTRIES {
            return Err(ParamsError::new(
                "table_size",
                format!("table_size must be 1 to {MAX_ENTRIES}; found {table_size}"),
            ));
        }
        let idle_timeout = above_zero("idle_timeout", idle_timeout)?;
        let bounds = TableBounds { entries: table_size, idle_timeout };
        Ok(Per { aggregate, ipv6_prefix: IPV6_PREFIX, bounds })
    }

    /// Sets the length of the prefix that identifies an IPv6 host, from 1 to 128.
    pub fn with_ipv6_prefix(self, length: u8) -> Result<Self, ParamsError> {
        Ok(Per { ipv6_prefix: checked_ipv6_prefix(length)?, ..self })
    }

    /// Refuses an idle timeout shorter than `settled`, the time in which an account returns to its initial
    /// state. Otherwise removing the account would give more than it allows.
    pub fn settling_in(self, settled: Duration) -> Result<Self, ParamsError> {
        let idle_timeout = self.bounds.idle_timeout;
        if idle_timeout < settled {
            return Err(ParamsError::new(
                "idle_timeout",
                format!(
                    "idle_timeout {idle_timeout} must be at least {settled}, the time in which an account \
                     returns to its initial state; an account that is removed earlier would \
                     exceed its limit"
                ),
            ));
        }
        Ok(self)
    }

    /// The aggregate of packets with this `key`: `key` without the fields that do not count.
    #[inline]
    pub(crate) fn name(&self, key: FlowKey) -> FlowKey {
        let host = |address: shortflow_packet::Address| address.ipv6_network(self.ipv6_prefix);
        let none = FlowKey::default();
        match self.aggregate {
            Aggregate::Flow => key,
            Aggregate::HostPair => FlowKey { src: host(key.src), dst: host(key.dst), ..none },
            Aggregate::Source => FlowKey { src: host(key.src), ..none },
            Aggregate::Destination => FlowKey { dst: host(key.dst), ..none },
        }
    }

    /// An empty table of aggregates. Its hash has a seed from `rng`.
    pub(crate) fn table<V>(&self, mut rng: Rng) -> LruTable<FlowKey, V> {
        LruTable::new(self.bounds, FlowHash::seeded(&mut rng))
    }

    /// Which packets share an account.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// The length of the prefix that identifies an IPv6 host.
    pub fn ipv6_prefix(&self) -> u8 {
        self.ipv6_prefix
    }

    /// How many accounts are kept.
    pub fn table_size(&self) -> usize {
        self.bounds.entries
    }

    /// The idle time after which an account is removed.
    pub fn idle_timeout(&self) -> Duration {
        self.bounds.idle_timeout
    }
}

const MAX_ENTRIES: usize = 1 << 24;

/// The usual prefix of a site or user in IPv6 (RFC 6177, RFC 8273).
pub(crate) const IPV6_PREFIX: u8 = 64;

/// Checks `length` as the length of a host's prefix.
pub(crate) fn checked_ipv6_prefix(length: u8) -> Result<u8, ParamsError> {
    if !(1..=128).contains(&length) {
        let message = format!("ipv6_prefix must be 1 to 128 bits; found {length}");
        return Err(ParamsError::new("ipv6_prefix", message));
    }
    Ok(length)
}

/// A meter that returns to its initial state after some idle time.
pub trait Settling: Meter + Clone {
    /// The idle time after which the meter is in its initial state, whatever its history. For a token bucket
    /// this is the time in which it fills: depth divided by rate, rounded up.
    fn settled_after(&self) -> Duration;
}

/// A separate meter for each aggregate, for example for each user. O(1) per packet.
///
/// An aggregate starts with a fresh meter, with full token buckets. In a full table a new aggregate takes
/// over the meter of the least recently seen one, in its current state. There are therefore never more meters
/// than the table allows, and all aggregates together get at most what so many meters allow. A flood of new
/// addresses gains nothing.
#[derive(Debug)]
pub struct PerAggregate<M> {
    per: Per,
    fresh: M,
    meters: LruTable<FlowKey, M>,
}

impl<M: Settling> PerAggregate<M> {
    /// A copy of `fresh` for each aggregate. The hash of the table has a seed from `rng`. The idle timeout
    /// must be long enough for a meter to return to its initial state.
    pub fn new(per: Per, fresh: M, rng: Rng) -> Result<Self, ParamsError> {
        let per = per.settling_in(fresh.settled_after())?;
        Ok(PerAggregate { per, fresh, meters: per.table(rng) })
    }
}

impl<M: Settling> Meter for PerAggregate<M> {
    fn reserve(&mut self, flows: usize) {
        self.meters.reserve(flows);
    }

    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let name = self.per.name(packet.key);
        let fresh = &self.fresh;
        let seen = self.meters.see(now, name, |displaced| {
            displaced.map_or_else(|| fresh.clone(), |displaced| displaced.value.clone())
        });
        seen.value.meter(now, packet)
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let stats = self.meters.stats();
        visit("aggregates seen", stats.misses);
        visit("aggregates evicted", stats.evictions);
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Bytes;

    use super::*;
    use crate::meter::{TokenBucket, TokenBucketParams};
    use crate::test_packet;
    use shortflow_packet::{Address, Protocol};

    const ANNE: Address = Address::v4(1);
    const BOB: Address = Address::v4(2);
    const CARL: Address = Address::v4(3);

    fn key(src: Address, dst: Address, src_port: u16) -> FlowKey {
        FlowKey { src, dst, src_port, dst_port: 80, protocol: Protocol::TCP }
    }

    #[test]
    fn an_aggregate_joins_what_agrees_in_its_fields() {
        let first = key(ANNE, BOB, 1);
        let per = |aggregate| Per::new(aggregate, 1, Duration::from_secs(1)).unwrap();
        let joins = |aggregate, other| per(aggregate).name(first) == per(aggregate).name(other);
        let [port, dst, src] = [key(ANNE, BOB, 2), key(ANNE, CARL, 1), key(CARL, BOB, 1)];
        assert_eq!([port, dst, src].map(|other| joins(Aggregate::Flow, other)), [false; 3]);
        let joined = |aggregate| [port, dst, src].map(|other| joins(aggregate, other));
        assert_eq!(joined(Aggregate::HostPair), [true, false, false]);
        assert_eq!(joined(Aggregate::Source), [true, true, false]);
        assert_eq!(joined(Aggregate::Destination), [true, false, true]);
    }

    #[test]
    fn a_host_of_ipv6_is_its_first_64_bits_or_what_is_asked_for() {
        let per = Per::new(Aggregate::Source, 1, Duration::from_secs(1)).unwrap();
        let address = |text: &str| text.parse::<Address>().unwrap();
        let joins = |per: Per, other| {
            let [first, other] = ["2001:db8::1", other]
                .map(|src| per.name(FlowKey { src: address(src), ..FlowKey::default() }));
            first == other
        };
        assert!(joins(per, "2001:db8::ffff:2") && !joins(per, "2001:db8:0:1::1"));
        assert!(joins(per.with_ipv6_prefix(48).unwrap(), "2001:db8:0:1::1"));
        assert!(!joins(per.with_ipv6_prefix(128).unwrap(), "2001:db8::2"));
        let refused = [0, 129].map(|length| per.with_ipv6_prefix(length).unwrap_err().to_string());
        assert_eq!(refused[0], "ipv6_prefix must be 1 to 128 bits; found 0");
        assert_eq!(refused[1], "ipv6_prefix must be 1 to 128 bits; found 129");
    }

    fn bucket(rate: &str, depth: u64) -> TokenBucket {
        TokenBucket::new(TokenBucketParams::new(rate.parse().unwrap(), Bytes(depth)).unwrap())
    }

    fn users(table_size: usize, idle_secs: u64, bucket: TokenBucket) -> PerAggregate<TokenBucket> {
        let idle_timeout = Duration::from_secs(idle_secs);
        let per = Per::new(Aggregate::Source, table_size, idle_timeout).unwrap();
        PerAggregate::new(per, bucket, Rng::stream(1, "users")).unwrap()
    }

    fn color(meter: &mut PerAggregate<TokenBucket>, secs: u64, user: Address) -> Color {
        let mut packet = test_packet();
        packet.key.src = user;
        meter.meter(Instant::START + Duration::from_secs(secs), &packet)
    }

    #[test]
    fn each_user_has_a_bucket_and_a_new_one_takes_over_what_the_least_recent_has_left() {
        // A packet of 1000 bytes takes 10 s to be earned.
        let mut users = users(2, 10, bucket("800 bit/s", 1000));
        let mut color = |secs, user| color(&mut users, secs, user);
        assert_eq!([color(0, ANNE), color(0, ANNE)], [Color::Green, Color::Yellow]);
        assert_eq!([color(1, BOB), color(1, BOB)], [Color::Green, Color::Yellow]);
        assert_eq!(color(2, CARL), Color::Yellow, "takes over what Anne has left, 200 bytes");
        assert_eq!(color(10, CARL), Color::Green, "as Anne would have been");
        assert_eq!(color(12, BOB), Color::Green);
        assert_eq!(color(13, ANNE), Color::Yellow, "takes over what Carl has left");
        assert_eq!(color(24, ANNE), Color::Green, "after more than 10 s of silence");
    }

    #[test]
    fn a_thousand_and_one_users_of_a_thousand_buckets_get_what_a_thousand_buckets_allow() {
        let mut users = users(1000, 48, bucket("1 kbit/s", 6000));
        let green = (0..10_000_u64).map(|turn| {
            let users = (0..1001)
                .filter(|&user| color(&mut users, turn / 1000, Address::v4(user)) == Color::Green);
            users.count() as u64
        });
        let green = Bytes(1000 * green.sum::<u64>());
        // 1000 buckets of 6000 bytes, and what 1 kbit/s earns each in 9 s.
        let allowed = Bytes(1000 * (6000 + 9 * 125));
        assert!(green <= allowed, "{green} of {allowed}");
        assert!(green.0 > 6_000_000, "{green} is less than the buckets hold at the start");
    }

    #[test]
    fn a_timeout_in_which_a_bucket_does_not_fill_is_refused() {
        let per = Per::new(Aggregate::Source, 9, Duration::from_secs(1)).unwrap();
        let refused =
            PerAggregate::new(per, bucket("1 kbit/s", 6000), Rng::stream(1, "users")).unwrap_err();
        assert_eq!(
            (refused.parameter(), &*refused.to_string()),
            (
                "idle_timeout",
                "idle_timeout 1 s must be at least 48 s, the time in which an account \
                 returns to its initial state; an account that is removed earlier would exceed its limit"
            )
        );
    }
}
