//! Long flows.

use shortflow_measure::Run;

use crate::batch::{Cell, Fixed, Rows, bits_per_second, integer, number, text};
use crate::case::{Cases, replicas};

pub(crate) const COLUMNS: [Fixed; 6] = [
    text("workload"),
    integer("flow"),
    bits_per_second("goodput_bits_per_s"),
    bits_per_second("fair_share_bits_per_s"),
    number("throughput_variation"),
    integer("idle_samples"),
];

pub(crate) fn fill(rows: &mut Rows, cases: &Cases, runs: &[Run]) {
    for (run, point, replica) in replicas(runs) {
        let case = cases.replica(run, point, replica.number);
        for workload in &replica.workloads {
            let Some(long) = &workload.long_flows else { continue };
            for (flow, rate) in long.rates.iter().enumerate() {
                let samples = long.samples.get(flow);
                let cells: [Cell<'_>; 6] = [
                    workload.name.as_str().into(),
                    flow.into(),
                    (*rate).into(),
                    long.shares.get(flow).copied().into(),
                    samples.and_then(|flow| flow.throughput.variation()).into(),
                    samples.map(|flow| flow.idle).into(),
                ];
                rows.push(&case, &cells);
            }
        }
    }
}
