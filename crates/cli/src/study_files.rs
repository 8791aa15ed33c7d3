//! What a study leaves behind: the ledger, its page, figures and tables.

use std::path::{Path, PathBuf};

use shortflow_measure::results::{Folder, write_whole};
use shortflow_report::{
    Axis, CheckRow, ClaimRow, Figure, LineFigure, Mark, Series, Table, line_figure, study_page,
};
use shortflow_study::spec::FigureKind;
use shortflow_study::{self as study, CheckResult, ClaimResult, Ledger, Reproduced};

use crate::failure::Failure;

/// Writes all files and says where the page is.
pub(crate) fn write(
    out: &Path,
    reproduced: &Reproduced,
    ledger: &Ledger,
) -> Result<PathBuf, Failure> {
    Folder::create(out)?;
    write_text(&out.join("ledger.json"), &pretty(ledger))?;
    let drawn = Folder::create(&out.join("figures"))?;
    let figures: Vec<Figure> = reproduced.figures.iter().map(draw).collect();
    for figure in &figures {
        write_text(&drawn.path().join(format!("{}.svg", figure.name)), &figure.svg)?;
    }
    write_text(&out.join("tables.md"), &markdown(&reproduced.tables))?;
    let rows: Vec<ClaimRow> = ledger.claims.iter().map(claim_row).collect();
    let tables: Vec<Table> = reproduced.tables.iter().map(set).collect();
    let path = out.join("report.html");
    write_text(&path, &study_page(&reproduced.title, &rows, &tables, &figures))?;
    Ok(path)
}

/// The ledger with a line for each entry, so that two of them can be compared.
fn pretty(ledger: &Ledger) -> String {
    let text = serde_json::to_string_pretty(ledger).expect("a ledger is numbers and texts");
    text + "\n"
}

fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(write_whole(path, |file| file.write_all(text.as_bytes()))?)
}

fn draw(figure: &study::Figure) -> Figure {
    let is_distribution = figure.kind == FigureKind::Distribution;
    let series = figure.curves.iter().map(|curve| {
        let series = if is_distribution {
            let points: Vec<_> = curve.points.iter().map(|(x, share)| (*x, share.mean)).collect();
            Series::curve(&curve.label, &points)
        } else {
            let marks = curve.points.iter().map(|(x, estimate)| Mark::of(*x, estimate));
            let label = curve.label.clone();
            Series { label, points: marks.collect(), ..Series::default() }
        };
        Series { dashed: curve.dashed, ..series }
    });
    let (x_label, x_axis) = axis(&figure.x);
    let (y_label, y_axis) = axis(&figure.y);
    let caption = if is_distribution {
        "For each time, the share of completed transfers that took longer, all replicas together."
    } else {
        "Means over replicas with 95 % intervals."
    };
    line_figure(&LineFigure {
        name: figure.name.clone(),
        title: figure.title.clone(),
        caption: caption.to_owned(),
        x_label,
        y_label,
        x_axis,
        y_axis: if is_distribution { Axis::Share } else { y_axis },
        log_x: figure.log_x,
        log_y: figure.log,
        series: series.collect(),
        vertical: figure.boundary,
        zero_line: figure.y.contains('%'),
        ..LineFigure::default()
    })
}

/// An axis whose label ends with a unit that the ticks can carry has it there.
fn axis(label: &str) -> (String, Axis) {
    for (unit, axis) in [(" (s)", Axis::Seconds), (" (bytes)", Axis::Bytes)] {
        if let Some(quantity) = label.strip_suffix(unit) {
            return (quantity.to_owned(), axis);
        }
    }
    (label.to_owned(), Axis::Number)
}

fn set(table: &study::Table) -> Table {
    Table::of_estimates(&table.title, &table.columns, &table.rows)
}

/// All tables, each after a comment with its name.
fn markdown(tables: &[study::Table]) -> String {
    let one =
        |table: &study::Table| format!("<!-- table: {} -->\n{}", table.name, set(table).markdown());
    tables.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn claim_row(claim: &ClaimResult) -> ClaimRow {
    let check = |check: &CheckResult| CheckRow {
        what: check.what.clone(),
        paper: check.paper.clone(),
        ours: check.ours,
        low: check.low,
        high: check.high,
        holds: check.holds,
    };
    ClaimRow {
        id: claim.id.clone(),
        claim: claim.claim.clone(),
        short: claim.short.clone(),
        verdict: claim.verdict.name().to_owned(),
        note: claim.note.clone(),
        checks: claim.checks.iter().map(check).collect(),
    }
}
