//! Thins curves of many points to what the eye can distinguish.

use crate::line::Mark;

/// Omits points within a hundredth of a decade of the last one kept, on both logarithmic axes; the last point stays.
pub(crate) fn log_log(points: &[(f64, f64)]) -> Vec<Mark> {
    let far = |a: f64, b: f64| (a / b).log10().abs() >= 0.01;
    let mut kept: Vec<Mark> = Vec::new();
    let visible = || points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0);
    let last = visible().next_back();
    for &(x, y) in visible() {
        let is_last = last == Some(&(x, y));
        if is_last || kept.last().is_none_or(|mark| far(x, mark.x) || far(y, mark.y)) {
            kept.push(Mark { x, y, ..Default::default() });
        }
    }
    kept
}

/// Every n-th of too many points of a series over time, so that `max` are left at most.
pub(crate) fn every_nth(points: Vec<Mark>, max: usize) -> Vec<Mark> {
    let step = points.len().div_ceil(max).max(1);
    points.into_iter().step_by(step).collect()
}
