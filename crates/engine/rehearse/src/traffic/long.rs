//! The throughput of long flows.

use std::collections::BTreeMap;

use shortflow_measure::{Ends, ThroughputSamples};
use shortflow_units::{Duration, Instant};

use super::connection::{Connection, Side, Talk};
use super::connections::Connections;
use super::tcp_info::TcpInfo;
use crate::router::Times;

/// What an endless flow got through while it was measured.
#[derive(Debug)]
pub(crate) struct LongFlow {
    pub(crate) workload: u16,
    pub(crate) ends: Ends,
    pub(crate) bytes: u64,
    pub(crate) samples: Option<ThroughputSamples>,
    /// Segments that its sender sent again meanwhile, and its retransmission timeouts.
    pub(crate) retransmissions: u32,
    pub(crate) timeouts: u32,
}

/// Looks at endless flows at regular intervals, and when it is measured no more.
pub(crate) struct LongFlows {
    interval: Option<Duration>,
    next_at: Instant,
    until: Instant,
    /// What each had got when it was looked at last.
    seen: BTreeMap<u32, (u64, ThroughputSamples)>,
}

impl LongFlows {
    /// Samples every `interval` from the end of the warm-up on, if at all.
    pub(crate) fn new(interval: Option<Duration>, times: Times) -> Self {
        let next_at = interval.map_or(Instant::NEVER, |_| times.warm_up);
        LongFlows { interval, next_at, until: times.measured_until, seen: BTreeMap::new() }
    }

    /// When they are looked at next.
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Looks at them if it is time.
    pub(crate) fn sample(&mut self, now: Instant, connections: &mut Connections<'_>) {
        let Some(interval) = self.interval.filter(|_| now >= self.next_at) else { return };
        for (slot, connection) in connections.connections() {
            let Some((received, _)) = connection.endless() else { continue };
            self.seen
                .entry(slot)
                .and_modify(|(before, samples)| {
                    samples.add(received - *before, interval.as_secs_f64());
                    *before = received;
                })
                .or_insert((received, ThroughputSamples::default()));
        }
        self.next_at += interval;
        if self.next_at > self.until {
            self.next_at = Instant::NEVER;
        }
    }

    /// What each has got since the warm-up.
    pub(crate) fn found(&self, connections: &mut Connections<'_>) -> Vec<LongFlow> {
        let found = |(slot, connection): (u32, &mut Connection)| {
            let (received, before) = connection.endless()?;
            let message = tcp_info(connection);
            let Talk::Bulk { told_before, .. } = connection.talk else { return None };
            let since = |of: fn(&TcpInfo) -> u32| of(&message).saturating_sub(of(&told_before));
            Some(LongFlow {
                workload: connection.workload,
                ends: connection.ends,
                bytes: received - before,
                samples: self.seen.get(&slot).map(|(_, samples)| *samples),
                retransmissions: since(|info| info.retransmissions),
                timeouts: since(|info| info.timeouts.unwrap_or(0)),
            })
        };
        connections.connections().filter_map(found).collect()
    }
}

/// The warm-up is over: what endless flows have got so far counts no more.
pub(crate) fn end_warm_up(connections: &mut Connections<'_>) {
    for (_, connection) in connections.connections() {
        let (received, message) = (connection.received(Side::Server), tcp_info(connection));
        if let Talk::Bulk { received_before, told_before, .. } = &mut connection.talk {
            (*received_before, *told_before) = (received, message);
        }
    }
}

/// What the kernel of the sender tells.
fn tcp_info(connection: &mut Connection) -> TcpInfo {
    connection.end(Side::Client).map(|end| TcpInfo::query(&end.socket)).unwrap_or_default()
}
