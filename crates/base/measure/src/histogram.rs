//! Distributions of durations.

use hdrhistogram::Histogram as Cells;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shortflow_units::Duration;

/// How many durations fell where: from 1 µs to 10,000 s with 3 significant digits, so that a
/// percentile is within 0.1 % of that of the durations themselves, and never beyond the shortest and the
/// longest of them. Fixed in size (about 100 KB, none before the first duration), and exact to join with
/// another.
#[derive(Clone, Default, PartialEq)]
pub struct Histogram {
    cells: Option<Cells<u32>>,
    extremes: Option<Extremes>,
}

/// The shortest and the longest duration, to the nanosecond.
#[derive(Clone, Copy, PartialEq)]
struct Extremes {
    shortest: Duration,
    longest: Duration,
}

impl Extremes {
    fn joined(one: Option<Extremes>, other: Option<Extremes>) -> Option<Extremes> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        let (shortest, longest) = (a.shortest.min(b.shortest), a.longest.max(b.longest));
        Some(Extremes { shortest, longest })
    }
}

const MAX_MICROS: u64 = 10_000_000_000;
const MICROS_PER_SECOND: f64 = 1e6;

/// Numbers up to here have cells of their own; each doubling above has half as many cells: what 3
/// significant digits need.
const SINGLE_CELLS: u64 = 2048;

/// A duration rounded to a microsecond.
#[inline]
fn micros(duration: Duration) -> u64 {
    (duration.nanos() + 500) / 1000
}

/// The width of the cell of `micros` is two to the power of this.
fn width_bits(micros: u64) -> u32 {
    (micros / (SINGLE_CELLS / 2)).checked_ilog2().unwrap_or(0)
}

impl Histogram {
    /// Counts `duration` in, rounded to a microsecond; one beyond the range counts at its end.
    #[inline]
    pub fn record(&mut self, duration: Duration) {
        self.cells().saturating_record(micros(duration));
        let one = Extremes { shortest: duration, longest: duration };
        self.extremes = Extremes::joined(self.extremes, Some(one));
    }

    /// Adds `count` durations to the cell of this number of microseconds.
    pub(crate) fn record_cell(&mut self, micros: u64, count: u32) {
        self.cells().saturating_record_n(micros, count);
    }

    /// Counts in all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        if let Some(cells) = &other.cells {
            self.cells().add(cells).expect("all histograms have the same bounds");
        }
        self.extremes = Extremes::joined(self.extremes, other.extremes);
    }

    /// How many durations were counted.
    pub fn n(&self) -> u64 {
        self.cells.as_ref().map_or(0, Cells::len)
    }

    /// The duration in seconds that a share `quantile` (0 to 1) of all do not exceed. Those in one cell are
    /// taken to be evenly spread over it.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let cells = self.cells.as_ref().filter(|cells| !cells.is_empty())?;
        let rank = ((quantile * cells.len() as f64).ceil() as u64).clamp(1, cells.len());
        let cell = cells.value_at_quantile(quantile);
        let count = u64::from(cells.count_at(cell));
        let up_to_cell = cells.count_between(0, cell);
        let place = (rank + count).saturating_sub(up_to_cell).clamp(1, count) as f64 - 0.5;
        Some(self.within(cell, place / count as f64))
    }

    /// A duration in seconds in the cell of `micros`: so far from its lower to its upper end (0 to 1), and not
    /// beyond the shortest and the longest duration.
    pub(crate) fn within(&self, micros: u64, part: f64) -> f64 {
        let (bits, min) = (width_bits(micros), Self::lower_edge(micros));
        let inside = match bits {
            0 => Self::seconds(micros),
            // What is rounded to a microsecond may be half of one less.
            bits => (min as f64 - 0.5 + part * (1_u64 << bits) as f64) / MICROS_PER_SECOND,
        };
        self.extremes.map_or(inside, |Extremes { shortest, longest }| {
            inside.clamp(shortest.as_secs_f64(), longest.as_secs_f64())
        })
    }

    /// The same, rounded down to the least duration of its cell: no more than it truly is.
    pub(crate) fn min_quantile(&self, quantile: f64) -> Option<f64> {
        let cells = self.cells.as_ref()?;
        let found = cells.value_at_quantile(quantile);
        Some(Self::seconds(cells.lowest_equivalent(found)))
    }

    /// The complementary distribution: for each duration in seconds that occurs, the share of all
    /// that exceed it.
    pub fn ccdf(&self) -> Vec<(f64, f64)> {
        let (n, mut seen) = (self.n() as f64, 0);
        let step = |(micros, count): (u64, u32)| {
            seen += u64::from(count);
            (micros as f64 / MICROS_PER_SECOND, 1.0 - seen as f64 / n)
        };
        self.occupied().map(step).collect()
    }

    fn cells(&mut self) -> &mut Cells<u32> {
        self.cells.get_or_insert_with(|| {
            Cells::new_with_bounds(1, MAX_MICROS, 3).expect("the bounds are right")
        })
    }

    /// The longest duration in seconds, rounded down to its cell; zero when nothing was counted.
    pub(crate) fn longest(&self) -> f64 {
        let lowest = |cells: &Cells<u32>| cells.lowest_equivalent(cells.max());
        self.cells.as_ref().map_or(0.0, |cells| Self::seconds(lowest(cells)))
    }

    /// The longest number of microseconds of the cell to which `duration` belongs.
    pub(crate) fn cell_of(duration: Duration) -> u64 {
        let micros = micros(duration).min(MAX_MICROS);
        micros | ((1 << width_bits(micros)) - 1)
    }

    /// The least number of microseconds of a cell, of which `micros` is one.
    pub(crate) fn lower_edge(micros: u64) -> u64 {
        micros >> width_bits(micros) << width_bits(micros)
    }

    /// Microseconds in seconds.
    pub(crate) fn seconds(micros: u64) -> f64 {
        micros as f64 / MICROS_PER_SECOND
    }

    /// The cells that are not empty: microseconds and count.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let cells = self.cells.iter().flat_map(|cells| cells.iter_recorded());
        cells.map(|cell| (cell.value_iterated_to(), cell.count_at_value()))
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram of {}", self.n())
    }
}

/// As it is written: pairs of microseconds and count, without cells that are empty, and the extremes in
/// nanoseconds. Earlier versions wrote the pairs alone.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Cells(Vec<(u64, u32)>),
    Whole { cells: Vec<(u64, u32)>, shortest_ns: u64, longest_ns: u64 },
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.occupied().collect();
        let stored = match self.extremes {
            None => Stored::Cells(cells),
            Some(Extremes { shortest, longest }) => {
                Stored::Whole { cells, shortest_ns: shortest.nanos(), longest_ns: longest.nanos() }
            }
        };
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Histogram::default();
        let cells = match Stored::deserialize(deserializer)? {
            Stored::Cells(cells) => cells,
            Stored::Whole { cells, shortest_ns, longest_ns } => {
                let [shortest, longest] = [shortest_ns, longest_ns].map(Duration::from_nanos);
                histogram.extremes = Some(Extremes { shortest, longest });
                cells
            }
        };
        for (micros, count) in cells {
            histogram.record_cell(micros, count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shortflow_units::Rng;

    fn from_durations(durations: &[Duration]) -> Histogram {
        let mut histogram = Histogram::default();
        durations.iter().for_each(|duration| histogram.record(*duration));
        histogram
    }

    /// Heavy-tailed durations from 2 ms up.
    fn durations(n: usize) -> Vec<Duration> {
        let mut rng = Rng::stream(1, "durations");
        (0..n).map(|_| Duration::from_secs_f64(rng.pareto(0.002, 1.1).min(9000.0))).collect()
    }

    #[test]
    fn percentiles_are_within_a_thousandth_of_those_of_the_sorted_durations() {
        let mut sorted = durations(10_000);
        let histogram = from_durations(&sorted);
        sorted.sort();
        for quantile in [0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            let rank = (quantile * 10_000.0_f64).ceil() as usize;
            let exact = sorted[rank - 1].as_secs_f64();
            let ours = histogram.quantile(quantile).unwrap();
            assert!((ours / exact - 1.0).abs() < 1e-3, "{quantile}: {ours} for {exact}");
        }
    }

    #[test]
    fn no_percentile_lies_beyond_the_shortest_and_the_longest_duration() {
        // The cell of 200,004.3 µs ends at 200,063 µs.
        let alike = from_durations(&[Duration::from_nanos(200_004_300); 50]);
        let mut joined = from_durations(&[Duration::from_nanos(200_004_300)]);
        joined.merge(&alike);
        for histogram in [alike, joined] {
            assert_eq!([0.01, 0.5, 1.0].map(|q| histogram.quantile(q)), [Some(0.200_004_3); 3]);
        }
    }

    #[test]
    fn those_of_one_cell_are_taken_to_be_spread_over_it() {
        // 100,032 to 100,095 µs are one cell; its median is in the middle, between 1 and 9 s the least.
        let mut many = vec![Duration::from_micros(100_040); 100];
        many.extend([Duration::from_micros(1), Duration::from_secs(9)]);
        let median = from_durations(&many).quantile(0.5).unwrap();
        assert!((median - 0.100_063_5).abs() < 1e-6, "{median}");
    }

    #[test]
    fn joining_histograms_gives_what_one_histogram_would() {
        let durations = durations(1000);
        let mut joined = from_durations(&durations[..300]);
        joined.merge(&from_durations(&durations[300..]));
        assert_eq!(joined, from_durations(&durations));
    }

    #[test]
    fn a_histogram_reads_back_as_it_was_written() {
        for histogram in [Histogram::default(), from_durations(&durations(500))] {
            let text = serde_json::to_string(&histogram).unwrap();
            assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        }
    }

    #[test]
    fn the_complementary_distribution_falls_to_zero_at_the_longest() {
        let histogram = from_durations(&[100, 200, 200, 400].map(Duration::from_micros));
        assert_eq!(histogram.ccdf(), [(0.0001, 0.75), (0.0002, 0.25), (0.0004, 0.0)]);
    }

    #[test]
    fn what_is_beyond_the_range_counts_at_its_end() {
        let histogram = from_durations(&[Duration::from_secs(1_000_000)]);
        assert_eq!(histogram.quantile(1.0), Some(1_000_000.0), "the longest is known");
        assert_eq!(from_durations(&[Duration::ZERO]).n(), 1);
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
    }
}
