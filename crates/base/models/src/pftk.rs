//! Throughput of a long TCP Reno connection under random loss: Padhye, Firoiu, Towsley & Kurose,
//! "Modeling TCP Reno performance: a simple model and its empirical validation", IEEE/ACM
//! Transactions on Networking 8(2), 2000. The approximation and its inverse are eqs. 6 to 8 of Guo,
//! Zhu, Zhang & Zhang 2005.
//!
//! Assumes one loss event per window, long transfers, and round trips that do not depend on the window. Round trips
//! and timeouts are in seconds, rates in segments per second. Everything takes constant time, the inverses about a
//! hundred evaluations.

use std::ops::Bound;

use crate::solve::falling_root;
use crate::{ModelError, Range};

/// The least loss that the inverses tell from none.
const MIN_LOSS: f64 = 1e-12;

/// The path and the endpoints of one long connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// RTT: mean round-trip time in seconds.
    pub rtt: f64,
    /// T₀: the first retransmission timeout of a series, in seconds.
    pub timeout: f64,
    /// b: segments that one acknowledgement covers (1, or 2 with delayed acknowledgements).
    pub segments_per_ack: f64,
    /// W_m: the receive window in segments.
    pub max_window: f64,
}

impl Path {
    /// Refuses round trips and timeouts of nothing, and windows and acknowledgements below a segment.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        Range::above(0.0).check("the round-trip time in seconds", self.rtt)?;
        Range::above(0.0).check("the timeout in seconds", self.timeout)?;
        Range::at_least(1.0).check("the segments per acknowledgement", self.segments_per_ack)?;
        Range::at_least_or_unlimited(1.0)
            .check("the receive window in segments", self.max_window)?;
        Ok(())
    }

    fn check_with(&self, loss: f64) -> Result<(), ModelError> {
        self.check()?;
        Range::between(0.0, 1.0).check("the loss probability", loss)?;
        Ok(())
    }
}

/// B(p): the send rate in segments per second, retransmissions included, at loss probability
/// `loss`, above 0 and below 1, by the full model (their eq. 32).
///
/// `loss` is the share of segments that are the first to be lost in their round; the model takes
/// all later segments of such a round as lost too.
pub fn send_rate(path: &Path, loss: f64) -> Result<f64, ModelError> {
    path.check_with(loss)?;
    let window = mean_window(path.segments_per_ack, loss).min(path.max_window);
    let q = timeout_probability(loss, window);
    Ok(((1.0 - loss) / loss + window + q / (1.0 - loss)) / cycle(path, loss))
}

/// T(p): the rate in segments per second at which the receiver gets them (their eq. 37). It
/// counts the rest of a round in which a segment is lost as lost: half a window on average. `loss`
/// is above 0 and below 1.
pub fn throughput(path: &Path, loss: f64) -> Result<f64, ModelError> {
    path.check_with(loss)?;
    let window = mean_window(path.segments_per_ack, loss).min(path.max_window);
    let q = timeout_probability(loss, window);
    Ok(((1.0 - loss) / loss + window / 2.0 + q) / cycle(path, loss))
}

/// The time in seconds from one sign of loss to the next, with the timeouts that follow a share of
/// them (the denominator of their eqs. 32 and 37).
fn cycle(path: &Path, loss: f64) -> f64 {
    let Path { rtt, timeout, segments_per_ack: b, max_window } = *path;
    let p = loss;
    let window = mean_window(b, p);
    let rounds = if window < max_window {
        b / 2.0 * window + 1.0
    } else {
        b / 8.0 * max_window + (1.0 - p) / (p * max_window) + 2.0
    };
    let q = timeout_probability(p, window.min(max_window));
    rtt * rounds + q * backoff(p) * timeout / (1.0 - p)
}

/// Send rate in segments per second by the approximation that is usually quoted (their eq. 33; Guo
/// et al. 2005, eq. 6, times the segment size), `loss` above 0 and at most 1.
pub fn approximate_send_rate(path: &Path, loss: f64) -> Result<f64, ModelError> {
    path.check()?;
    Range { from: Bound::Excluded(0.0), to: Bound::Included(1.0) }
        .check("the loss probability", loss)?;
    Ok((1.0 / seconds_per_segment(path, loss)).min(path.max_window / path.rtt))
}

/// The denominator of eq. 33, in seconds: it rises with loss, and is infinite at none.
pub(crate) fn seconds_per_segment(path: &Path, loss: f64) -> f64 {
    let Path { rtt, timeout, segments_per_ack: b, .. } = *path;
    let p = loss;
    let triple = (2.0 * b * p / 3.0).sqrt();
    let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
    rtt * triple + timeout * timeouts * p * (1.0 + 32.0 * p * p)
}

/// The loss probability at which a connection sends `rate` segments per second, by the approximation
/// (the inverse of eq. 33; Guo et al. 2005, eq. 7 with `rate` = C/N).
///
/// `rate` lies above what is sent when everything is lost, and below what the receive window lets
/// through: there the loss could be anything down to none. Without a window, rates that would need
/// a loss below 10⁻¹² are refused too.
pub fn loss_for_rate(path: &Path, rate: f64) -> Result<f64, ModelError> {
    path.check()?;
    let max = (1.0 / seconds_per_segment(path, MIN_LOSS)).min(path.max_window / path.rtt);
    let min = 1.0 / seconds_per_segment(path, 1.0);
    Range::between(min, max.max(min)).check("the rate in segments per second", rate)?;
    falling_root("the loss probability", (0.0, 1.0), 1e-6, |loss| {
        Ok(1.0 - rate * seconds_per_segment(path, loss))
    })
}

/// How many connections like this fill `capacity`, in segments per second, at this `loss`, above 0
/// and at most 1 (Guo et al. 2005, eq. 8): not a whole number.
pub fn connections_for(path: &Path, capacity: f64, loss: f64) -> Result<f64, ModelError> {
    Range::above(0.0).check("the capacity in segments per second", capacity)?;
    Ok(capacity / approximate_send_rate(path, loss)?)
}

/// The loss probability at which so many `connections`, above 0, share `capacity` in segments per
/// second (Guo et al. 2005, eqs. 7 and 8 solved for p). The range is that of [`loss_for_rate`].
pub fn loss_for_connections(
    path: &Path,
    capacity: f64,
    connections: f64,
) -> Result<f64, ModelError> {
    Range::above(0.0).check("the capacity in segments per second", capacity)?;
    Range::above(0.0).check("the number of connections", connections)?;
    loss_for_rate(path, capacity / connections)
}

/// E\[W\]: the mean window at which a loss is found, in segments (their eq. 13).
pub fn mean_window(segments_per_ack: f64, loss: f64) -> f64 {
    let b = segments_per_ack;
    let offset = (2.0 + b) / (3.0 * b);
    offset + (8.0 * (1.0 - loss) / (3.0 * b * loss) + offset * offset).sqrt()
}

/// Q̂(w): the probability that a loss in a window of `w` segments ends in a timeout (eq. 24).
pub fn timeout_probability(loss: f64, window: f64) -> f64 {
    let kept = 1.0 - loss;
    let cubed = 1.0 - kept.powi(3);
    let rest = 1.0 + kept.powi(3) * (1.0 - libm::pow(kept, window - 3.0));
    (cubed * rest / (1.0 - libm::pow(kept, window))).min(1.0)
}

/// E\[Z^TO\]: the mean length in seconds of a series of timeouts, T₀·G(p)/(1 − p) (their eq. 29).
pub(crate) fn mean_timeouts(path: &Path, loss: f64) -> f64 {
    path.timeout * backoff(loss) / (1.0 - loss)
}

/// G(p): a series of timeouts lasts T₀·G(p)/(1 − p) on average (their eq. 29).
fn backoff(p: f64) -> f64 {
    1.0 + p
        + 2.0 * p.powi(2)
        + 4.0 * p.powi(3)
        + 8.0 * p.powi(4)
        + 16.0 * p.powi(5)
        + 32.0 * p.powi(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path =
        Path { rtt: 0.1, timeout: 1.0, segments_per_ack: 1.0, max_window: f64::INFINITY };

    #[test]
    fn light_loss_approaches_the_square_root_law() {
        // Mathis et al. 1997: (1/RTT)·√(3/2bp) as p → 0.
        let loss = 1e-6;
        let law = (1.5f64 / loss).sqrt() / PATH.rtt;
        assert!((send_rate(&PATH, loss).unwrap() / law - 1.0).abs() < 0.01);
        assert!((approximate_send_rate(&PATH, loss).unwrap() / law - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_small_receive_window_bounds_the_rate() {
        let path = Path { max_window: 8.0, ..PATH };
        assert!(send_rate(&path, 1e-5).unwrap() < 8.0 / path.rtt);
        assert!(send_rate(&path, 1e-5).unwrap() > 0.95 * 8.0 / path.rtt);
    }

    /// Worked out by hand: W = 1 + √(8·0.99/0.03 + 1) = 17.279; 0.99³ = 0.970299,
    /// 0.99^14.279 = 0.866334, 0.99^17.279 = 0.840603, so Q = 0.029701·1.129694/0.159397 = 0.210500;
    /// G = 1.010204; the cycle 0.1·(8.639 + 1) + 0.2105·1.010204·1/0.99 = 1.178744 s;
    /// B = (99 + 17.279 + 0.2126)/1.178744, T = (99 + 8.639 + 0.2105)/1.178744.
    #[test]
    fn one_percent_of_loss_gives_98_8_segments_per_second_sent_and_91_5_received() {
        assert!((mean_window(1.0, 0.01) - 17.279).abs() < 1e-3);
        assert!((timeout_probability(0.01, 17.279) - 0.2105).abs() < 1e-4);
        assert!(
            (send_rate(&PATH, 0.01).unwrap() - 98.83).abs() < 0.01,
            "{}",
            send_rate(&PATH, 0.01).unwrap()
        );
        assert!(
            (throughput(&PATH, 0.01).unwrap() - 91.50).abs() < 0.01,
            "{}",
            throughput(&PATH, 0.01).unwrap()
        );
    }

    #[test]
    fn timeouts_make_heavy_loss_much_worse_than_the_square_root_law() {
        let law = (1.5f64 / 0.1).sqrt() / PATH.rtt;
        assert!(send_rate(&PATH, 0.1).unwrap() < 0.4 * law);
    }

    /// Guo et al. 2005, the example after eq. 8: 10 Mbit/s in segments of 1000 bytes among 70.
    #[test]
    fn seventy_connections_lose_6_5_percent_and_the_few_long_ones_less_than_a_thousandth() {
        let all = loss_for_connections(&PATH, 1250.0, 70.0).unwrap();
        assert!((all - 0.065).abs() < 0.0015, "{all}");
        // What is beyond 100 KB of a Pareto from 3 KB with α = 1.2: N' = 70·(3/100)^1.2 = 1.04.
        let long = 70.0 * libm::pow(0.03, 1.2);
        assert!((long - 1.05).abs() < 0.02);
        assert!(loss_for_connections(&PATH, 625.0, 1.05).unwrap() < 0.001);
    }

    #[test]
    fn the_inverse_gives_back_the_loss_that_made_the_rate() {
        for loss in [1e-6, 0.001, 0.05, 0.3, 0.9] {
            let rate = approximate_send_rate(&PATH, loss).unwrap();
            assert!((loss_for_rate(&PATH, rate).unwrap() / loss - 1.0).abs() < 1e-9, "{loss}");
            assert!((connections_for(&PATH, 7.0 * rate, loss).unwrap() - 7.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_rate_that_the_receive_window_does_not_let_through_has_no_loss() {
        let path = Path { max_window: 8.0, ..PATH };
        let refused = loss_for_rate(&path, 100.0).unwrap_err().to_string();
        assert!(refused.contains("must be below 80 for the model to hold; found 100"), "{refused}");
    }

    #[test]
    fn no_loss_total_loss_and_a_round_trip_of_nothing_are_refused() {
        assert!(send_rate(&PATH, 0.0).is_err());
        assert!(throughput(&PATH, 1.0).is_err());
        assert!(approximate_send_rate(&PATH, 1.1).is_err());
        assert!(send_rate(&Path { rtt: 0.0, ..PATH }, 0.01).is_err());
    }
}
