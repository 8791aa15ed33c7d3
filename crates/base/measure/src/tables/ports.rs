//! Tables of ports.

use std::collections::BTreeMap;

use super::{Cell, Column, Label, Row, Table, rows_of_cases};
use crate::cases::distinct;
use crate::measures::{Measure, Subject};
use crate::summary::{CodePointSummary, Summary};
use crate::view::RunSet;

/// The ports' own figures.
pub(super) fn ports(set: &RunSet<'_>) -> Table {
    let columns = vec![
        Column::for_measure(Measure::Utilisation),
        Column::for_measure(Measure::MeanQueue).with_unit(),
        Column::for_measure(Measure::MeanWait).with_unit(),
        Column::for_measure(Measure::Loss),
        Column::for_measure(Measure::EcnMarks),
    ];
    let rows_of = |port: &str| {
        let what = Subject { at: Some(port), ..Subject::default() };
        rows_of_cases(set, &[port.into()], &columns, &what, |summary| summary.port(port).is_some())
    };
    let rows = port_names(set).into_iter().flat_map(rows_of).collect();
    Table::of_cases(set, "Ports: load, queue and loss", &["port"], columns, rows)
}

/// What share of packets each port dropped, by code point; none when nothing was dropped at all.
pub(super) fn loss(set: &RunSet<'_>) -> Option<Table> {
    let columns = vec![
        Column::for_measure(Measure::Arrived),
        Column::for_measure(Measure::Loss),
        Column::called_only("why"),
    ];
    let has_names = set.is_comparison() || set.sweep.is_some();
    let mut rows = Vec::new();
    for port in port_names(set).into_iter().filter(|port| is_lossy(set, port)) {
        let found = set.summaries().filter_map(|summary| summary.port(port));
        let code_points = found.flat_map(|p| &p.code_points).map(|c| c.name.as_str());
        for (at, name) in distinct(code_points).into_iter().enumerate() {
            rows.extend(of_code_point(set, port, name, &columns).into_iter().map(|row| Row {
                starts_group: row.starts_group && (at == 0 || has_names),
                ..row
            }));
        }
    }
    let title = "Loss by code point (colour) and port";
    (!rows.is_empty()).then(|| Table::of_cases(set, title, &["port", "code point"], columns, rows))
}

fn is_lossy(set: &RunSet<'_>, port: &str) -> bool {
    let what = Subject { at: Some(port), ..Subject::default() };
    let mut losses = set.summaries().filter_map(|s| Measure::Loss.estimate(s, &what));
    losses.any(|loss| loss.mean > 0.0)
}

fn of_code_point(set: &RunSet<'_>, port: &str, name: &str, columns: &[Column]) -> Vec<Row> {
    fn found<'s>(summary: &'s Summary, port: &str, name: &str) -> Option<&'s CodePointSummary> {
        summary.port(port)?.code_points.iter().find(|found| found.name == name)
    }
    let what = Subject { at: Some(port), code_point: Some(name), ..Subject::default() };
    let labels = [Label::from(port), Label::Name(with_color(name))];
    let has = |summary: &Summary| found(summary, port, name).is_some();
    let mut rows = rows_of_cases(set, &labels, columns, &what, has);
    // The reasons are no figure that a measure gives.
    let with = summaries_by_point(set).filter_map(|summary| found(summary, port, name));
    let known = rows.iter_mut().filter(|row| row.cells[WHY] != Cell::Failed);
    for (row, found) in known.zip(with) {
        row.cells[WHY] = reasons(&found.reasons);
    }
    rows
}

const WHY: usize = 2;

/// The summaries point by point, as rows have them.
fn summaries_by_point<'r>(set: &RunSet<'r>) -> impl Iterator<Item = &'r Summary> + use<'r> {
    let runs = set.runs;
    let points = runs.iter().map(|run| run.points.len()).max().unwrap_or(0);
    let at = |point| runs.iter().filter_map(move |run| run.points.get(point));
    (0..points).flat_map(at).map(|point| &point.summary)
}

fn port_names<'r>(set: &RunSet<'r>) -> Vec<&'r str> {
    let ports = set.summaries().flat_map(|summary| &summary.ports);
    distinct(ports.map(|port| port.name.as_str()))
}

/// A code point with the colour that it stands for in Assured Forwarding (RFC 2597 §6).
fn with_color(code_point: &str) -> String {
    let color = match code_point.strip_prefix("AF").and_then(|digits| digits.chars().nth(1)) {
        Some('1') => "green",
        Some('2') => "yellow",
        Some('3') => "red",
        _ => return code_point.to_owned(),
    };
    format!("{code_point} ({color})")
}

/// The reasons of drops with their shares of what was dropped, greatest first.
fn reasons(shares: &BTreeMap<String, f64>) -> Cell {
    let all: f64 = shares.values().sum();
    let mut shares: Vec<(String, f64)> =
        shares.iter().map(|(name, share)| (name.clone(), share / all)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    if shares.is_empty() { Cell::Nothing } else { Cell::Parts(shares) }
}
