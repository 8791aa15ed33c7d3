//! The figures: the same bytes each time, and points where they belong.

use shortflow_measure::{View, Warning, WarningKind};
use shortflow_report::{Axis, LineFigure, Mark, Series, figures, line_figure};

use crate::synthetic::{BEST_EFFORT, FAIR_MARKER, single, sweep};

fn line(points: &[(f64, f64)]) -> LineFigure {
    let mark = |&(x, y): &(f64, f64)| Mark { x, y, ..Default::default() };
    LineFigure {
        name: "test".into(),
        series: vec![Series {
            label: "ours".into(),
            points: points.iter().map(mark).collect(),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// The centres of the drawn markers.
fn centres(svg: &str) -> Vec<(f64, f64)> {
    let number = |tag: &str, name: &str| {
        let from = tag.split(&format!("{name}=\"")).nth(1).unwrap();
        from.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    svg.split("<circle ").skip(1).map(|tag| (number(tag, "cx"), number(tag, "cy"))).collect()
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let runs = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    let one = [single(&FAIR_MARKER, 2)];
    assert_eq!(figures(&View::new(&runs)), figures(&View::new(&runs)));
    assert_eq!(figures(&View::new(&one)), figures(&View::new(&one)));
}

#[test]
fn a_run_without_sweep_gives_distribution_sizes_and_queue() {
    let names: Vec<_> =
        figures(&View::new(&[single(&FAIR_MARKER, 2)])).into_iter().map(|f| f.name).collect();
    assert_eq!(names, ["distribution-0", "size-0", "open-0", "queue-0-0"]);
}

#[test]
fn a_sweep_of_two_runs_gives_times_and_gains_against_the_key() {
    let runs = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    let drawn = figures(&View::new(&runs));
    let gain = drawn.iter().find(|figure| figure.name == "gain-0-0").unwrap();
    assert_eq!(gain.title, "web: gain of fair marker over best effort");
    assert!(gain.svg.contains(">alpha<"));
    assert!(drawn.iter().any(|figure| figure.title == "web: completion time against alpha"));
}

#[test]
fn a_sweep_that_was_warned_of_shows_its_open_transfers() {
    let mut runs = [sweep(&BEST_EFFORT), sweep(&FAIR_MARKER)];
    let opens = |runs: &[_]| {
        let names = figures(&View::new(runs)).into_iter().map(|figure| figure.name);
        names.filter(|name| name.starts_with("open")).collect::<Vec<_>>()
    };
    assert_eq!(opens(&runs), [""; 0]);
    runs[1].points[4]
        .summary
        .warnings
        .push(Warning::new(WarningKind::UnsettledLoad, "the load does not settle"));
    assert_eq!(opens(&runs), ["open-0-1"]);
}

#[test]
fn equal_factors_are_equal_steps_on_a_logarithmic_axis() {
    let figure = LineFigure {
        log_y: true,
        y_axis: Axis::Seconds,
        ..line(&[(1.0, 0.01), (2.0, 0.1), (3.0, 1.0)])
    };
    let drawn = centres(&line_figure(&figure).svg);
    assert_eq!(drawn.len(), 3);
    assert!((drawn[0].1 + drawn[2].1 - 2.0 * drawn[1].1).abs() < 0.1, "{drawn:?}");
    assert!((drawn[0].0 + drawn[2].0 - 2.0 * drawn[1].0).abs() < 0.1, "{drawn:?}");
    assert!(drawn[2].1 < drawn[0].1, "greater stands higher");
}

#[test]
fn a_value_that_a_logarithmic_axis_cannot_show_is_left_out() {
    let figure = LineFigure { log_y: true, ..line(&[(1.0, 0.0), (2.0, 0.1), (3.0, f64::NAN)]) };
    assert_eq!(centres(&line_figure(&figure).svg).len(), 1);
}

#[test]
fn a_figure_without_points_is_still_a_figure() {
    for figure in [LineFigure { log_y: true, log_x: true, ..line(&[]) }, line(&[(0.0, 0.0)])] {
        assert!(line_figure(&figure).svg.ends_with("</svg>"));
    }
}

#[test]
fn every_drawn_colour_has_a_counterpart_on_dark() {
    let runs = [single(&BEST_EFFORT, 2), single(&FAIR_MARKER, 2)];
    for figure in figures(&View::new(&runs)) {
        let (style, drawing) = figure.svg.split_once("</style>").unwrap();
        for paint in ["fill", "stroke"] {
            for rest in drawing.split(&format!("{paint}=\"#")).skip(1) {
                let color = &rest[..6];
                let rule = format!("[{paint}=\"#{color}\"]");
                assert!(style.contains(&rule), "{}: {paint} #{color}", figure.name);
            }
            for named in ["black", "white", "red"] {
                assert!(!drawing.contains(&format!("{paint}=\"{named}\"")), "{named}");
            }
        }
    }
}
