//! The positions of a sweep's points on an axis.

use shortflow_measure::Run;
use shortflow_measure::cases::point_label;

/// The place of each point on the axis of the swept key: its value, when all values are numbers of
/// one unit; else its rank.
pub(crate) fn positions(run: &Run) -> Positions {
    let values: Vec<String> = (0..run.points.len()).map(|at| point_label(run, at)).collect();
    let split = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_digit() || "._-".contains(c)));
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        Some((number.replace('_', "").parse::<f64>().ok()?, unit.trim().to_owned()))
    };
    let numbers: Option<Vec<_>> = values.iter().map(|value| split(value)).collect();
    match numbers {
        Some(numbers) if numbers.iter().all(|(_, unit)| *unit == numbers[0].1) => {
            let unit = numbers[0].1.clone();
            Positions::Numbers { values: numbers.into_iter().map(|(x, _)| x).collect(), unit }
        }
        _ => Positions::Names(values),
    }
}

/// Where the points of a sweep lie.
#[derive(Debug, PartialEq)]
pub(crate) enum Positions {
    Numbers { values: Vec<f64>, unit: String },
    Names(Vec<String>),
}

impl Positions {
    /// The place of point `at`; the first name is at 1.
    pub(crate) fn x(&self, at: usize) -> f64 {
        match self {
            Positions::Numbers { values, .. } => values[at],
            Positions::Names(_) => at as f64 + 1.0,
        }
    }
}
