//! The file format of figures and tables.

use serde::Deserialize;

use super::Quantity;
use super::runs::name;

/// What runs along the x axis of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// The swept key.
    #[default]
    Sweep,
    /// The bound of each size class in bytes, at one point of the sweep.
    Classes,
    /// The rate of each stream of datagrams in kbit/s, at one point of the sweep.
    Streams,
    /// The completion time in seconds, at one point of the sweep; y is the share of completed
    /// transfers that took longer, all replicas together.
    Distribution,
    /// The time in seconds, at one point of the sweep, in the first replica; y is the `utilisation` of
    /// a port over each `measure.series_interval`, or the queue there at its end for `mean-queue`.
    Series,
}

/// A figure of the paper, drawn from our runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// The file's name without its ending: letters, digits, hyphens and points.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What runs along the x axis.
    #[serde(default)]
    pub kind: FigureKind,
    /// The x axis, with its unit.
    pub x: String,
    /// The measure, with its unit.
    pub y: String,
    /// Whether the x axis is logarithmic; that of size classes is where nothing is said.
    pub log_x: Option<bool>,
    /// Whether the y axis is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Where a dotted line separates two regions.
    pub boundary: Option<f64>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve: a quantity over the sweep of its run; or over the parts of its workload, at the point
/// that it names, or at the only one of its run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// What it shows.
    pub of: Quantity,
    /// Whether it is dashed.
    #[serde(default)]
    pub dashed: bool,
}

/// A table of measures: a row for a run, a column for a quantity.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Its name: letters, digits, hyphens and points.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The rows.
    pub rows: Vec<RowSpec>,
    /// The columns.
    pub columns: Vec<ColumnSpec>,
}

/// A row: a run at a point of its sweep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// What it is called.
    pub label: String,
    /// The run.
    pub run: String,
    /// The point; the only one of the run when absent.
    pub x: Option<f64>,
}

/// A column: a quantity, which has the run and the point from the row where it names none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// What it shows, with its unit.
    pub label: String,
    /// What is measured.
    pub of: Quantity,
}
