//! Delay and loss of datagrams.

use shortflow_measure::{DatagramSummary, Estimate};

use crate::lines::Way;
use crate::settle::Network;

/// Of streams with a `rate` in packets per second each over each of the ways, of packets of `bytes` on average,
/// which last so many seconds.
pub(crate) fn of(network: &Network, ways: &[Way], bytes: f64, sent: f64) -> DatagramSummary {
    let count = ways.len() as f64;
    let mean = |of: &dyn Fn(&Way) -> f64| ways.iter().map(of).sum::<f64>() / count;
    let delay = mean(&|way| network.delay(&way.there, bytes));
    let loss = mean(&|way| network.loss(&way.there));
    // The packets of a window come together, and are waited for longer than one by one.
    let is_bound = ways.iter().flat_map(|way| &way.there).any(|&at| network.waits_for_bursts(at));
    let delay = Estimate::of(&[delay]).map(|delay| Estimate { at_least: is_bound, ..delay });
    DatagramSummary {
        sent: sent.round() as u64,
        delay,
        percentiles: Default::default(),
        delay_deviation: None,
        jitter: None,
        jitter_percentiles: Default::default(),
        loss: Estimate::of(&[loss]),
    }
}
