//! Runs and their comparison for machines.

use serde_json::{Value, json as value};
use shortflow_measure::engines::{are_several, engines};
use shortflow_measure::results::{Compared, Comparison};
use shortflow_measure::{Point, Run, prediction_errors, warnings};

use crate::order::{Agreement, agreement, ranking_by};
use crate::ranking::ranking;

/// What `runs` measured, and of several their ranking and how they compare: the fields `runs`, `ranking`,
/// `gains`, `engines` and `warnings`. For one run the second to fourth are null. Policies are ranked within an engine: of
/// several engines `ranking` is null, and `engines` has theirs, and whether they have one order.
pub fn json(runs: &[Run]) -> Value {
    let numbers = |point: &Point| point.replicas.iter().map(|r| r.number).collect::<Vec<_>>();
    let run = |run: &Run| {
        value!({
            "label": run.label,
            "engine": run.manifest.engine,
            "policy": run.manifest.case(),
            "tcp": run.manifest.tcp,
            "timing": run.manifest.timing,
            "replicas": run.points.iter().map(numbers).collect::<Vec<_>>(),
            "points": run.points,
        })
    };
    let compared: Vec<Compared<'_>> = runs.iter().map(Run::compared).collect();
    let (are_compared, several) = (runs.len() > 1, are_several(runs));
    value!({
        "ranking": (are_compared && !several).then(|| ranking(runs).lines),
        "engines": several.then(|| by_engine(runs)),
        "warnings": warnings(&compared),
        "gains": are_compared.then(|| Comparison::gains(&compared)),
        "runs": runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn same_order(runs: &[Run]) -> Option<bool> {
    match agreement(runs)? {
        Agreement::Same | Agreement::Undecided => Some(true),
        Agreement::Contrary => Some(false),
        Agreement::Unknown | Agreement::Incomparable => None,
    }
}

/// The ranking of each engine, whether they order the policies alike (null where there is one policy, or one replica with
/// other orders), and what was predicted beside what was found.
fn by_engine(runs: &[Run]) -> Value {
    let ranked =
        |engine: &&str| value!({"engine": engine, "ranking": ranking_by(runs, engine).lines});
    value!({
        "same_order": same_order(runs),
        "foretold": prediction_errors(runs),
        "rankings": engines(runs).iter().map(ranked).collect::<Vec<_>>(),
    })
}
