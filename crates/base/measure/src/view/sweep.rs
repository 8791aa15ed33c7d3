//! The swept key, and where its values lie on an axis.

use crate::cases::point_label;
use crate::results::Run;

/// The key that runs were swept over.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptKey {
    /// Its name; of several keys, their names.
    pub name: String,
    /// Where the points of each run lie, run by run.
    pub positions: Vec<Positions>,
}

impl SweptKey {
    /// The key of these runs; `None` if each has one point.
    pub(super) fn of_runs(runs: &[Run]) -> Option<SweptKey> {
        let run = runs.iter().find(|run| run.points.len() > 1)?;
        let keys: Vec<&str> = run.points[0].settings.iter().map(|s| s.key.as_str()).collect();
        let name = if keys.is_empty() { "point".into() } else { keys.join(", ") };
        Some(SweptKey { name, positions: runs.iter().map(Positions::of_run).collect() })
    }
}

/// Where the points of a sweep lie: at their values if these are numbers of one unit, else at their ranks.
#[derive(Debug, Clone, PartialEq)]
pub enum Positions {
    /// At these values.
    Numbers {
        /// The values, point by point.
        values: Vec<f64>,
        /// Their unit; empty if they have none.
        unit: String,
    },
    /// At 1, 2, 3 and so on, with these names.
    Names(Vec<String>),
}

impl Positions {
    fn of_run(run: &Run) -> Positions {
        let values: Vec<String> = (0..run.points.len()).map(|at| point_label(run, at)).collect();
        let split = |text: &str| {
            let end = text.find(|c: char| !(c.is_ascii_digit() || "._-".contains(c)));
            let (number, unit) = text.split_at(end.unwrap_or(text.len()));
            Some((number.replace('_', "").parse::<f64>().ok()?, unit.trim().to_owned()))
        };
        let numbers: Option<Vec<_>> = values.iter().map(|value| split(value)).collect();
        match numbers {
            Some(numbers) if numbers.iter().all(|(_, unit)| *unit == numbers[0].1) => {
                let unit = numbers.first().map(|(_, unit)| unit.clone()).unwrap_or_default();
                Positions::Numbers { values: numbers.into_iter().map(|(x, _)| x).collect(), unit }
            }
            _ => Positions::Names(values),
        }
    }

    /// The place of the point with this number; the first name is at 1.
    pub fn x(&self, at: usize) -> f64 {
        match self {
            Positions::Numbers { values, .. } => values[at],
            Positions::Names(_) => at as f64 + 1.0,
        }
    }
}
