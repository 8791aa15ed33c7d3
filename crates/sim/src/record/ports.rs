//! What ports, queues and conditioners have counted, recorded under the names that all engines share.

use std::collections::BTreeMap;

use shortflow_elements::DropReason;
use shortflow_measure::{CodePointCounts, Count, PortCounts, Recorder};
use shortflow_run::{conditioner_counts, dropped_name, queue_counter};
use shortflow_units::{Duration, Instant};

use crate::network::fabric::Fabric;
use crate::network::index::PortId;
use crate::network::layout::{Hop, Network};
use crate::record::counters::Count as Counted;

/// Records what each of the `watched` ports has counted while it was measured, and what others dropped.
pub(crate) fn record_ports(
    fabric: &mut Fabric,
    watched: &[PortId],
    measured: Duration,
    recorder: &mut Recorder,
) {
    let end = fabric.now;
    let network = &mut fabric.network;
    for (index, &port) in watched.iter().enumerate() {
        let hop = &mut network.ports[port];
        hop.port.settle_waits(end);
        let counts = port_counts(hop, end, measured);
        recorder.port(index as u16, counts);
    }
    for (index, hop) in network.ports.iter().enumerate() {
        let dropped = hop.port.counters.all_dropped();
        if dropped > 0 && !watched.contains(&PortId(index as u32)) {
            recorder.counter(&dropped_name(&network.port_names[index]), dropped as f64);
        }
    }
}

/// Records what was counted since `before`, the counts of an earlier time.
pub(crate) fn record_counts(
    counts: BTreeMap<String, u64>,
    before: &BTreeMap<String, u64>,
    recorder: &mut Recorder,
) {
    for (name, count) in counts {
        let counted = count - before.get(&name).copied().unwrap_or(0);
        recorder.counter(&name, counted as f64);
    }
}

/// What conditioners and queues have counted since the start.
pub(crate) fn network_counts(network: &Network) -> BTreeMap<String, u64> {
    let mut counts = all_conditioner_counts(network);
    counts.extend(queue_counts(network));
    counts
}

/// What the queues of policies have counted, named after their port: `s->r/queue/timers expired`. Those of
/// the same name inside one queue are added up.
fn queue_counts(network: &Network) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (hop, port) in network.ports.iter().zip(&network.port_names) {
        hop.port.queue_counters(&mut |name, count| {
            *counts.entry(queue_counter(port, name)).or_default() += count;
        });
    }
    counts
}

/// What conditioners have counted since the start.
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
    let count = |c: Counted| Count { packets: c.packets, bytes: c.bytes };
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
    // The mean wait follows by Little's law from the mean queue and the rate at which waits ended.
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
