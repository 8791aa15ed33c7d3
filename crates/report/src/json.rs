//! Runs and their comparison for machines.

use serde_json::{Value, json as value};
use shortflow_measure::results::Comparison;
use shortflow_measure::{Point, Run};

use crate::ranking::ranking;

/// What `runs` measured, and of several their ranking and the gains of each over the first: the
/// fields `runs`, `ranking` and `gains`, the last two null for one run.
pub fn json(runs: &[Run]) -> Value {
    let numbers = |point: &Point| point.replicas.iter().map(|r| r.number).collect::<Vec<_>>();
    let run = |run: &Run| {
        value!({
            "label": run.label,
            "tcp": run.manifest.tcp,
            "timing": run.manifest.timing,
            "replicas": run.points.iter().map(numbers).collect::<Vec<_>>(),
            "points": run.points,
        })
    };
    let named: Vec<(&str, &[Point])> =
        runs.iter().map(|run| (run.label.as_str(), run.points.as_slice())).collect();
    let are_compared = runs.len() > 1;
    value!({
        "ranking": are_compared.then(|| ranking(runs).lines),
        "gains": are_compared.then(|| Comparison::gains(&named)),
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    })
}
