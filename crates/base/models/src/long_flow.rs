//! Throughput of a long flow whose first segments, and those after each timeout, are green: Casetti
//! & Mellia 2005, §6.2, eq. 4.
//!
//! Green segments are assumed never to be lost, so this holds if the green profile is respected. The paper does not
//! define w in Q = min(1, 3/w), the probability that a loss ends in a timeout; here it is the window in the equation
//! itself, √(8/3·((1 − k)/k + Q·t_ft)), which in turn depends on Q.

use crate::solve::falling_root;
use crate::{ModelError, Range};

/// How the denominator of eq. 4 is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denominator {
    /// R(1 + …) + T, as printed: each loss costs a timeout.
    AsPrinted,
    /// R(1 + …) + Q·T: only those do that end in one, as in Padhye et al. 2000, eq. 32.
    TimeoutsOnly,
}

/// A long flow and its path. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongFlow {
    /// R: the mean round-trip time.
    pub rtt: f64,
    /// T: the retransmission timeout.
    pub timeout: f64,
    /// k: the probability that a yellow segment is lost, above 0 and below 1.
    pub yellow_loss: f64,
    /// t_ft: the segments that are green after a timeout.
    pub credits: u32,
    /// W_max in segments, from 1; infinite for none.
    pub max_window: f64,
}

impl LongFlow {
    /// B of eq. 4, in segments per second. Some hundred evaluations of a root.
    pub fn throughput(&self, denominator: Denominator) -> Result<f64, ModelError> {
        Range::above(0.0).check("the round-trip time in seconds", self.rtt)?;
        Range::above(0.0).check("the timeout in seconds", self.timeout)?;
        Range::between(0.0, 1.0).check("the loss probability of yellow", self.yellow_loss)?;
        Range::at_least_or_unlimited(1.0)
            .check("the largest window in segments", self.max_window)?;
        let window = self.window()?;
        let timeouts = timeouts(window);
        let waited = match denominator {
            Denominator::AsPrinted => self.timeout,
            Denominator::TimeoutsOnly => timeouts * self.timeout,
        };
        let sent = timeouts + 1.0 / self.yellow_loss + timeouts * f64::from(self.credits) + window;
        // √(2/3·x) is half of √(8/3·x).
        let taken = self.rtt * (1.0 + window / 2.0) + waited;
        Ok((sent / taken).min(self.max_window / self.rtt))
    }

    /// The completion time in seconds of `segments`, above 0: their number over the throughput (§6.2). Slow start is
    /// omitted, so it holds for lengths that see many losses.
    pub fn completion_time(
        &self,
        segments: f64,
        denominator: Denominator,
    ) -> Result<f64, ModelError> {
        Range::above(0.0).check("the length in segments", segments)?;
        Ok(segments / self.throughput(denominator)?)
    }

    /// w with w = √(8/3·((1 − k)/k + Q(w)·t_ft)): the right side falls with w.
    fn window(&self) -> Result<f64, ModelError> {
        let between_losses = (1.0 - self.yellow_loss) / self.yellow_loss;
        let right =
            |w: f64| (8.0 / 3.0 * (between_losses + timeouts(w) * f64::from(self.credits))).sqrt();
        let high = right(1.0) + 1.0;
        falling_root("the window in segments", (0.0, high), 1e-6 * high, |w| Ok(right(w) - w))
    }
}

/// Q = min(1, 3/w).
fn timeouts(window: f64) -> f64 {
    (3.0 / window).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: LongFlow = LongFlow {
        rtt: 0.1,
        timeout: 1.0,
        yellow_loss: 0.01,
        credits: 0,
        max_window: f64::INFINITY,
    };

    /// k = 0.01, no credits: w = √(8/3·99) = 16.248, Q = 0.184637; sent 0.184637 + 100 + 16.248 =
    /// 116.4327; 0.1·(1 + 8.124) = 0.9124 s, and 1 s or 0.184637 s.
    #[test]
    fn one_percent_of_loss_gives_60_9_segments_per_second_as_printed_and_106_with_few_timeouts() {
        let printed = FLOW.throughput(Denominator::AsPrinted).unwrap();
        assert!((printed - 116.4327 / 1.9124).abs() < 0.005, "{printed}");
        let few = FLOW.throughput(Denominator::TimeoutsOnly).unwrap();
        assert!((few - 116.4327 / 1.097_038).abs() < 0.01, "{few}");
    }

    /// t_ft = 8: w² = 8/3·(99 + 24/w); at 16.367 the sides are 267.88 and 267.91, at 16.369 267.94
    /// and 267.91.
    #[test]
    fn credits_widen_the_window_by_what_each_timeout_grants() {
        let flow = LongFlow { credits: 8, ..FLOW };
        let window = flow.window().unwrap();
        assert!((window - 16.368).abs() < 0.001, "{window}");
        assert!((window * window - 8.0 / 3.0 * (99.0 + 24.0 / window)).abs() < 1e-9);
        let (with, without) = (
            flow.throughput(Denominator::TimeoutsOnly).unwrap(),
            FLOW.throughput(Denominator::TimeoutsOnly).unwrap(),
        );
        assert!(with > without);
    }

    #[test]
    fn with_the_timeouts_of_padhye_et_al_it_is_their_rate_within_a_tenth() {
        let path = crate::pftk::Path {
            rtt: 0.1,
            timeout: 1.0,
            segments_per_ack: 1.0,
            max_window: f64::INFINITY,
        };
        for loss in [1e-4, 1e-3, 1e-2] {
            let flow = LongFlow { yellow_loss: loss, ..FLOW };
            let ours = flow.throughput(Denominator::TimeoutsOnly).unwrap();
            let theirs = crate::pftk::send_rate(&path, loss).unwrap();
            assert!((ours / theirs - 1.0).abs() < 0.1, "{loss}: {ours} against {theirs}");
        }
    }

    #[test]
    fn more_loss_is_never_faster_and_the_window_is_a_ceiling() {
        for denominator in [Denominator::AsPrinted, Denominator::TimeoutsOnly] {
            let mut last = f64::INFINITY;
            for loss in [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3] {
                let flow = LongFlow { yellow_loss: loss, credits: 8, ..FLOW };
                let rate = flow.throughput(denominator).unwrap();
                assert!(rate < last, "{loss}");
                last = rate;
            }
            let narrow = LongFlow { max_window: 4.0, yellow_loss: 1e-6, ..FLOW };
            assert!((narrow.throughput(denominator).unwrap() - 40.0).abs() < 1e-12);
            assert!((narrow.completion_time(400.0, denominator).unwrap() - 10.0).abs() < 1e-12);
        }
    }

    #[test]
    fn no_loss_is_refused() {
        let flow = LongFlow { yellow_loss: 0.0, ..FLOW };
        assert!(flow.throughput(Denominator::AsPrinted).is_err());
    }
}
