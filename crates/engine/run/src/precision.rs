//! How many replicas make intervals narrow enough.

use shortflow_measure::{Estimate, Run, WorkloadSummary};

/// The mean with the widest interval in some runs, relative to the mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Widest {
    /// Which mean it is.
    pub what: String,
    /// Half the interval, as a share of the mean.
    pub share: f64,
    /// How many replicas have it.
    replicas: u32,
}

impl Widest {
    /// The widest interval of mean completion times, mean delays of datagrams and goodputs of long flows; `None` where no such mean
    /// has an interval.
    pub fn find(runs: &[Run]) -> Option<Widest> {
        let points = runs.iter().flat_map(|run| run.points.iter().map(move |point| (run, point)));
        let means = points.flat_map(|(run, point)| {
            let workloads = point.summary.workloads.iter();
            workloads.filter_map(|workload| {
                let (what, mean) = decisive(workload)?;
                let (name, label) = (&workload.name, &run.label);
                Widest::new(format!("the {what} of {name} under {label}"), &mean)
            })
        });
        means.max_by(|one, two| one.share.total_cmp(&two.share))
    }

    fn new(what: String, mean: &Estimate) -> Option<Widest> {
        let share = (mean.high? - mean.mean) / mean.mean;
        share.is_finite().then_some(Widest { what, share, replicas: mean.n })
    }

    /// How many replicas should narrow it to this share: intervals narrow with the root of their number.
    pub fn replicas_for(&self, share: f64) -> u32 {
        (f64::from(self.replicas) * (self.share / share).powi(2)).ceil() as u32
    }
}

/// The mean by which a workload is judged, and what it is.
fn decisive(workload: &WorkloadSummary) -> Option<(&'static str, Estimate)> {
    if let Some(mean) = workload.all.mean {
        return Some(("mean completion time", mean));
    }
    match &workload.datagrams {
        Some(datagrams) => Some(("mean delay", datagrams.delay?)),
        None => Some(("goodput", workload.goodput?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_times_the_replicas_halve_an_interval() {
        let mean = Estimate::from_values(&[9.0, 10.0, 11.0]).unwrap();
        let widest = Widest::new("the mean".to_owned(), &mean).unwrap();
        // Half the interval is 4.303/√3 standard deviations of 1.
        assert!((widest.share - 0.2484).abs() < 1e-4, "{widest:?}");
        assert_eq!((widest.replicas_for(0.2485), widest.replicas_for(0.1242)), (3, 13));
        let one = Estimate::from_values(&[9.0]).unwrap();
        assert_eq!(Widest::new("the mean".to_owned(), &one), None);
    }
}
