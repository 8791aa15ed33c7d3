//! The record of a finished run.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use shortflow_measure::Recorder;
use shortflow_packet::{FlowKey, Protocol};
use shortflow_run::workload_counter;
use shortflow_scenario::{Addresses, NodeId, Scenario};

use crate::router::Routed;
use crate::traffic::{LongFlow, StreamSpec, address_of};

/// Records what endless flows got through, and what would be fair; what the network has counted; and which
/// datagrams it has dropped.
pub(crate) fn record(
    long: Vec<LongFlow>,
    routed: Routed,
    streams: &[StreamSpec],
    scenario: &Scenario,
    recorder: &mut Recorder,
) {
    for (sent_at, stream) in routed.dropped {
        recorder.datagram_dropped(sent_at, streams[stream as usize].workload, stream);
    }
    let fair = scenario.max_min_rates();
    let mut shares: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for LongFlow { workload, ends, bytes, samples, retransmissions, timeouts } in long {
        recorder.long_flow(workload, bytes, samples);
        let pair = (NodeId(ends.client), NodeId(ends.server));
        shares.entry(workload).or_default().push(fair[&pair]);
        let name = &scenario.workloads[usize::from(workload)].name;
        for (what, count) in [("timeouts", timeouts), ("retransmissions", retransmissions)] {
            *counts.entry(workload_counter(name, what)).or_default() += count;
        }
    }
    for (workload, shares) in shares {
        recorder.max_min_shares(workload, shares);
    }
    counts.iter().for_each(|(name, count)| recorder.counter(name, f64::from(*count)));
    if let Some(record) = routed.record {
        record.record(recorder);
    }
}

/// The numbers of streams, by their 5-tuples.
pub(crate) fn numbers(streams: &[StreamSpec], addresses: &Addresses) -> FxHashMap<FlowKey, u32> {
    streams.iter().map(|stream| key_of_stream(stream, addresses)).zip(0..).collect()
}

/// The 5-tuple of a stream of datagrams.
pub(crate) fn key_of_stream(stream: &StreamSpec, addresses: &Addresses) -> FlowKey {
    let [src, dst] = [stream.from, stream.to].map(|node| address_of(addresses, node, stream.ip));
    FlowKey {
        src,
        dst,
        src_port: stream.source_port,
        dst_port: stream.port,
        protocol: Protocol::UDP,
    }
}
