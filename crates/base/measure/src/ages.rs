//! The ages of unfinished items.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shortflow_units::Duration;

use crate::histogram::Histogram;

/// How many things were how old: counted in the cells of a [`Histogram`], and written as one, but only
/// the cells that are not empty are kept, for as a rule few things are unfinished.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u32)>", into = "Vec<(u64, u32)>")]
pub(crate) struct Ages {
    /// Cells by their longest number of microseconds.
    cells: BTreeMap<u64, u32>,
    n: u64,
}

impl Ages {
    /// Counts something in that is `age` old.
    pub(crate) fn record(&mut self, age: Duration) {
        self.add(Histogram::cell_of(age), 1);
    }

    /// Counts in all that `other` has counted.
    pub(crate) fn merge(&mut self, other: &Ages) {
        other.cells.iter().for_each(|(cell, count)| self.add(*cell, *count));
    }

    fn add(&mut self, cell: u64, count: u32) {
        *self.cells.entry(cell).or_default() += count;
        self.n += u64::from(count);
    }

    /// How many were counted.
    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    /// The cells that are not empty: microseconds and count, in ascending order.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.cells.iter().map(|(cell, count)| (*cell, *count))
    }

    /// The greatest age in seconds, rounded down to its cell; zero when nothing was counted.
    pub(crate) fn greatest(&self) -> f64 {
        let last = self.cells.last_key_value();
        last.map_or(0.0, |(cell, _)| Histogram::seconds(Histogram::lower_edge(*cell)))
    }
}

impl From<Vec<(u64, u32)>> for Ages {
    fn from(cells: Vec<(u64, u32)>) -> Ages {
        let mut ages = Ages::default();
        cells.into_iter().for_each(|(cell, count)| ages.add(cell, count));
        ages
    }
}

impl From<Ages> for Vec<(u64, u32)> {
    fn from(ages: Ages) -> Self {
        ages.cells.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_units::Rng;

    #[test]
    fn ages_stand_in_the_cells_of_the_histogram_and_are_written_as_it_is() {
        let mut rng = Rng::stream(1, "ages");
        let (mut ages, mut histogram) = (Ages::default(), Histogram::default());
        let drawn = (0..2000).map(|_| rng.pareto(1e-6, 0.3).min(20_000.0));
        for seconds in
            [0.0, 1e-6, 0.002_047, 0.002_048, 9_999.0, 10_000.0, 1e6].into_iter().chain(drawn)
        {
            ages.record(Duration::from_secs_f64(seconds));
            histogram.record(Duration::from_secs_f64(seconds));
        }
        assert_eq!(ages.n(), histogram.n());
        assert_eq!(ages.greatest(), histogram.longest());
        assert!(ages.occupied().eq(histogram.occupied()));
        let text = serde_json::to_string(&ages).unwrap();
        let cells = serde_json::to_value(&histogram).unwrap()["cells"].to_string();
        assert_eq!(text, cells);
        assert_eq!(serde_json::from_str::<Ages>(&text).unwrap(), ages);
    }
}
