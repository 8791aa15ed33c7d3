//! Writes every kind of report page, from made-up runs, into the folder given as argument.

#[path = "../tests/it/synthetic.rs"]
mod synthetic;

use std::path::Path;

use shortflow_measure::{Estimate, View, tables as data};
use shortflow_report::{
    CheckRow, ClaimRow, Figure, LineFigure, Mark, Series, Table, figures, line_figure, page,
    study_page, text,
};
use synthetic::{BEST_EFFORT, FAIR_MARKER, single, sweep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let one = [single(&FAIR_MARKER, 8)];
    let two = [single(&BEST_EFFORT, 8), single(&FAIR_MARKER, 8)];
    let along = [sweep(&FAIR_MARKER)];
    let two_along = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    for (name, runs) in
        [("single", &one[..]), ("compare", &two), ("sweep", &along), ("sweep-compare", &two_along)]
    {
        let view = View::new(runs);
        std::fs::write(folder.join(format!("{name}.html")), page(&view, &figures(&view)))?;
        println!("{}", text(&view, false, usize::MAX));
        for drawn in figures(&view) {
            std::fs::write(folder.join(format!("{name}-{}.svg", drawn.name)), drawn.svg)?;
        }
    }
    let study =
        study_page("Casetti & Mellia 2005", "A study.", &claims(), &[table()], &[boundary()]);
    std::fs::write(folder.join("study.html"), study)?;
    Ok(())
}

fn table() -> Table {
    let row = |label: &str, mean: f64| {
        let estimate = |mean: f64| {
            Some(Estimate {
                mean,
                low: Some(0.9 * mean),
                high: Some(1.1 * mean),
                n: 8,
                at_least: false,
                at_most: false,
            })
        };
        (label.to_owned(), vec![estimate(mean), estimate(20.0 * mean), None])
    };
    let columns = ["page, median (s)", "page, p99 (s)", "echo, mean (ms)"].map(str::to_owned);
    let rows = vec![row("DropTail", 1.234), row("Fair Marker", 0.345)];
    Table::set(&data::Table::of_estimates("Pages", &columns, rows))
}

/// A figure with what reports do not draw themselves: a boundary, and values below zero.
fn boundary() -> Figure {
    let mark = |(x, y): (f64, f64)| Mark {
        x,
        y,
        low: Some(y - 8.0),
        high: Some(y + 8.0),
        ..Default::default()
    };
    let line = |label: &str, dashed, ys: [f64; 4]| Series {
        label: label.into(),
        points: [0.6, 0.75, 0.85, 0.95].into_iter().zip(ys).map(mark).collect(),
        dashed,
        ..Default::default()
    };
    line_figure(&LineFigure {
        name: "boundary".into(),
        title: "Gain against α".into(),
        caption: "The dotted line parts the over- from the under-provisioned region.".into(),
        x_label: "α".into(),
        y_label: "gain, %".into(),
        series: vec![
            line("1 packet", false, [10.0, 22.0, 45.0, 60.0]),
            line("91 packets", true, [-12.0, -4.0, 3.0, -20.0]),
        ],
        vertical: Some(0.8),
        zero_line: true,
        ..Default::default()
    })
}

fn claims() -> Vec<ClaimRow> {
    let claim = |id: &str, verdict: &str, of_check: &str, remark: &str| ClaimRow {
        id: id.into(),
        claim: "Mean completion time under the Fair Marker is below that under TSW2CM at every α."
            .into(),
        short: "the Fair Marker is below TSW2CM everywhere".into(),
        verdict: verdict.into(),
        readings: vec![("data+20 packets".into(), "holds".into())],
        replicas: 16,
        note: "At α = 0.95 open transfers keep growing, so the mean depends on the run's length."
            .into(),
        checks: vec![CheckRow {
            what: "ratio of means, 11-packet replies, α = 0.60".into(),
            paper: "below 0.5".into(),
            ours: Some(0.31),
            low: Some(-0.27),
            high: Some(0.36),
            verdict: of_check.into(),
            remark: remark.into(),
        }],
        observations: Vec::new(),
    };
    vec![
        claim("cm05.1", "holds", "holds", ""),
        claim(
            "cm05.3",
            "fails",
            "fails",
            "it holds with a window of 64 KiB: ours 0.2 (0.1 to 0.3)",
        ),
        claim("cm05.4", "depends", "fails", "not with a window of 64 KiB: ours 0.7 (0.6 to 0.8)"),
        claim("cm05.7", "unsettled", "unsettled", "about 90 replicas would decide"),
    ]
}
