//! Records the counters of ports, queues and conditioners, under the common names of all engines.

use std::collections::BTreeMap;

use shortflow_elements::DropReason;
use shortflow_measure::{CodePointCounts, Count, PortCounts, Recorder};
use shortflow_run::{conditioner_counts, dropped_name, queue_counter};
use shortflow_units::{Duration, Instant};

use crate::network::fabric::Fabric;
use crate::network::index::PortId;
use crate::network::layout::{Hop, Network};
use crate::record::counters;

/// The counters of ports for the measured time, and other named counters.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// The number of each reported port in the plan, and its counters.
    ports: Vec<(u16, PortCounts)>,
    others: Vec<(String, u64)>,
}

impl Counted {
    /// The counters of each of the `watched` ports for the measured time, and the drops of other ports.
    pub(crate) fn of_ports(fabric: &mut Fabric, watched: &[PortId], measured: Duration) -> Self {
        let end = fabric.now;
        let network = &mut fabric.network;
        let mut counted = Counted::default();
        for (index, &port) in watched.iter().enumerate() {
            let hop = &mut network.ports[port];
            hop.port.settle_waits(end);
            counted.ports.push((index as u16, port_counts(hop, end, measured)));
        }
        for (index, hop) in network.ports.iter().enumerate() {
            let dropped = hop.port.counters.all_dropped();
            if dropped > 0 && !watched.contains(&PortId(index as u32)) {
                counted.others.push((dropped_name(&network.port_names[index]), dropped));
            }
        }
        counted
    }

    /// The same with `counts`, minus `before`, the counts at an earlier time.
    pub(crate) fn with(
        mut self,
        counts: BTreeMap<String, u64>,
        before: &BTreeMap<String, u64>,
    ) -> Self {
        let since = |name: &str, count| count - before.get(name).copied().unwrap_or(0);
        self.others.extend(counts.into_iter().map(|(name, count)| {
            let count = since(&name, count);
            (name, count)
        }));
        self
    }

    /// Records all counters.
    pub(crate) fn record(self, recorder: &mut Recorder) {
        self.ports.into_iter().for_each(|(port, counts)| recorder.port(port, counts));
        self.others.iter().for_each(|(name, count)| recorder.counter(name, *count as f64));
    }
}

/// The counters of conditioners and queues since the start.
pub(crate) fn network_counts(network: &Network) -> BTreeMap<String, u64> {
    let mut counts = all_conditioner_counts(network);
    counts.extend(queue_counts(network));
    counts
}

/// The counters of policy queues, named after their port: `s->r/queue/timers expired`. Counters with the same
/// name inside one queue are added up.
fn queue_counts(network: &Network) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (hop, port) in network.ports.iter().zip(&network.port_names) {
        hop.port.queue_counters(&mut |name, count| {
            *counts.entry(queue_counter(port, name)).or_default() += count;
        });
    }
    counts
}

/// The counters of conditioners since the start.
fn all_conditioner_counts(network: &Network) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (index, hop) in network.ports.iter().enumerate() {
        let places = [
            (&network.ingress_names[index], hop.far.as_ref().map(|end| &end.conditioner)),
            (&network.port_names[index], hop.near.as_ref().map(|end| &end.conditioner)),
        ];
        for (place, conditioner) in places {
            let conditioner = conditioner.and_then(Option::as_ref);
            counts.extend(conditioner.into_iter().flat_map(|c| conditioner_counts(place, c)));
        }
    }
    counts
}

fn port_counts(hop: &Hop, end: Instant, measured: Duration) -> PortCounts {
    let count = |c: counters::Count| Count { packets: c.packets, bytes: c.bytes };
    let classes = hop.port.counters.classes();
    let code_points = classes
        .iter()
        .map(|class| CodePointCounts {
            arrived: count(class.arrived),
            forwarded: count(class.forwarded),
            dropped: DropReason::ALL.map(|r| count(class.dropped[r as usize])).to_vec(),
        })
        .collect();
    let (packet_seconds, byte_seconds, ended, longest) =
        hop.port.counters.all_waits().map_or((0.0, 0.0, 0, Duration::ZERO), |waits| {
            (waits.packet_seconds(), waits.byte_seconds(), waits.ended, waits.longest)
        });
    // Little's law gives the mean queueing time from the mean queue and the rate at which packets stop
    // waiting.
    PortCounts {
        code_points,
        ecn_marks: hop.port.ecn_marks(),
        busy: hop.port.busy(end),
        mean_queue_packets: packet_seconds / measured.as_secs_f64(),
        mean_queue_bytes: byte_seconds / measured.as_secs_f64(),
        mean_wait: Duration::from_secs_f64(packet_seconds / ended.max(1) as f64),
        max_wait: longest,
    }
}
