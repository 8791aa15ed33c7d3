//! The M/M/1 queue: Kleinrock, *Queueing Systems*, volume 1, 1975, §§3.2 and 5.7.
//!
//! Exact for Poisson arrivals, exponential services, unlimited room, first come first served.

use crate::{ModelError, Range};

/// A queue with Poisson arrivals and exponential services, at a load below 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mm1 {
    load: f64,
    mean_service: f64,
}

impl Mm1 {
    /// `arrival_rate` λ per second, at least 0; `mean_service` 1/μ in seconds, above 0. Their
    /// product, the load, must be below 1.
    pub fn new(arrival_rate: f64, mean_service: f64) -> Result<Self, ModelError> {
        Range::at_least(0.0).check("the arrival rate per second", arrival_rate)?;
        Range::above(0.0).check("the mean service time in seconds", mean_service)?;
        let load = arrival_rate * mean_service;
        Range::from_to_below(0.0, 1.0).check("the load", load)?;
        Ok(Mm1 { load, mean_service })
    }

    /// ρ: the share of time in which the server is busy.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// ρ/(1 − ρ): the mean number of customers, with the one in service.
    pub fn mean_customers(&self) -> f64 {
        self.load / (1.0 - self.load)
    }

    /// Mean time in the queue in seconds, without the service.
    pub fn mean_wait(&self) -> f64 {
        self.load * self.mean_stay()
    }

    /// Mean time in the queue and in service, in seconds.
    pub fn mean_stay(&self) -> f64 {
        self.mean_service / (1.0 - self.load)
    }

    /// P(W > t): ρ·e^(−μ(1−ρ)t), `seconds` from 0.
    pub fn wait_beyond(&self, seconds: f64) -> Result<f64, ModelError> {
        Ok(self.load * self.stay_beyond(seconds)?)
    }

    /// P(W + X > t): e^(−μ(1−ρ)t), `seconds` from 0.
    pub fn stay_beyond(&self, seconds: f64) -> Result<f64, ModelError> {
        Range::at_least(0.0).check("the time in seconds", seconds)?;
        Ok(libm::exp(-seconds / self.mean_stay()))
    }

    /// The wait in seconds that a `share` of customers does not exceed; `share` from 0 to below 1.
    pub fn wait_quantile(&self, share: f64) -> Result<f64, ModelError> {
        Range::from_to_below(0.0, 1.0).check("the share of customers", share)?;
        if share <= 1.0 - self.load {
            return Ok(0.0);
        }
        Ok(self.mean_stay() * libm::log(self.load / (1.0 - share)))
    }

    /// The time in queue and service in seconds that a `share` of customers does not exceed;
    /// `share` from 0 to below 1.
    pub fn stay_quantile(&self, share: f64) -> Result<f64, ModelError> {
        Range::from_to_below(0.0, 1.0).check("the share of customers", share)?;
        Ok(-self.mean_stay() * libm::log1p(-share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_half_load_one_customer_is_there_and_waits_as_long_as_it_is_served() {
        let queue = Mm1::new(50.0, 0.01).unwrap();
        assert!((queue.mean_customers() - 1.0).abs() < 1e-12);
        assert!((queue.mean_wait() - 0.01).abs() < 1e-12);
        // Half of the customers do not wait; the median of the stay is ln 2 of its mean.
        assert_eq!(queue.wait_quantile(0.5).unwrap(), 0.0);
        assert!((queue.stay_quantile(0.5).unwrap() - 0.02 * std::f64::consts::LN_2).abs() < 1e-12);
    }

    #[test]
    fn the_mean_is_the_area_under_the_tail() {
        let queue = Mm1::new(0.8, 1.0).unwrap();
        let step = 0.01;
        let area: f64 =
            (0..20_000).map(|n| step * queue.wait_beyond((n as f64 + 0.5) * step).unwrap()).sum();
        assert!((area - queue.mean_wait()).abs() < 1e-4, "{area}");
    }

    #[test]
    fn a_quantile_is_where_the_tail_has_fallen_to_the_rest() {
        let queue = Mm1::new(0.7, 1.0).unwrap();
        for share in [0.4, 0.9, 0.99] {
            let wait = queue.wait_quantile(share).unwrap();
            assert!((queue.wait_beyond(wait).unwrap() - (1.0 - share)).abs() < 1e-12);
        }
    }

    #[test]
    fn without_load_nobody_waits_and_at_full_load_there_is_no_mean() {
        assert_eq!(Mm1::new(0.0, 1.0).unwrap().mean_wait(), 0.0);
        assert!(Mm1::new(1.0, 1.0).is_err());
    }
}
