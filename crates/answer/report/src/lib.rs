//! Figures, tables and the self-contained HTML report.
//!
//! ```text
//! Runs ─▶ View ─┬─▶ text, brief       terminal
//!               ├─▶ figures ─▶ page   HTML
//!               └─▶ json              machines
//! ```
//!
//! A [`View`](shortflow_measure::View) goes in. It has the ranking, comparisons, warnings and tables of the runs of a
//! command. This crate only lays it out, so terminal, page, figures and JSON cannot disagree. [`figures`] draws SVG,
//! [`text`] formats tables for a terminal, and [`page`] writes an HTML page that needs nothing from outside.
//! [`study_page`] does the same for a claims ledger.
//!
//! ```
//! use shortflow_report::{Row, Table};
//!
//! let row = |name: &str, mean: &str| Row { cells: vec![name.into(), mean.into()], ..Row::default() };
//! let table = Table {
//!     title: "Mean completion time (ms)".into(),
//!     head: vec!["queue".into(), "mean".into()],
//!     labels: 1,
//!     rows: vec![row("droptail", "190"), row("fq-codel", "85")],
//!     note: None,
//! };
//! assert!(table.markdown().contains("| fq-codel | 85 |"));
//! assert!(table.text(false).contains("droptail"));
//! ```
//!
//! # What this crate does not know
//!
//! It does not know scenarios, policies and engines: it sees measurements by name, and cannot run anything. It does
//! not compare, rank or average: that is in the view.

mod engines;
mod figures;
mod files;
mod format;
mod hero;
mod html;
mod json;
mod line;
mod page;
mod prediction_error;
mod queues;
mod ranking;
mod result;
mod streams;
mod study;
mod style;
mod table;
mod tables;
mod thin;
mod wrap;

pub use figures::figures;
pub use files::write;
pub use format::significant;
pub use json::json;
pub use line::{Axis, Figure, LineFigure, Mark, Series, Stroke, line_figure};
pub use page::page;
pub use ranking::ranking_table;
pub use result::key_result;
pub use study::{CheckRow, ClaimRow, study_page};
pub use style::{GRID, INK, color};
pub use table::{Row, Table};
pub use tables::{brief, tables, text, warning_mark};
pub use wrap::wrapped;
