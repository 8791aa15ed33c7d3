//! Mean waits of M/G/1 queues, first come first served and with priorities.

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
}

/// Mean residual service time that an arrival finds, λE\[X²\]/2, in seconds.
fn residual(classes: &[CustomerClass]) -> f64 {
    classes.iter().map(|class| class.arrival_rate * class.second_moment / 2.0).sum()
}

/// Mean wait in seconds, without the service itself, first come first served
/// (Pollaczek–Khinchine; Guo et al. 2005, eq. 2). `None` when the load is 1 or more.
pub fn fcfs_wait(classes: &[CustomerClass]) -> Option<f64> {
    let load: f64 = classes.iter().map(CustomerClass::load).sum();
    (load < 1.0).then(|| residual(classes) / (1.0 - load))
}

/// Mean wait in seconds of each class under non-preemptive priorities, the first class served
/// first (Cobham; Guo et al. 2005, eq. 1). `None` for a class at which the load reaches 1.
pub fn priority_waits(classes: &[CustomerClass]) -> Vec<Option<f64>> {
    let residual = residual(classes);
    let mut above = 0.0;
    classes
        .iter()
        .map(|class| {
            let with = above + class.load();
            let wait = residual / ((1.0 - with) * (1.0 - above));
            above = with;
            (with < 1.0).then_some(wait)
        })
        .collect()
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
            priority_waits(&classes).into_iter().map(|wait| wait.unwrap()).collect();
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
    fn an_overloaded_queue_has_no_mean_wait() {
        assert_eq!(fcfs_wait(&[CustomerClass::constant(1.0, 1.0)]), None);
    }
}
