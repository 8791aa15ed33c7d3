//! Estimates over replicas, and what measures are.

use pyo3::prelude::*;
use shortflow_measure::{Better, Estimate, Measure, paired, paired_gain};

/// Mean, both ends of the 95 % interval, and the number of values.
type Interval = (f64, Option<f64>, Option<f64>, u32);

fn interval(found: Estimate) -> Interval {
    (found.mean, found.low, found.high, found.n)
}

/// The mean of some values with its interval; `None` without values.
#[pyfunction]
pub(crate) fn estimate(values: Vec<f64>) -> Option<Interval> {
    Estimate::from_values(&values).map(interval)
}

/// The difference `ours − reference`, pair by pair, and the gain in percent: above zero if ours is better. The gain is
/// absent if a reference is zero.
#[pyfunction]
pub(crate) fn gain(
    reference: Vec<f64>,
    ours: Vec<f64>,
    higher_is_better: bool,
) -> PyResult<(Option<Interval>, Option<Interval>)> {
    if reference.len() != ours.len() {
        let what = format!("{} references for {} values", reference.len(), ours.len());
        return Err(pyo3::exceptions::PyValueError::new_err(what));
    }
    let has_gain = reference.iter().all(|value| *value != 0.0);
    let sign = if higher_is_better { -1.0 } else { 1.0 };
    let percent = paired_gain(&reference, &ours).filter(|_| has_gain);
    let percent = percent.map(|found| interval(found.scaled(sign)));
    Ok((paired(&reference, &ours).map(interval), percent))
}

/// Each measure: its name, its unit in tables, whether a higher value is better (`None` if neither is), and its meaning.
#[pyfunction]
pub(crate) fn measures() -> Vec<(&'static str, &'static str, Option<bool>, &'static str)> {
    let one = |measure: Measure| {
        let about = measure.about();
        let is_higher = match about.better {
            Better::Higher => Some(true),
            Better::Lower => Some(false),
            _ => None,
        };
        (about.name, about.unit.symbol(), is_higher, about.meaning)
    };
    Measure::ALL.map(one).into()
}
