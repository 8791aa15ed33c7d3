//! Tables of ports.

use std::collections::BTreeMap;

use super::{Cell, Column, Label, Row, Table, rows_of_cases};
use crate::cases::{distinct, summaries, swept_key};
use crate::measures::{Measure, Subject};
use crate::results::Run;
use crate::summary::{CodePointSummary, Summary};

/// The ports' own figures.
pub fn ports(runs: &[Run]) -> Table {
    let columns = vec![
        Column::for_measure(Measure::Utilisation),
        Column::for_measure(Measure::MeanQueue).with_unit(),
        Column::for_measure(Measure::MeanWait).with_unit(),
        Column::for_measure(Measure::Loss),
        Column::for_measure(Measure::EcnMarks),
    ];
    let rows_of = |port: &str| {
        let what = Subject { at: Some(port), ..Subject::default() };
        rows_of_cases(runs, &[port.into()], &columns, &what, |summary| summary.port(port).is_some())
    };
    let rows = port_names(runs).into_iter().flat_map(rows_of).collect();
    Table::of_cases(runs, "Ports: load, queue and loss", &["port"], columns, rows)
}

/// What share of packets each port dropped, by code point; none when nothing was dropped at all.
pub fn loss(runs: &[Run]) -> Option<Table> {
    let columns = vec![
        Column::for_measure(Measure::Arrived),
        Column::for_measure(Measure::Loss),
        Column::called_only("why"),
    ];
    let has_names = runs.len() > 1 || swept_key(runs).is_some();
    let mut rows = Vec::new();
    for port in port_names(runs).into_iter().filter(|port| is_lossy(runs, port)) {
        let found = summaries(runs).filter_map(|summary| summary.port(port));
        let code_points = found.flat_map(|p| &p.code_points).map(|c| c.name.as_str());
        for (at, name) in distinct(code_points).into_iter().enumerate() {
            rows.extend(of_code_point(runs, port, name, &columns).into_iter().map(|row| Row {
                starts_group: row.starts_group && (at == 0 || has_names),
                ..row
            }));
        }
    }
    let title = "Loss by code point (colour) and port";
    (!rows.is_empty()).then(|| Table::of_cases(runs, title, &["port", "code point"], columns, rows))
}

fn is_lossy(runs: &[Run], port: &str) -> bool {
    let what = Subject { at: Some(port), ..Subject::default() };
    let mut losses = summaries(runs).filter_map(|s| Measure::Loss.estimate(s, &what));
    losses.any(|loss| loss.mean > 0.0)
}

fn of_code_point(runs: &[Run], port: &str, name: &str, columns: &[Column]) -> Vec<Row> {
    fn found<'s>(summary: &'s Summary, port: &str, name: &str) -> Option<&'s CodePointSummary> {
        summary.port(port)?.code_points.iter().find(|found| found.name == name)
    }
    let what = Subject { at: Some(port), code_point: Some(name), ..Subject::default() };
    let labels = [Label::from(port), Label::Name(with_color(name))];
    let has = |summary: &Summary| found(summary, port, name).is_some();
    let mut rows = rows_of_cases(runs, &labels, columns, &what, has);
    // The reasons are no figure that a measure gives.
    let with = summaries_by_point(runs).filter_map(|summary| found(summary, port, name));
    let known = rows.iter_mut().filter(|row| row.cells[WHY] != Cell::Failed);
    for (row, found) in known.zip(with) {
        row.cells[WHY] = reasons(&found.reasons);
    }
    rows
}

const WHY: usize = 2;

/// The summaries point by point, as rows have them.
fn summaries_by_point(runs: &[Run]) -> impl Iterator<Item = &Summary> {
    let points = runs.iter().map(|run| run.points.len()).max().unwrap_or(0);
    let at = |point| runs.iter().filter_map(move |run| run.points.get(point));
    (0..points).flat_map(at).map(|point| &point.summary)
}

fn port_names(runs: &[Run]) -> Vec<&str> {
    let ports = summaries(runs).flat_map(|summary| &summary.ports);
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
