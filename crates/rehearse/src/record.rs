//! What router and load have found, put together.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use shortflow_elements::{FlowKey, Protocol};
use shortflow_measure::{Ends, Recorder, Transfer};
use shortflow_run::workload_counter;
use shortflow_scenario::{NodeId, Scenario};
use shortflow_sim::{ConnectionTally, LiveNetwork};

use crate::router::Routed;
use crate::traffic::{Found, StreamSpec};

/// Puts everything into the recorder that it was not told at once.
pub(crate) fn record(
    found: Found,
    routed: Routed,
    streams: &[StreamSpec],
    scenario: &Scenario,
    recorder: &mut Recorder,
) {
    let Routed { network, record, dropped, .. } = routed;
    for (sent_at, stream) in dropped {
        recorder.datagram_dropped(sent_at, streams[stream as usize].workload, stream);
    }
    let Found { complete, open, failed, long } = found;
    let (failed_at, failed): (Vec<_>, Vec<_>) = failed.into_iter().unzip();
    let mut all = [complete, open, failed];
    add_tallies(&mut all, &network.0);
    let [complete, open, failed] = all;
    complete.iter().for_each(|transfer| recorder.transfer(transfer));
    open.iter().for_each(|transfer| recorder.open_transfer(transfer));
    for (at, transfer) in failed_at.into_iter().zip(&failed) {
        recorder.failed_transfer(at, transfer);
    }
    let fair = scenario.max_min_rates();
    let mut shares: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for flow in long {
        recorder.long_flow(flow.workload, flow.bytes, flow.samples);
        let pair = (NodeId(flow.ends.client), NodeId(flow.ends.server));
        shares.entry(flow.workload).or_default().push(fair[&pair]);
        let workload = &scenario.workloads[usize::from(flow.workload)].name;
        for (name, count) in
            [("timeouts", flow.info.timeouts), ("retransmissions", flow.info.retransmissions)]
        {
            *counts.entry(workload_counter(workload, name)).or_default() += count;
        }
    }
    for (workload, shares) in shares {
        recorder.max_min_shares(workload, shares);
    }
    counts.iter().for_each(|(name, count)| recorder.counter(name, f64::from(*count)));
    if let Some(record) = record {
        record.record(recorder);
    }
}

/// Adds to each transfer what the network saw of its packets. Connections of one 5-tuple follow each other.
fn add_tallies(all: &mut [Vec<Transfer>; 3], network: &LiveNetwork) {
    let mut in_order: Vec<&mut Transfer> = all.iter_mut().flatten().collect();
    in_order.sort_by_key(|transfer| transfer.start);
    let mut before: FxHashMap<FlowKey, usize> = FxHashMap::default();
    for transfer in in_order {
        let key = key_of(transfer.ends);
        let number = before.entry(key).or_default();
        if let Some(tally) = network.connections(key).get(*number) {
            add_tally(transfer, tally);
        }
        *number += 1;
    }
}

fn add_tally(transfer: &mut Transfer, tally: &ConnectionTally) {
    let ConnectionTally { sent, dropped, marked, syns } = *tally;
    // The client's kernel counts the SYNs that it sends again among its retransmissions and timeouts.
    let again = syns[0].saturating_sub(1);
    transfer.retransmissions = transfer.retransmissions.saturating_sub(again);
    transfer.timeouts = transfer.timeouts.saturating_sub(again);
    transfer.syn_retransmissions = tally.syn_retransmissions();
    transfer.sent = sent;
    transfer.dropped = dropped;
    transfer.colors = marked;
}

fn key_of(ends: Ends) -> FlowKey {
    FlowKey {
        src: NodeId(ends.client).address(),
        dst: NodeId(ends.server).address(),
        src_port: ends.client_port,
        dst_port: ends.server_port,
        protocol: Protocol::TCP,
    }
}

/// The 5-tuple of a stream of datagrams.
pub(crate) fn key_of_stream(stream: &StreamSpec) -> FlowKey {
    FlowKey {
        src: stream.from.address(),
        dst: stream.to.address(),
        src_port: stream.source_port,
        dst_port: stream.port,
        protocol: Protocol::UDP,
    }
}
