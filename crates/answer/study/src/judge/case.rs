//! The points and classes of transfers at which something is looked at.

use crate::spec::{Quantity, Study, is_same};

/// A point of a sweep, and a class of transfers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(super) x: f64,
    pub(super) class: Option<String>,
}

impl Case {
    /// The text with the point and the class filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let class = self.class.as_deref().unwrap_or("all");
        text.replace("{class}", class).replace("{x}", &self.x.to_string())
    }
}

/// Every class at every point that the study runs of `ours`, of those named where some are.
pub(super) fn cases(
    ours: &Quantity,
    points: Option<&[f64]>,
    classes: Option<&[String]>,
    study: &Study,
    quick: bool,
) -> Vec<Case> {
    let of_run = study.run(&ours.run).map(|run| run.points(quick)).unwrap_or_default();
    let is_run = |x: &f64| of_run.iter().any(|at| is_same(*at, *x));
    let points: Vec<f64> = match (points, ours.x) {
        (Some(points), Some(_)) => points.to_vec(),
        (Some(points), None) => points.iter().copied().filter(is_run).collect(),
        (None, Some(x)) => [x].into_iter().filter(is_run).collect(),
        (None, None) => of_run.to_vec(),
    };
    let classes: Vec<Option<&String>> = match classes {
        None => vec![None],
        Some(classes) => classes.iter().map(Some).collect(),
    };
    let of_class = |class: Option<&String>| {
        let class = class.cloned();
        points.iter().map(move |x| Case { x: *x, class: class.clone() }).collect::<Vec<_>>()
    };
    classes.into_iter().flat_map(of_class).collect()
}
