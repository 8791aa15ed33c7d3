//! Packets that are accounted for together: those of a flow, of a host, of a pair of hosts.

use shortflow_units::{Duration, Instant};

use crate::params::above_zero;
use crate::table::{LruTable, TableBounds};
use crate::{Color, FlowKey, Meter, Packet, ParamsError};

/// Which packets are accounted for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregate {
    /// Those of one 5-tuple.
    #[default]
    Flow,
    /// Those from one source address to one destination address.
    HostPair,
    /// Those from one source address.
    Source,
    /// Those to one destination address.
    Destination,
}

impl Aggregate {
    /// The name of the aggregate to which packets of `key` belong: `key` without the fields that do
    /// not count.
    #[inline]
    pub(crate) fn of(self, key: FlowKey) -> FlowKey {
        let FlowKey { src, dst, .. } = key;
        match self {
            Aggregate::Flow => key,
            Aggregate::HostPair => FlowKey { src, dst, ..FlowKey::default() },
            Aggregate::Source => FlowKey { src, ..FlowKey::default() },
            Aggregate::Destination => FlowKey { dst, ..FlowKey::default() },
        }
    }
}

/// Which packets are accounted for together, and how many such aggregates are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Per {
    pub(crate) aggregate: Aggregate,
    pub(crate) bounds: TableBounds,
}

impl Per {
    /// Remembers at most `table_size` aggregates: the least recently seen gives way to a new one.
    /// One that was silent for longer than `idle_timeout` is forgotten.
    ///
    /// What is forgotten starts anew when it comes again. So long as no more than `table_size`
    /// aggregates are active within `idle_timeout`, only the silent are forgotten: an aggregate is
    /// evicted only when `table_size` others have each sent a packet since its last one.
    pub fn new(
        aggregate: Aggregate,
        table_size: usize,
        idle_timeout: Duration,
    ) -> Result<Self, ParamsError> {
        if table_size == 0 || table_size > MOST_ENTRIES {
            return Err(ParamsError::new(
                "table_size",
                format!("table_size {table_size} must be from 1 to {MOST_ENTRIES}"),
            ));
        }
        let idle_timeout = above_zero("idle_timeout", idle_timeout)?;
        Ok(Per { aggregate, bounds: TableBounds { entries: table_size, idle_timeout } })
    }

    /// Whose packets are accounted for together.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// How many aggregates are remembered.
    pub fn table_size(&self) -> usize {
        self.bounds.entries
    }

    /// The silence after which one is forgotten.
    pub fn idle_timeout(&self) -> Duration {
        self.bounds.idle_timeout
    }
}

const MOST_ENTRIES: usize = 1 << 24;

/// A meter of its own for each aggregate: one per user, for example. A fresh or forgotten aggregate
/// starts with the meter as it was given, token buckets full. O(1) per packet.
#[derive(Debug)]
pub struct PerAggregate<M> {
    aggregate: Aggregate,
    fresh: M,
    meters: LruTable<FlowKey, M>,
}

impl<M: Meter + Clone> PerAggregate<M> {
    /// A copy of `fresh` for each aggregate.
    pub fn new(per: Per, fresh: M) -> Self {
        PerAggregate { aggregate: per.aggregate, fresh, meters: LruTable::new(per.bounds) }
    }
}

impl<M: Meter + Clone> Meter for PerAggregate<M> {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let key = self.aggregate.of(packet.key);
        let fresh = &self.fresh;
        self.meters.see(now, key, || fresh.clone()).value.meter(now, packet)
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
    use crate::packet::test_packet;
    use crate::{Address, Protocol};

    const ANNE: Address = Address(1);
    const BOB: Address = Address(2);
    const CARL: Address = Address(3);

    fn key(src: Address, dst: Address, src_port: u16) -> FlowKey {
        FlowKey { src, dst, src_port, dst_port: 80, protocol: Protocol::Tcp }
    }

    #[test]
    fn an_aggregate_joins_what_agrees_in_its_fields() {
        let first = key(ANNE, BOB, 1);
        let joins = |aggregate: Aggregate, other| aggregate.of(first) == aggregate.of(other);
        let [port, dst, src] = [key(ANNE, BOB, 2), key(ANNE, CARL, 1), key(CARL, BOB, 1)];
        assert_eq!([port, dst, src].map(|other| joins(Aggregate::Flow, other)), [false; 3]);
        let joined = |aggregate| [port, dst, src].map(|other| joins(aggregate, other));
        assert_eq!(joined(Aggregate::HostPair), [true, false, false]);
        assert_eq!(joined(Aggregate::Source), [true, true, false]);
        assert_eq!(joined(Aggregate::Destination), [true, false, true]);
    }

    #[test]
    fn each_user_has_a_bucket_and_what_is_forgotten_starts_full() {
        let per = Per::new(Aggregate::Source, 2, Duration::from_secs(10)).unwrap();
        // One packet of 1000 bytes at a time, and next to nothing comes in.
        let bucket = TokenBucketParams::new("1 bit/s".parse().unwrap(), Bytes(1000)).unwrap();
        let mut meter = PerAggregate::new(per, TokenBucket::new(bucket));
        let mut color = |secs, user| {
            let mut packet = test_packet();
            packet.key.src = user;
            meter.meter(Instant::START + Duration::from_secs(secs), &packet)
        };
        assert_eq!([color(0, ANNE), color(0, ANNE)], [Color::Green, Color::Yellow]);
        assert_eq!([color(1, BOB), color(1, BOB)], [Color::Green, Color::Yellow]);
        assert_eq!(color(2, CARL), Color::Green, "pushes out Anne, seen less recently than Bob");
        assert_eq!([color(2, BOB), color(2, ANNE)], [Color::Yellow, Color::Green]);
        assert_eq!(color(12, BOB), Color::Yellow, "10 s of silence are not too long");
        assert_eq!(color(23, BOB), Color::Green, "11 s are");
    }
}
