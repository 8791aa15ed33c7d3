//! The output of a study: the ledger, its page, figures and tables.

use std::path::{Path, PathBuf};

use shortflow_measure::results::{Error, Folder, REPORT};
use shortflow_report::{
    Axis, CheckRow, ClaimRow, Figure, LineFigure, Mark, Series, Table, line_figure, study_page,
};

use super::claims_table::claims_table;
use super::reproduced::Reproduced;
use super::{figure, table, text};
use crate::ledger::{CheckResult, ClaimResult, Ledger, ObservationResult, ReadingResult};
use crate::spec::{FigureKind, names};

/// Writes all files and says where the page is.
pub fn write(out: &Path, reproduced: &Reproduced, ledger: &Ledger) -> Result<PathBuf, Error> {
    let folder = Folder::create(out)?;
    folder.write_text(names::LEDGER, &json(ledger))?;
    let drawn = folder.create_inside("figures")?;
    let figures: Vec<Figure> = reproduced.figures.iter().map(draw).collect();
    for figure in &figures {
        drawn.write_text(&format!("{}.svg", figure.name), &figure.svg)?;
    }
    if !reproduced.is_part {
        folder.write_text("tables.md", &markdown(&reproduced.tables))?;
    }
    folder.write_text("claims.md", &claims_table(ledger))?;
    let rows: Vec<ClaimRow> = ledger.claims.iter().map(claim_row).collect();
    let tables: Vec<Table> = reproduced.tables.iter().map(set).collect();
    let about =
        format!("{} {} {}", reproduced.about, ledger.describe_tcp(), ledger.describe_reading());
    let page = study_page(&reproduced.title, &about, &rows, &tables, &figures);
    folder.write_text(REPORT, &page)?;
    Ok(out.join(REPORT))
}

/// The study whose ledger is in a folder, if any, and whether it is of the short form.
pub fn study_of(out: &Path) -> Option<(String, bool)> {
    let ledger: serde_json::Value = Folder::open(out).read_json(names::LEDGER).ok()?;
    let quick = ledger.get("quick").and_then(serde_json::Value::as_bool).unwrap_or(false);
    Some((ledger.get("study")?.as_str()?.to_owned(), quick))
}

/// The ledger with a line for each entry, so that two of them can be compared.
pub fn json(ledger: &Ledger) -> String {
    format!("{:#}\n", serde_json::json!(ledger))
}

fn draw(figure: &figure::Figure) -> Figure {
    let is_distribution = figure.kind == FigureKind::Distribution;
    let is_line = is_distribution || figure.kind == FigureKind::Series;
    let series = figure.curves.iter().map(|curve| {
        let series = if is_line {
            let points: Vec<_> = curve.points.iter().map(|(x, value)| (*x, value.mean)).collect();
            Series::curve(&curve.label, &points)
        } else {
            let marks = curve.points.iter().map(|(x, estimate)| Mark::from_estimate(*x, estimate));
            let label = curve.label.clone();
            Series { label, points: marks.collect(), ..Series::default() }
        };
        Series { dashed: curve.dashed, ..series }
    });
    let (x_label, x_axis) = axis(&figure.x);
    let (y_label, y_axis) = axis(&figure.y);
    let caption = match figure.kind {
        FigureKind::Distribution => {
            "For each time, the share of transfers that took longer, all replicas together."
        }
        FigureKind::Series => "Over time, in the first replica.",
        FigureKind::Sweep | FigureKind::Classes | FigureKind::Streams => {
            "Means over replicas with 95 % intervals."
        }
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

fn set(table: &table::Table) -> Table {
    Table::set(&table.data)
}

/// All tables, each after a comment with its name.
fn markdown(tables: &[table::Table]) -> String {
    let one =
        |table: &table::Table| format!("<!-- table: {} -->\n{}", table.name, set(table).markdown());
    tables.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn claim_row(claim: &ClaimResult) -> ClaimRow {
    let check = |check: &CheckResult| CheckRow {
        what: check.what.clone(),
        paper: check.paper.clone(),
        ours: check.ours,
        low: check.low,
        high: check.high,
        verdict: check.verdict.name().to_owned(),
        remark: text::remark(check),
    };
    let observation = |seen: &ObservationResult| CheckRow {
        what: seen.what.clone(),
        paper: seen.paper.clone(),
        ours: seen.ours,
        low: seen.low,
        high: seen.high,
        verdict: String::new(),
        remark: String::new(),
    };
    let reading = |other: &ReadingResult| (other.reading.clone(), other.verdict.name().to_owned());
    ClaimRow {
        id: claim.id.clone(),
        claim: claim.claim.clone(),
        short: claim.short.clone(),
        verdict: claim.verdict.name().to_owned(),
        readings: claim.readings.iter().map(reading).collect(),
        replicas: claim.replicas,
        note: claim.note.clone(),
        checks: claim.checks.iter().map(check).collect(),
        observations: claim.observations.iter().map(observation).collect(),
    }
}

#[cfg(test)]
mod tests {
    use shortflow_measure::Estimate;
    use shortflow_measure::tables as data;

    use super::*;
    use crate::present::figure::FigureCurve;

    fn estimate(mean: f64) -> Estimate {
        Estimate {
            mean,
            low: Some(mean * 0.9),
            high: Some(mean * 1.1),
            n: 8,
            at_least: false,
            at_most: false,
        }
    }

    /// A figure with the curves "slow" and "fast" through `points` and a half of their height.
    fn drawn(kind: FigureKind, x: &str, y: &str, log: bool, points: &[(f64, f64)]) -> String {
        let curve = |label: &str, factor: f64| FigureCurve {
            label: label.to_owned(),
            dashed: label == "fast",
            points: points.iter().map(|(x, y)| (*x, estimate(y * factor))).collect(),
        };
        let figure = figure::Figure {
            name: format!("{kind:?}").to_lowercase(),
            title: "A figure".to_owned(),
            kind,
            x: x.to_owned(),
            y: y.to_owned(),
            log_x: matches!(kind, FigureKind::Classes | FigureKind::Distribution),
            log,
            boundary: None,
            curves: vec![curve("slow", 1.0), curve("fast", 0.5)],
        };
        draw(&figure).svg
    }

    fn has(svg: &str, texts: &[&str]) {
        for text in texts {
            assert!(svg.contains(&format!(">{text}<")), "no {text} in {svg}");
        }
    }

    #[test]
    fn size_classes_stand_on_an_axis_of_bytes() {
        let sizes = [(1e3, 0.1), (1e4, 0.2), (1e5, 0.6), (1e6, 3.0)];
        let svg = drawn(FigureKind::Classes, "reply (bytes)", "completion time (s)", true, &sizes);
        has(&svg, &["1 KB", "1 MB", "reply", "completion time", "1 s", "100 ms"]);
    }

    #[test]
    fn streams_stand_on_an_axis_of_their_rates() {
        let rates = [(16.0, 0.05), (64.0, 0.02), (256.0, 0.01)];
        let svg = drawn(FigureKind::Streams, "rate (kbit/s)", "mean delay (s)", false, &rates);
        has(&svg, &["rate (kbit/s)", "mean delay", "20 ms"]);
    }

    #[test]
    fn a_distribution_gives_shares_of_transfers_over_time() {
        let times: Vec<(f64, f64)> =
            (1..900).map(|i| 0.01 * f64::from(i)).map(|t| (t, (-t).exp())).collect();
        let svg = drawn(
            FigureKind::Distribution,
            "completion time (s)",
            "share that took longer",
            true,
            &times,
        );
        has(&svg, &["1 s", "100 %", "1 %", "completion time", "share that took longer"]);
        assert!(!svg.contains("<circle"), "so many points have no markers");
    }

    #[test]
    fn a_series_is_a_line_over_time() {
        let rates: Vec<(f64, f64)> =
            (0..720).map(|i| 5.0 * f64::from(i)).map(|t| (t, 6.5 + (t / 60.0).sin())).collect();
        let svg = drawn(FigureKind::Series, "time (s)", "rate (Mbit/s)", false, &rates);
        has(&svg, &["rate (Mbit/s)", "time"]);
        assert!(!svg.contains("<circle"), "so many points have no markers");
    }

    #[test]
    fn tables_in_markdown_stand_after_their_names() {
        let table = |name: &str| {
            let rows = vec![("DropTail".to_owned(), vec![Some(estimate(1.5))])];
            let columns = ["time (s)".to_owned()];
            let data = data::Table::of_estimates(&format!("The {name}"), &columns, rows);
            table::Table { name: name.to_owned(), data }
        };
        let text = markdown(&[table("pages"), table("echoes")]);
        assert!(text.starts_with("<!-- table: pages -->\n**The pages**\n\n|"), "{text}");
        assert!(text.contains("|\n\n<!-- table: echoes -->\n**The echoes**\n"), "{text}");
    }
}
