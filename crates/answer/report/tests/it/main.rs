//! Tests of pages, figures and tables over made-up runs.

mod bounds;
mod engines;
mod figures;
mod pages;
mod ranking;
mod synthetic;
mod tables;
mod view;

use shortflow_measure::View;
use shortflow_report::figures;

/// The page with its figures.
fn page(view: &View<'_>) -> String {
    shortflow_report::page(view, &figures(view))
}
