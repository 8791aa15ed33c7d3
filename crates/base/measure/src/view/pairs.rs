//! Runs that are compared with their references.

use crate::engines::pairs;
use crate::estimate::Estimate;
use crate::gains::{PointGains, gains_at};
use crate::measures::Measure;
use crate::results::Run;

/// A run and its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The number of the reference.
    pub reference: usize,
    /// The number of the run that is compared with it.
    pub ours: usize,
    /// Whether different engines ran them.
    pub is_across_engines: bool,
    /// How they compare, point by point; `None` where they had different arrivals.
    pub points: Vec<Option<PointGains>>,
}

impl Pair {
    /// All pairs of these runs: each policy by the first engine with the same by the others; then within each engine
    /// its first policy with the others.
    pub(super) fn all(runs: &[Run]) -> Vec<Pair> {
        let kinds: Vec<(&str, &str)> = runs.iter().map(|run| run.manifest.kind()).collect();
        let compare = |(reference, ours): (usize, usize)| {
            let (a, b) = (&runs[reference], &runs[ours]);
            let have_same_arrivals = a.manifest.has_arrivals_of(&b.manifest);
            let points = a.points.iter().zip(&b.points).enumerate();
            let points = points.map(|(at, (one, other))| {
                let is_paired = have_same_arrivals && one.settings == other.settings;
                is_paired.then(|| gains_at(at, (&a.label, &b.label), one, other))
            });
            let is_across_engines = kinds[reference].0 != kinds[ours].0;
            Pair { reference, ours, is_across_engines, points: points.collect() }
        };
        pairs(&kinds).into_iter().map(compare).collect()
    }

    /// The relative gain in the mean completion time of a workload, or of one of its size classes, at a point, in
    /// percent. `None` if the arrivals differ, or if a mean is only a lower bound.
    pub fn gain(&self, point: usize, workload: &str, class: Option<&str>) -> Option<Estimate> {
        let class = class.unwrap_or("all");
        let found = self.points.get(point)?.as_ref()?.gains.iter().find(|gain| {
            gain.measure == Measure::Completion
                && gain.workload == workload
                && gain.class.as_deref() == Some(class)
        })?;
        found.gain_percent
    }
}
