//! The tail of the delay of real-time packets: Guo, Zhu, Zhang & Zhang 2005, eqs. 3 and 4.
//!
//! Eq. 3 treats the sum of many independent short flows as normal; eq. 4 says that the queue falls off as e^(−δx),
//! and leaves δ to the rate function of the arrivals. This file has the two cases with a closed form or one equation:
//! Poisson packets of several lengths, where δ is the root of Σ λᵢ(e^(δxᵢ) − 1) = δ (Cramér & Lundberg; Asmussen,
//! *Applied Probability and Queues*, 2nd edition, XIII.5), and a normal rate, where δ = 2(C − m)/v (Norros 1994, at H
//! = ½).

use crate::solve::falling_root;
use crate::{ModelError, Range};

/// Poisson arrivals of packets that all take the same time to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packets {
    /// λ: packets per second.
    pub arrival_rate: f64,
    /// The time in seconds that one takes on the line.
    pub service: f64,
}

/// P(delay > t) ≈ `factor`·e^(−`decay`·t): eq. 4 with its constant. Exact in the limit of long
/// delays; never above 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tail {
    /// The constant before the exponential, at most 1.
    pub factor: f64,
    /// δ, per second.
    pub decay: f64,
}

impl Tail {
    /// P(delay > `seconds`), for `seconds` from 0.
    pub fn beyond(&self, seconds: f64) -> Result<f64, ModelError> {
        Range::at_least(0.0).check("the delay in seconds", seconds)?;
        Ok((self.factor * libm::exp(-self.decay * seconds)).min(1.0))
    }

    /// The delay in seconds that a `share` of the packets does not exceed, `share` from 0 to below
    /// 1; zero for a share that the tail leaves out.
    pub fn quantile(&self, share: f64) -> Result<f64, ModelError> {
        Range::from_to_below(0.0, 1.0).check("the share of packets", share)?;
        Ok((libm::log(self.factor / (1.0 - share)) / self.decay).max(0.0))
    }
}

/// The tail of the wait, without the packet's own service, in a queue first come first served that
/// Poisson `streams` share.
///
/// Holds for a load above 0 and below 1; at long waits it is exact, and within a thousandth from a
/// few services on. Some 100 evaluations of a sum over the streams.
pub fn wait_tail(streams: &[Packets]) -> Result<Tail, ModelError> {
    let (mut load, mut longest) = (0.0, 0.0f64);
    for stream in streams {
        Range::at_least(0.0).check("the arrival rate per second", stream.arrival_rate)?;
        Range::above(0.0).check("the service time in seconds", stream.service)?;
        load += stream.arrival_rate * stream.service;
        if stream.arrival_rate > 0.0 {
            longest = longest.max(stream.service);
        }
    }
    Range::between(0.0, 1.0).check("the load", load)?;
    // In units of the longest service, so that the root is of no unit: Σ ρᵢ·(e^(yxᵢ) − 1)/xᵢ = y.
    // Divided by y the sum rises from ρ without end, so that there is one root above 0.
    let excess = |y: f64| {
        let sum: f64 = streams
            .iter()
            .map(|stream| {
                let share = stream.service / longest;
                stream.arrival_rate * longest * libm::expm1(y * share)
            })
            .sum();
        Ok(1.0 - sum / y)
    };
    let mut high = 1.0;
    while excess(high)? > 0.0 {
        high *= 2.0;
    }
    let y = falling_root("the decay of the delay", (high * 1e-12, high), 1e-6, excess)?;
    let slope: f64 = streams
        .iter()
        .map(|stream| {
            stream.arrival_rate * stream.service * libm::exp(y * stream.service / longest)
        })
        .sum();
    Ok(Tail { factor: ((1.0 - load) / (slope - 1.0)).min(1.0), decay: y / longest })
}

/// What real-time flows and many short flows send together (eq. 3): the rates of the former are
/// constant, the sum of the latter is normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormalRate {
    /// E(R_X + R_Y): the mean of all, in bit/s.
    pub mean: f64,
    /// σ(R_Y): the standard deviation of what short flows send, in bit/s.
    pub deviation: f64,
}

impl NormalRate {
    /// The probability that the momentary rate is above `capacity` in bit/s: 1 − Φ of the
    /// normalised difference (eq. 3). Holds for many independent flows, none of which is much of
    /// the sum.
    pub fn above(&self, capacity: f64) -> Result<f64, ModelError> {
        Range::at_least(0.0).check("the mean rate in bit/s", self.mean)?;
        Range::above(0.0).check("the deviation of the rate in bit/s", self.deviation)?;
        Range::above(0.0).check("the capacity in bit/s", capacity)?;
        let normalised = (capacity - self.mean) / self.deviation;
        Ok(libm::erfc(normalised / std::f64::consts::SQRT_2) / 2.0)
    }
}

/// δ of eq. 4 in 1/bit of queue, for a normal rate without memory: 2(C − m)/v. `capacity` C and
/// `mean` m are in bit/s; `variance_rate` v is how fast the variance of the bits that arrive in a
/// time grows with it, in bit²/s. Holds for a mean below the capacity.
pub fn normal_decay(capacity: f64, mean: f64, variance_rate: f64) -> Result<f64, ModelError> {
    Range::above(0.0).check("the capacity in bit/s", capacity)?;
    Range::from_to_below(0.0, capacity).check("the mean rate in bit/s", mean)?;
    Range::above(0.0).check("the growth of the variance in bit²/s", variance_rate)?;
    Ok(2.0 * (capacity - mean) / variance_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_packets_at_half_load_fall_off_by_1_2564_per_service() {
        // The root of (e^y − 1)/2 = y is 1.25643; the factor 0.5/(0.5·e^y − 1) with e^y = 2y + 1.
        let tail = wait_tail(&[Packets { arrival_rate: 50.0, service: 0.01 }]).unwrap();
        assert!((tail.decay * 0.01 - 1.256_431).abs() < 1e-6, "{tail:?}");
        assert!((tail.factor - 0.5 / (0.5 * 3.512_862 - 1.0)).abs() < 1e-5, "{tail:?}");
    }

    #[test]
    fn many_kinds_of_packets_together_fall_off_as_the_exponential_queue_that_they_make_up() {
        // Service times drawn as the quantiles of an exponential make an M/M/1 queue: decay
        // μ − λ = 0.4, factor ρ = 0.6.
        let kinds = 20_000;
        let streams: Vec<Packets> = (0..kinds)
            .map(|n| Packets {
                arrival_rate: 0.6 / f64::from(kinds),
                service: -libm::log1p(-(f64::from(n) + 0.5) / f64::from(kinds)),
            })
            .collect();
        let tail = wait_tail(&streams).unwrap();
        assert!((tail.decay - 0.4).abs() < 2e-3, "{tail:?}");
        assert!((tail.factor - 0.6).abs() < 5e-3, "{tail:?}");
    }

    #[test]
    fn in_heavy_traffic_the_mean_of_the_tail_is_that_of_pollaczek_and_khinchine() {
        let stream = Packets { arrival_rate: 0.99, service: 1.0 };
        let tail = wait_tail(&[stream]).unwrap();
        let mean =
            crate::queueing::fcfs_wait(&[crate::queueing::CustomerClass::constant(0.99, 1.0)]);
        assert!((tail.factor / tail.decay / mean.unwrap() - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_rate_exceeds_its_mean_half_of_the_time_and_two_deviations_more_in_2_28_percent() {
        let rate = NormalRate { mean: 6e6, deviation: 1e6 };
        assert!((rate.above(6e6).unwrap() - 0.5).abs() < 1e-12);
        assert!((rate.above(8e6).unwrap() - 0.022_750_13).abs() < 1e-8);
    }

    #[test]
    fn poisson_packets_in_heavy_traffic_fall_off_as_a_normal_rate_does() {
        // 0.98 packets of 1 bit per second through 1 bit/s: the variance grows by 0.98 bit²/s.
        let normal = normal_decay(1.0, 0.98, 0.98).unwrap();
        let exact = wait_tail(&[Packets { arrival_rate: 0.98, service: 1.0 }]).unwrap().decay;
        assert!((normal / exact - 1.0).abs() < 0.02, "{normal} {exact}");
    }

    #[test]
    fn a_quantile_is_where_the_tail_has_fallen_to_the_rest() {
        let tail = wait_tail(&[Packets { arrival_rate: 0.8, service: 1.0 }]).unwrap();
        let wait = tail.quantile(0.99).unwrap();
        assert!((tail.beyond(wait).unwrap() - 0.01).abs() < 1e-12);
        assert_eq!(tail.quantile(0.0).unwrap(), 0.0);
    }

    #[test]
    fn an_idle_and_an_overloaded_queue_have_no_tail() {
        for rate in [0.0, 1.0, 2.0] {
            assert!(wait_tail(&[Packets { arrival_rate: rate, service: 1.0 }]).is_err());
        }
    }
}
