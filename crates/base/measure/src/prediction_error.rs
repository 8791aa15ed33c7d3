//! Predicted figures compared with those of an engine with replicas.

use serde::Serialize;

use crate::estimate::Estimate;
use crate::measures::{Measure, Subject};
use crate::results::{Point, Run};
use crate::view::{Pair, RunSet};

/// A figure that was predicted, and what it turned out to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictionError {
    /// The policy under which it was.
    pub policy: String,
    /// The engine that found it.
    pub engine: String,
    /// The number of the point, from 0.
    pub point: usize,
    /// The workload.
    pub workload: String,
    /// The size class, where that is not all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What is measured.
    pub measure: Measure,
    /// What was predicted, in the unit of the measure.
    pub predicted: Estimate,
    /// What was found.
    pub found: Estimate,
    /// The relative error of the prediction, above zero if it is too high; absent for a bound. Of a loss it is relative to
    /// 0.5 % of packets at least.
    pub error: Option<f64>,
}

/// The measures that models predict.
const MEASURES: [Measure; 7] = [
    Measure::Completion,
    Measure::Delay,
    Measure::DelayMedian,
    Measure::DelayP95,
    Measure::DelayP99,
    Measure::Goodput,
    Measure::DatagramLoss,
];

/// A loss of fewer packets is as good as this one: errors of losses are relative to it where less was found.
pub const MIN_LOSS: f64 = 0.005;

impl PredictionError {
    /// Whether what was predicted as a bound is one, as far as the interval of what was found tells.
    pub fn holds(&self) -> bool {
        match self.predicted.at_most {
            true => self.found.low.unwrap_or(self.found.mean) <= self.predicted.mean,
            false => self.found.high.unwrap_or(self.found.mean) >= self.predicted.mean,
        }
    }
}

/// Whether what was run is a model: it has means and no replicas.
pub fn is_model(run: &Run) -> bool {
    !run.points.is_empty() && are_of_model(&run.points)
}

/// Whether points are those of a model: what it does not tell is not known, and may have been served well.
pub(crate) fn are_of_model(points: &[Point]) -> bool {
    let mut known = points.iter().filter(|point| point.failure.is_none()).peekable();
    known.peek().is_some() && known.all(Point::is_of_model)
}

/// Every figure that one engine predicted and another found under the same policy, by sizes where there are some. What was
/// found to a lower bound only does not count.
pub(crate) fn prediction_errors(set: &RunSet<'_>) -> Vec<PredictionError> {
    let with_model = |pair: &Pair| {
        let (reference, ours) = (&set.runs[pair.reference], &set.runs[pair.ours]);
        match (is_model(reference), is_model(ours)) {
            (true, false) => Some((reference, ours)),
            (false, true) => Some((ours, reference)),
            _ => None,
        }
    };
    let mut all = Vec::new();
    for pair in (0..set.runs.len()).filter_map(|at| set.pair_of(at)) {
        let Some((model, found)) = with_model(pair) else { continue };
        let are_paired = pair.points.iter().enumerate();
        for (at, _) in are_paired.filter(|(_, gains)| gains.is_some()) {
            all.extend(of_point(model, found, at));
        }
    }
    all
}

fn of_point(model: &Run, run: &Run, point: usize) -> Vec<PredictionError> {
    let (model_summary, seen) = (&model.points[point].summary, &run.points[point].summary);
    let mut all = Vec::new();
    for workload in model_summary.workloads.iter().filter(|workload| !workload.name.contains('/')) {
        let sizes = workload.classes.iter().map(|class| class.label.as_str());
        // One size is all of them.
        let sizes: Vec<&str> = if workload.classes.len() > 1 { sizes.collect() } else { vec![] };
        for class in sizes.into_iter().map(Some).chain([None]) {
            let what = Subject { workload: &workload.name, class, ..Subject::default() };
            for measure in MEASURES {
                // Rates and delays are those of all sizes.
                if class.is_some() && measure != Measure::Completion {
                    continue;
                }
                let both =
                    measure.estimate(model_summary, &what).zip(measure.estimate(seen, &what));
                let Some((predicted, found)) = both else { continue };
                let least = if measure == Measure::DatagramLoss { MIN_LOSS } else { 0.0 };
                let whole = found.mean.max(least);
                if found.is_bound() || whole <= 0.0 {
                    continue;
                }
                let error = (predicted.mean - found.mean) / whole;
                all.push(PredictionError {
                    policy: run.manifest.case().to_owned(),
                    engine: run.manifest.engine.clone(),
                    point,
                    workload: workload.name.clone(),
                    class: class.map(str::to_owned),
                    measure,
                    predicted,
                    found,
                    error: (!predicted.is_bound()).then_some(error),
                });
            }
        }
    }
    all
}
