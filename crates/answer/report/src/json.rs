//! Runs and their comparison for machines.

use serde_json::{Value, json as value};
use shortflow_measure::{Agreement, EngineComparison, EngineOrder, Point, Run, View};

/// What the runs measured, and of several their ranking and how they compare: the fields `runs`, `ranking`,
/// `gains`, `engines` and `warnings`. For one run the second to fourth are null. Policies are ranked within an engine: of
/// several engines `ranking` is null, and `engines` has theirs, and whether they have one order.
pub fn json(view: &View<'_>) -> Value {
    let set = &view.set;
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
    let ranking = view.ranking.as_ref().filter(|_| view.engines.is_none());
    value!({
        "ranking": ranking.map(|ranking| &ranking.lines),
        "engines": view.engines.as_ref().map(by_engine),
        "warnings": view.warnings,
        "gains": set.is_comparison().then(|| set.gains()),
        "runs": set.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

fn same_order(agreement: Agreement) -> Option<bool> {
    match agreement {
        Agreement::Same | Agreement::Undecided => Some(true),
        Agreement::Contrary => Some(false),
        Agreement::Unknown | Agreement::Incomparable => None,
    }
}

/// The ranking of each engine, whether they order the policies alike (null where there is one policy, or one replica with
/// other orders), and what was predicted beside what was found.
fn by_engine(engines: &EngineComparison<'_>) -> Value {
    let ranked = |EngineOrder { engine, ranking, .. }: &EngineOrder<'_>| value!({"engine": engine, "ranking": ranking.lines});
    value!({
        "same_order": engines.agreement.and_then(same_order),
        "prediction_errors": engines.prediction_errors,
        // The former name of `prediction_errors`, kept for one release.
        "foretold": engines.prediction_errors,
        "rankings": engines.orders.iter().map(ranked).collect::<Vec<_>>(),
    })
}
