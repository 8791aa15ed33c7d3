//! The M/D/1 queue: mean by Pollaczek & Khinchine, distribution by Erlang 1909 (Crommelin, *Post
//! Office Electrical Engineers' Journal* 25, 1932; Franx 2001 gives other forms).
//!
//! Exact for Poisson arrivals, constant services, unlimited room, first come first served.

use crate::delay_tail::{Packets, Tail, wait_tail};
use crate::queueing::{CustomerClass, fcfs_wait};
use crate::solve::falling_root;
use crate::{ModelError, Range};

/// Services up to which the alternating sum keeps ten digits; beyond, the exponential tail is
/// closer than a millionth of itself.
const EXACT_SERVICES: f64 = 10.0;

/// A queue with Poisson arrivals and constant services, at a load above 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Md1 {
    load: f64,
    service: f64,
    mean_wait: f64,
    tail: Tail,
}

impl Md1 {
    /// `arrival_rate` λ per second; `service` in seconds. Their product, the load, must be above 0
    /// and below 1.
    pub fn new(arrival_rate: f64, service: f64) -> Result<Self, ModelError> {
        let tail = wait_tail(&[Packets { arrival_rate, service }])?;
        let mean_wait = fcfs_wait(&[CustomerClass::constant(arrival_rate, service)])?;
        Ok(Md1 { load: arrival_rate * service, service, mean_wait, tail })
    }

    /// ρ: the share of time in which the server is busy.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Mean time in the queue in seconds, without the service: ρD/(2(1 − ρ)).
    pub fn mean_wait(&self) -> f64 {
        self.mean_wait
    }

    /// P(W > t), for `seconds` from 0: with u = t/D up to ten services
    /// 1 − (1 − ρ)·Σ_{k ≤ u} (ρ(k − u))^k/k!·e^(ρ(u − k)), beyond them the exponential tail.
    pub fn wait_beyond(&self, seconds: f64) -> Result<f64, ModelError> {
        Range::at_least(0.0).check("the time in seconds", seconds)?;
        let services = seconds / self.service;
        if services > EXACT_SERVICES {
            return self.tail.beyond(seconds);
        }
        let mut sum = 0.0;
        let mut factorial = 1.0;
        for k in 0..=services as i32 {
            if k > 0 {
                factorial *= f64::from(k);
            }
            let ahead = self.load * (f64::from(k) - services);
            sum += ahead.powi(k) / factorial * libm::exp(-ahead);
        }
        Ok((1.0 - (1.0 - self.load) * sum).clamp(0.0, 1.0))
    }

    /// The wait in seconds that a `share` of customers does not exceed; `share` from 0 to 1 − 10⁻⁹.
    pub fn wait_quantile(&self, share: f64) -> Result<f64, ModelError> {
        Range::from_to(0.0, 1.0 - 1e-9).check("the share of customers", share)?;
        if share <= 1.0 - self.load {
            return Ok(0.0);
        }
        // Never above the tail of 10⁻⁹ with a service to spare.
        let high = self.tail.quantile(1.0 - 1e-10)? + EXACT_SERVICES * self.service;
        let rest = 1.0 - share;
        let excess = |at: f64| Ok(self.wait_beyond(at)? - rest);
        falling_root("the quantile of the wait", (0.0, high), 1e-6, excess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_0_8_waits_two_services() {
        let queue = Md1::new(0.8, 1.0).unwrap();
        assert!((queue.mean_wait() - 2.0).abs() < 1e-12);
    }

    /// The wait is 0 with 1 − ρ, and at most one service with (1 − ρ)·e^ρ: nobody or one is there.
    #[test]
    fn within_one_service_the_distribution_is_worked_out_by_hand() {
        let queue = Md1::new(0.5, 1.0).unwrap();
        assert!((queue.wait_beyond(0.0).unwrap() - 0.5).abs() < 1e-15);
        assert!(
            (queue.wait_beyond(0.999_999_999).unwrap() - (1.0 - 0.5 * libm::exp(0.5))).abs() < 1e-8
        );
    }

    #[test]
    fn the_mean_is_the_area_under_the_tail() {
        for load in [0.2, 0.5, 0.9] {
            let queue = Md1::new(load, 1.0).unwrap();
            let step = 0.005;
            let area: f64 = (0..60_000)
                .map(|n| step * queue.wait_beyond((f64::from(n) + 0.5) * step).unwrap())
                .sum();
            assert!((area / queue.mean_wait() - 1.0).abs() < 1e-3, "{load}: {area}");
        }
    }

    #[test]
    fn the_exponential_tail_takes_over_where_the_sum_has_come_to_it() {
        for load in [0.3, 0.6, 0.95] {
            let queue = Md1::new(load, 1.0).unwrap();
            let (sum, tail) = (queue.wait_beyond(8.0).unwrap(), queue.tail.beyond(8.0).unwrap());
            assert!((sum - tail).abs() < 1e-4 * tail + 1e-11, "{load}: {sum} {tail}");
        }
    }

    #[test]
    fn a_quantile_is_where_the_tail_has_fallen_to_the_rest() {
        let queue = Md1::new(90.0, 0.01).unwrap();
        for share in [0.5, 0.9, 0.999] {
            let wait = queue.wait_quantile(share).unwrap();
            assert!((queue.wait_beyond(wait).unwrap() - (1.0 - share)).abs() < 1e-6, "{share}");
        }
        assert_eq!(queue.wait_quantile(0.05).unwrap(), 0.0);
    }
}
