//! The gain of short transfers during long flows, with a policy and without.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::class_separation::{interval, quantile};
use crate::error::Error;
use crate::load::Load;
use crate::probes::sleep_until;
use crate::transfers::{Transfers, transfers};
use crate::verify::Plan;

/// How long long flows are alone, to fill the queue.
pub(crate) const FILL_TIME: Duration = Duration::from_secs(3);

/// What was measured in a period.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// Short transfers.
    pub transfers: Transfers,
    /// Bits per second that the kernel took from long flows meanwhile.
    pub long_flows: f64,
    /// What the device sent meanwhile; `None` without a device.
    pub device: Option<DeviceRate>,
}

/// What a device sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceRate {
    /// Bits per second, of whatever traffic.
    pub sent: f64,
    /// Of these, what long flows sent again since it was lost.
    pub resent: f64,
}

impl Period {
    /// Half of the transfers took less than this, in seconds.
    pub fn median(&self) -> Option<f64> {
        quantile(&self.transfers.times, 0.5)
    }
}

/// Short transfers during long flows, which start before and end with them.
///
/// # Errors
/// When the peer does not answer, or it is stopped.
pub(crate) fn period(plan: &Plan, stop: &AtomicBool) -> Result<Period, Error> {
    let load = Load::begin(plan.peer, plan.flows)?;
    if !sleep_until(Instant::now() + FILL_TIME, stop) {
        return Err(Error::Interrupted);
    }
    let by_device = || plan.device.as_deref().map(shortflow_deploy::sent).transpose();
    let (begin, before, resent, device) =
        (Instant::now(), load.sent(), load.resent(), by_device()?);
    let transfers = transfers(plan.peer, plan.size.0, plan.length, stop)?;
    let rate = |sent: u64| sent as f64 * 8.0 / begin.elapsed().as_secs_f64();
    let device = by_device()?.zip(device).map(|(after, before)| DeviceRate {
        sent: rate(after.0.saturating_sub(before.0)),
        resent: rate(load.resent() - resent),
    });
    Ok(Period { transfers, long_flows: rate(load.sent() - before), device })
}

/// Periods with a policy and without, in pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Gain {
    /// Half of all transfers took less than this with the policy, in seconds, and without.
    pub medians: [Option<f64>; 2],
    /// Nineteen of twenty did.
    pub p95: [Option<f64>; 2],
    /// How many times as long as without it a transfer takes with it: the geometric mean of the ratios of medians of the
    /// pairs, with its least and greatest (95 %); none of fewer than three pairs.
    pub ratio: Option<[f64; 3]>,
    /// Bits per second of long flows, with and without.
    pub long_flows: [f64; 2],
    /// What the device sent with the policy, in the last pair.
    pub device: Option<DeviceRate>,
    /// Transfers that were not complete, with and without.
    pub failed: [usize; 2],
}

impl Gain {
    /// What these pairs say, each a period with the policy and one without.
    pub fn from_pairs(pairs: &[[Period; 2]]) -> Gain {
        let of = |at: usize| pairs.iter().map(move |pair| &pair[at]);
        let times = |at: usize| {
            let mut times: Vec<f64> =
                of(at).flat_map(|period| period.transfers.times.iter().copied()).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let (with, without) = (times(0), times(1));
        let logs: Vec<f64> = pairs
            .iter()
            .filter_map(|[with, without]| Some((with.median()? / without.median()?).ln()))
            .collect();
        let mean = |at: usize| {
            of(at).map(|period| period.long_flows).sum::<f64>() / pairs.len().max(1) as f64
        };
        Gain {
            medians: [quantile(&with, 0.5), quantile(&without, 0.5)],
            p95: [quantile(&with, 0.95), quantile(&without, 0.95)],
            ratio: interval(&logs),
            long_flows: [mean(0), mean(1)],
            device: pairs.last().and_then(|[with, _]| with.device),
            failed: [0, 1].map(|at| of(at).map(|period| period.transfers.failed).sum()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(median: f64, failed: usize) -> Period {
        let times = vec![0.5 * median, median, 3.0 * median];
        Period { transfers: Transfers { times, failed }, long_flows: 8e6, device: None }
    }

    #[test]
    fn the_gain_is_that_of_pairs_and_not_of_times_of_day() {
        let pairs: Vec<[Period; 2]> =
            [0.1, 0.2, 0.4].map(|base| [period(0.5 * base, 0), period(base, 1)]).to_vec();
        let gain = Gain::from_pairs(&pairs);
        let [ratio, low, high] = gain.ratio.unwrap();
        assert!((ratio - 0.5).abs() < 1e-9 && high - low < 1e-9, "{low} {ratio} {high}");
        assert_eq!((gain.medians[0], gain.failed), (Some(0.1), [0, 3]));
        assert_eq!(
            Gain::from_pairs(&pairs[..2]).ratio,
            None,
            "two pairs have no interval worth telling"
        );
    }
}
