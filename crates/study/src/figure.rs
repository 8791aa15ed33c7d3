//! The figures of a study, as data: whoever draws them needs nothing else.

use shortflow_measure::Estimate;

use crate::quantity::Data;
use crate::spec::FigureSpec;

/// A figure: curves over the swept key.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The file's name without its ending.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The x axis.
    pub x: String,
    /// The y axis.
    pub y: String,
    /// Whether the y axis is logarithmic.
    pub log: bool,
    /// Where a dotted line separates two regions.
    pub boundary: Option<f64>,
    /// The curves.
    pub curves: Vec<FigureCurve>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureCurve {
    /// Its name in the legend.
    pub label: String,
    /// Whether it is dashed.
    pub dashed: bool,
    /// Points in the order of the sweep.
    pub points: Vec<(f64, Estimate)>,
}

/// The figure that `spec` describes; points that were not run are left out.
pub fn figure(spec: &FigureSpec, data: &Data) -> Figure {
    let curves = spec
        .curves
        .iter()
        .map(|curve| FigureCurve {
            label: curve.label.clone(),
            dashed: curve.dashed,
            points: data
                .points(&curve.of.run)
                .into_iter()
                .filter_map(|x| Some((x, data.estimate(&curve.of, x, None).ok()?)))
                .collect(),
        })
        .collect();
    Figure {
        name: spec.name.clone(),
        title: spec.title.clone(),
        x: spec.x.clone(),
        y: spec.y.clone(),
        log: spec.log,
        boundary: spec.boundary,
        curves,
    }
}
