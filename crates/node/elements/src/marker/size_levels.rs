//! Priority levels by a number of bytes.

use shortflow_packet::{Dscp, ObjectView, Packet};
use shortflow_units::Bytes;

use crate::meter::bucket::Tokens;
use crate::{Color, ParamsError};

/// N − 1 rising thresholds and N code points, the best first. A number of bytes has the first level whose
/// threshold it does not exceed, or the last level.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeLevels {
    thresholds: Vec<Tokens>,
    code_points: Vec<Dscp>,
}

impl SizeLevels {
    /// The thresholds of Guo et al. 2005, §2.2 (thresh_2 … thresh_8), which make eight levels.
    pub const HARP: [Bytes; 7] = [
        Bytes(5_000),
        Bytes(10_000),
        Bytes(20_000),
        Bytes(40_000),
        Bytes(100_000),
        Bytes(300_000),
        Bytes(1_200_000),
    ];

    /// 1 to 63 `thresholds`, each above the previous one, and one code point more than thresholds, the best
    /// level's first.
    pub fn new(thresholds: &[Bytes], code_points: Vec<Dscp>) -> Result<Self, ParamsError> {
        let max = Dscp::COUNT - 1;
        if thresholds.is_empty() || thresholds.len() > max {
            let message =
                format!("thresholds must be 1 to {max} sizes; found {}", thresholds.len());
            return Err(ParamsError::new("thresholds", message));
        }
        if let Some(pair) = thresholds.windows(2).find(|pair| pair[0] >= pair[1]) {
            let message = format!("thresholds must rise; {} is not below {}", pair[0], pair[1]);
            return Err(ParamsError::new("thresholds", message));
        }
        if code_points.len() != thresholds.len() + 1 {
            let message = format!(
                "code_points must have {} entries, one more than thresholds; found {}",
                thresholds.len() + 1,
                code_points.len()
            );
            return Err(ParamsError::new("code_points", message));
        }
        Ok(SizeLevels {
            thresholds: thresholds.iter().copied().map(Tokens::from_bytes).collect(),
            code_points,
        })
    }

    /// The default code points for `levels` levels, 1 to 64; the last is best effort. Up to eight levels use
    /// the class selectors down to CS0, so eight use CS7 to CS0 (RFC 2474 §4.2.2: higher ones are served
    /// sooner). More levels use the numbers from `levels` − 1 down to 0.
    pub fn default_code_points(levels: usize) -> Vec<Dscp> {
        let step = if levels <= 8 { 8 } else { 1 };
        let numbers = (0..levels.min(Dscp::COUNT) as u8).rev();
        numbers.filter_map(|level| Dscp::new(step * level)).collect()
    }

    /// `count` thresholds in geometric progression from `first` to `last`, rounded to whole bytes.
    pub fn geometric(first: Bytes, last: Bytes, count: usize) -> Result<Vec<Bytes>, ParamsError> {
        let max = Dscp::COUNT - 1;
        if !(2..=max).contains(&count) {
            let message = format!("count must be 2 to {max}; found {count}");
            return Err(ParamsError::new("count", message));
        }
        let ratio = last.0 as f64 / first.0 as f64;
        let size = |step: usize| {
            let power = step as f64 / (count - 1) as f64;
            Bytes(libm::round(first.0 as f64 * libm::pow(ratio, power)) as u64)
        };
        let sizes: Vec<Bytes> = (0..count).map(size).collect();
        if first == Bytes::ZERO || sizes.windows(2).any(|pair| pair[0] >= pair[1]) {
            let message = format!(
                "no geometric series of {count} rising whole sizes leads from {first} to {last}"
            );
            return Err(ParamsError::new("count", message));
        }
        Ok(sizes)
    }

    /// The code points, the best level's first.
    pub fn code_points(&self) -> &[Dscp] {
        &self.code_points
    }

    /// The threshold above which the last level starts.
    pub(super) fn last_threshold(&self) -> Tokens {
        self.thresholds.last().copied().unwrap_or_default()
    }

    /// The index of the last level.
    pub(super) fn last(&self) -> usize {
        self.thresholds.len()
    }

    /// The level of `amount`, by bisection: at most six steps.
    #[inline]
    pub(super) fn level(&self, amount: Tokens) -> usize {
        self.thresholds.partition_point(|threshold| *threshold < amount)
    }

    /// The level of a packet of an object: by the application's thresholds, or by its bytes sent and these.
    #[inline]
    pub(super) fn level_in(&self, object: ObjectView) -> usize {
        let by_bytes = || self.level(Tokens::from_bytes(object.sent));
        object.level.map_or_else(by_bytes, |level| usize::from(level).min(self.last()))
    }

    /// Marks `packet` with the code point of `level`. The best level is green, the last red.
    #[inline]
    pub(super) fn mark(&self, level: usize, packet: &mut Packet) -> Color {
        packet.dscp = self.code_points[level];
        match level {
            0 => Color::Green,
            level if level == self.last() => Color::Red,
            _ => Color::Yellow,
        }
    }

    /// The largest number of bytes of priority 1, 2 and so on.
    pub fn thresholds(&self) -> Vec<Bytes> {
        self.thresholds.iter().map(|threshold| threshold.bytes()).collect()
    }
}

/// Packets and bytes of each level.
#[derive(Debug, Clone)]
pub(super) struct LevelCounts([(u64, u64); Dscp::COUNT]);

impl Default for LevelCounts {
    fn default() -> Self {
        LevelCounts([(0, 0); Dscp::COUNT])
    }
}

impl LevelCounts {
    #[inline]
    pub(super) fn count(&mut self, level: usize, packet: &Packet) {
        let (packets, bytes) = &mut self.0[level];
        *packets += 1;
        *bytes += u64::from(packet.size);
    }

    /// Visits the counters of `levels` levels. Priority 1 is the best.
    pub(super) fn show(&self, levels: usize, visit: &mut dyn FnMut(&'static str, u64)) {
        for (level, (packets, bytes)) in self.0.iter().take(levels).enumerate() {
            visit(PACKETS[level], *packets);
            visit(BYTES[level], *bytes);
        }
    }
}

macro_rules! names {
    ($what:literal: $($level:literal)*) => { [$(concat!("priority ", $level, " ", $what)),*] };
}

const PACKETS: [&str; Dscp::COUNT] = names!("packets":
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
const BYTES: [&str; Dscp::COUNT] = names!("bytes":
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_the_first_level_whose_threshold_it_does_not_exceed() {
        let code_points = SizeLevels::default_code_points(8);
        let levels = SizeLevels::new(&SizeLevels::HARP, code_points).unwrap();
        let level = |bytes| levels.level(Tokens::from_bytes(Bytes(bytes)));
        assert_eq!([0, 5_000, 5_001, 10_000, 10_001].map(level), [0, 0, 1, 1, 2]);
        assert_eq!([300_000, 300_001, 1_200_000, 1_200_001].map(level), [5, 6, 6, 7]);
    }

    #[test]
    fn the_last_of_the_default_code_points_is_best_effort() {
        let names = |levels| {
            let points = SizeLevels::default_code_points(levels);
            points.iter().map(Dscp::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(8), "CS7 CS6 CS5 CS4 CS3 CS2 CS1 BE");
        assert_eq!(names(2), "CS1 BE");
        assert_eq!(names(9), "CS1 7 6 5 4 3 2 LE BE");
        assert_eq!(SizeLevels::default_code_points(64).len(), 64);
    }

    #[test]
    fn a_geometric_progression_ends_where_it_should() {
        let of = |first, last, count| SizeLevels::geometric(Bytes(first), Bytes(last), count);
        assert_eq!(of(1_000, 8_000, 4).unwrap(), [1_000, 2_000, 4_000, 8_000].map(Bytes));
        let many = of(1_500, 100_000_000, 63).unwrap();
        assert_eq!((many[0], many[62]), (Bytes(1_500), Bytes(100_000_000)));
        let refused = |first, last, count| of(first, last, count).unwrap_err().to_string();
        assert_eq!(
            refused(1, 9, 63),
            "no geometric series of 63 rising whole sizes leads from 1 B to 9 B"
        );
        assert_eq!(
            refused(9, 1, 3),
            "no geometric series of 3 rising whole sizes leads from 9 B to 1 B"
        );
        assert_eq!(
            refused(0, 9, 3),
            "no geometric series of 3 rising whole sizes leads from 0 B to 9 B"
        );
        assert_eq!(refused(1, 9, 64), "count must be 2 to 63; found 64");
    }

    #[test]
    fn levels_that_cannot_be_are_refused() {
        let refused = |sizes: &[u64], code_points| {
            let sizes: Vec<_> = sizes.iter().copied().map(Bytes).collect();
            let code_points = SizeLevels::default_code_points(code_points);
            SizeLevels::new(&sizes, code_points).unwrap_err().to_string()
        };
        assert_eq!(refused(&[], 1), "thresholds must be 1 to 63 sizes; found 0");
        assert_eq!(refused(&[7, 7], 3), "thresholds must rise; 7 B is not below 7 B");
        assert_eq!(
            refused(&[7, 8], 2),
            "code_points must have 3 entries, one more than thresholds; found 2"
        );
    }
}
