//! The accuracy of predictions, in words.

use shortflow_measure::engines::done_by;
use shortflow_measure::{EngineComparison, Estimate, Measure, PredictionError, RunSet};

use crate::format;
use crate::ranking::at_point;

/// How many predictions are accurate, which is the least accurate, and whether bounds hold; `None` without
/// predictions.
pub(crate) fn how_far_off(set: &RunSet<'_>, engines: &EngineComparison<'_>) -> Option<String> {
    let all = &engines.prediction_errors;
    let off: Vec<(&PredictionError, f64)> =
        all.iter().filter_map(|figure| Some((figure, figure.error?))).collect();
    let bounds: Vec<&PredictionError> =
        all.iter().filter(|figure| figure.error.is_none()).collect();
    let mut said = Vec::new();
    let farthest = off.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    if let Some((figure, error)) = farthest {
        let near = off.iter().filter(|(_, error)| error.abs() <= CLOSE_ERROR).count();
        let figures = kinds(off.iter().map(|(figure, _)| figure.measure), off.len() > 1);
        let many = match off.len() {
            1 => format!("The one predicted {figures}"),
            all if near == all => format!("All {all} predicted {figures}"),
            all => format!("Of {all} predicted {figures}, {near}"),
        };
        let verb = match (off.len(), near) {
            (1, 0) => "is not",
            (1, _) | (2.., 1) => "is",
            _ => "are",
        };
        said.push(format!(
            "{many} {verb} within {:.0} % of the measured value. Least accurate: {} ({}).",
            CLOSE_ERROR * 100.0,
            beside(set, figure),
            format::signed(error * 100.0) + " %",
        ));
    }
    let broken: Vec<&&PredictionError> = bounds.iter().filter(|figure| !figure.holds()).collect();
    said.extend(match (&bounds[..], broken.first()) {
        ([], _) => None,
        ([_], None) => Some("The one bound (≥ or ≤) holds.".to_owned()),
        (all, None) => Some(format!("All {} bounds (≥ or ≤) hold.", all.len())),
        ([_], Some(figure)) => {
            Some(format!("The one bound (≥ or ≤) does not hold: {}.", beside(set, figure)))
        }
        (all, Some(figure)) => Some(format!(
            "Of {} bounds (≥ or ≤), {} {} not hold: {}.",
            all.len(),
            broken.len(),
            if broken.len() == 1 { "does" } else { "do" },
            beside(set, figure)
        )),
    });
    (!said.is_empty()).then(|| said.join("\n"))
}

/// What figures of these measures are, in words.
fn kinds(measures: impl Iterator<Item = Measure>, several: bool) -> String {
    let mut found: Vec<&str> = measures.map(kind).collect();
    found.sort_by_key(|kind| KINDS.iter().position(|one| one.0 == *kind));
    found.dedup();
    let plural = |kind: &&str| KINDS.iter().find(|one| *one.0 == **kind).map_or("", |one| one.1);
    let words: Vec<&str> = match several {
        true => found.iter().map(plural).collect(),
        false => found,
    };
    match &words[..] {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        words => words.concat(),
    }
}

/// The kinds of figures, one and several.
const KINDS: [(&str, &str); 3] =
    [("mean", "means"), ("percentile", "percentiles"), ("loss", "losses")];

fn kind(measure: Measure) -> &'static str {
    match measure {
        Measure::DelayMedian | Measure::DelayP95 | Measure::DelayP99 => "percentile",
        Measure::DatagramLoss => "loss",
        _ => "mean",
    }
}

/// What counts as near, as a part of what was found.
const CLOSE_ERROR: f64 = 0.2;

/// What was predicted beside what was found.
fn beside(set: &RunSet<'_>, figure: &PredictionError) -> String {
    let PredictionError {
        policy, engine, point, workload, class, measure, predicted, found, ..
    } = figure;
    let of = class.as_ref().map_or(workload.clone(), |class| format!("{workload} of {class}"));
    let place = at_point(set, *point);
    let value = |estimate: &Estimate| match measure {
        Measure::Goodput => format::rate(estimate.mean * 1e6),
        Measure::DatagramLoss => {
            format::share(&Some(Estimate { low: None, high: None, ..*estimate }))
        }
        _ => format::seconds(estimate.mean),
    };
    let what = match measure {
        Measure::DelayMedian => "median delay ",
        Measure::DelayP95 => "95th percentile of the delay ",
        Measure::DelayP99 => "99th percentile of the delay ",
        Measure::DatagramLoss => "loss ",
        _ => "",
    };
    let sign = if *measure == Measure::DatagramLoss { "" } else { format::bound(predicted) };
    let (message, seen) = (value(predicted), value(found));
    format!("{policy}{place}, {of}: {what}{sign}{message} predicted, {seen} {}", done_by(engine))
}
