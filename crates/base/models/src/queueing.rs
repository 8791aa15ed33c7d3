//! Mean waits of M/G/1 queues, first come first served and with non-preemptive priorities: Guo, Zhu,
//! Zhang & Zhang, "Utilizing the diversities and invariants of the Internet to support
//! multi-services", SIGCOMM Asia Workshop 2005, eqs. 1 and 2, after Bertsekas & Gallager, *Data
//! Networks*, 2nd edition, §3.5.
//!
//! Exact for Poisson arrivals, services independent of them, and unlimited room.

use crate::{ModelError, Range};

/// A class of customers of an M/G/1 queue: Poisson arrivals, general service times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CustomerClass {
    /// λ: arrivals per second.
    pub arrival_rate: f64,
    /// E\[X\]: mean service time in seconds.
    pub mean_service: f64,
    /// E\[X²\]: second moment of the service time in seconds squared.
    pub second_moment: f64,
}

impl CustomerClass {
    /// Exponential service times of this mean.
    pub fn exponential(arrival_rate: f64, mean_service: f64) -> Self {
        CustomerClass {
            arrival_rate,
            mean_service,
            second_moment: 2.0 * mean_service * mean_service,
        }
    }

    /// Constant service times.
    pub fn constant(arrival_rate: f64, service: f64) -> Self {
        CustomerClass { arrival_rate, mean_service: service, second_moment: service * service }
    }

    /// ρ: the share of time that this class keeps the server busy.
    pub fn load(&self) -> f64 {
        self.arrival_rate * self.mean_service
    }

    fn check(&self) -> Result<(), ModelError> {
        Range::at_least(0.0).check("the arrival rate per second", self.arrival_rate)?;
        let mean =
            Range::above(0.0).check("the mean service time in seconds", self.mean_service)?;
        // No distribution has less than the square of its mean; a hair for rounding.
        Range::at_least(mean * mean * (1.0 - 1e-9)).check(
            "the second moment of the service time in seconds squared",
            self.second_moment,
        )?;
        Ok(())
    }
}

/// Mean residual service time that an arrival finds, λE\[X²\]/2, in seconds.
fn residual(classes: &[CustomerClass]) -> Result<f64, ModelError> {
    classes.iter().try_fold(0.0, |sum, class| {
        class.check()?;
        Ok(sum + class.arrival_rate * class.second_moment / 2.0)
    })
}

/// Mean wait in seconds, without the service itself, first come first served
/// (Pollaczek–Khinchine; Guo et al. 2005, eq. 2).
///
/// Refuses a load of 1 or more, at which there is no mean, rates below 0 and service times that no
/// distribution has. Linear in the number of classes.
pub fn fcfs_wait(classes: &[CustomerClass]) -> Result<f64, ModelError> {
    let residual = residual(classes)?;
    let load = classes.iter().map(CustomerClass::load).sum();
    Range::from_to_below(0.0, 1.0).check("the load", load)?;
    Ok(residual / (1.0 - load))
}

/// Mean wait in seconds of each class under non-preemptive priorities, the first class served
/// first (Cobham; Guo et al. 2005, eq. 1). `None` for a class at which the load reaches 1; those
/// above it have a mean all the same, with the residual of a server that is then always busy, so
/// the services of the class that fills it are taken as the rest of the time has room for.
///
/// Refuses rates below 0 and service times that no distribution has. Linear in the number of classes.
pub fn priority_waits(classes: &[CustomerClass]) -> Result<Vec<Option<f64>>, ModelError> {
    residual(classes)?;
    let residual = served_residual(classes);
    let mut above = 0.0;
    Ok(classes
        .iter()
        .map(|class| {
            let with = above + class.load();
            let wait = residual / ((1.0 - with) * (1.0 - above));
            above = with;
            (with < 1.0).then_some(wait)
        })
        .collect())
}

/// The residual service that an arrival finds, of what the server has time to serve: a class below
/// one that leaves no time is never in service, and cannot be waited for.
fn served_residual(classes: &[CustomerClass]) -> f64 {
    let mut free = 1.0;
    let mut residual = 0.0;
    for class in classes {
        let served = class.load().min(free);
        if class.load() > 0.0 {
            residual += served / class.mean_service * class.second_moment / 2.0;
        }
        free -= served;
    }
    residual
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_of_guo_et_al_is_reproduced() {
        // ρ1–7 = 0.1, ρ8 = 0.25, λE[X²]/2 = 1 in all: any split of the residual does.
        let class = |load: f64| CustomerClass {
            arrival_rate: 1.0,
            mean_service: load,
            second_moment: 2.0 * load / 0.95,
        };
        let mut classes = vec![class(0.1); 7];
        classes.push(class(0.25));
        let waits: Vec<f64> =
            priority_waits(&classes).unwrap().into_iter().map(|wait| wait.unwrap()).collect();
        let paper = [1.11, 1.39, 1.79, 2.38, 3.33, 5.0, 8.33, 66.7];
        for (ours, paper) in waits.iter().zip(paper) {
            assert!((ours - paper).abs() / paper < 0.005, "{ours} against {paper}");
        }
        assert!((fcfs_wait(&classes).unwrap() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn an_exponential_server_waits_twice_as_long_as_a_constant_one() {
        let exponential = fcfs_wait(&[CustomerClass::exponential(0.8, 1.0)]).unwrap();
        let constant = fcfs_wait(&[CustomerClass::constant(0.8, 1.0)]).unwrap();
        assert!((exponential - 4.0).abs() < 1e-12);
        assert!((constant - 2.0).abs() < 1e-12);
    }

    #[test]
    fn an_overloaded_queue_is_refused_with_the_loads_that_have_a_mean() {
        let refused = fcfs_wait(&[CustomerClass::constant(1.0, 1.0)]).unwrap_err();
        assert_eq!(refused.to_string(), "the load must be below 1 for the model to hold; found 1");
    }

    #[test]
    fn moments_of_no_distribution_are_refused() {
        let class = CustomerClass { arrival_rate: 0.1, mean_service: 2.0, second_moment: 3.0 };
        assert!(matches!(fcfs_wait(&[class]), Err(ModelError::OutOfRange { found: 3.0, .. })));
    }

    #[test]
    fn an_overload_below_leaves_the_first_class_one_residual_packet() {
        // Half of the time goes to the first class; the rest is always full of the second. An
        // arrival of the first finds either in service: half a second of residual, and twice that
        // behind its own kind.
        let classes = [CustomerClass::constant(0.5, 1.0), CustomerClass::constant(7.0, 1.0)];
        let waits = priority_waits(&classes).unwrap();
        assert!((waits[0].unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(waits[1], None);
    }

    #[test]
    fn waits_of_all_classes_together_are_those_without_priorities() {
        // Kleinrock's conservation law: Σ ρᵢWᵢ = ρ·W of the plain queue.
        let classes = [
            CustomerClass::constant(0.2, 0.7),
            CustomerClass::exponential(0.1, 3.0),
            CustomerClass::constant(0.05, 4.0),
        ];
        let load: f64 = classes.iter().map(CustomerClass::load).sum();
        let waits = priority_waits(&classes).unwrap();
        let together: f64 =
            classes.iter().zip(&waits).map(|(class, wait)| class.load() * wait.unwrap()).sum();
        assert!((together - load * fcfs_wait(&classes).unwrap()).abs() < 1e-12);
    }
}
