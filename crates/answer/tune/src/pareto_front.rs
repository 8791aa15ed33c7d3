//! Two goals as a figure: the trade-off between them.

use shortflow_measure::{Estimate, Unit};
use shortflow_report::{Axis, Figure, LineFigure, Mark, Series, line_figure};

use crate::goals::Goal;
use crate::tune::Tuned;

/// The first two goals of the confirmed candidates: a line through those that no other beats in both, and the others
/// as points. `None` with one goal, or without confirmed candidates.
pub fn pareto_figure(tuned: &Tuned, goals: &[Goal]) -> Option<Figure> {
    let [first, second, ..] = goals else { return None };
    let place = |goals: &[Option<Estimate>]| {
        let x = goals[1]?.scaled(second.sign());
        let y = goals[0]?.scaled(first.sign());
        Some((x.mean, y))
    };
    let standings = &tuned.confirmed.standings;
    let mut front: Vec<Mark> = standings
        .iter()
        .filter(|one| one.on_front)
        .filter_map(|one| place(&one.goals).map(|(x, y)| Mark::from_estimate(x, &y)))
        .collect();
    if front.is_empty() {
        return None;
    }
    front.sort_by(|a, b| a.x.total_cmp(&b.x));
    let line = Series { label: "not dominated".to_owned(), points: front, ..Series::default() };
    let alone = standings.iter().filter_map(|one| {
        let (x, y) = place(&one.goals)?;
        Some(Series {
            label: one.label.clone(),
            points: vec![Mark::from_estimate(x, &y)],
            ..Series::default()
        })
    });
    Some(line_figure(&LineFigure {
        name: "front".to_owned(),
        title: format!("{} against {}", first.text, second.text),
        caption: format!(
            "Policies confirmed on fresh seeds. The line joins those that no other policy beats in \
                both goals; a bar is the 95 % interval of {}.",
            first.text
        ),
        x_label: label(second),
        y_label: label(first),
        x_axis: axis(second.unit()),
        y_axis: axis(first.unit()),
        series: std::iter::once(line).chain(alone).collect(),
        ..LineFigure::default()
    }))
}

/// The title of a goal's axis, with its unit if the numbers lack it.
fn label(goal: &Goal) -> String {
    match goal.unit() {
        unit @ (Unit::MegabitsPerSecond | Unit::PerSecond | Unit::Packets) => {
            format!("{}, {}", goal.text, unit.symbol())
        }
        Unit::None | Unit::Share | Unit::Seconds => goal.text.clone(),
    }
}

fn axis(unit: Unit) -> Axis {
    match unit {
        Unit::Seconds => Axis::Seconds,
        Unit::Share => Axis::Share,
        _ => Axis::Number,
    }
}
