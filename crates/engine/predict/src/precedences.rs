//! SIMA: marks by the momentary rate against the nominal one, and two buffers that drop by how full they are (Kilkki 1997;
//! Laatu, Harju & Loula 2003, §2).

use shortflow_elements::Color;
use shortflow_elements::classifier::SimaClass;
use shortflow_elements::queue::{PrecedenceMap, SimaQueueParams};
use shortflow_packet::Dscp;

use crate::band::FOLLOWING_WEIGHT;

/// How many drop precedences there are.
pub(crate) const PRECEDENCES: usize = SimaClass::PRECEDENCES;

/// The best that a marker writes.
const BEST: usize = 6;

/// By how much of a doubling momentary rates lie above and below their mean, about.
const SPREAD: f64 = 0.5;

/// The share of the packets of a stream that have a precedence, when its mean rate is so many times the nominal one: that of
/// x = 4.5 − log₂(MBR/NBR), rounded down, with x spread evenly about its mean.
pub(crate) fn share(precedence: usize, times_nominal: f64) -> f64 {
    let x = 4.5 - libm::log2(times_nominal.max(f64::MIN_POSITIVE));
    let above = |limit: usize| match limit {
        0 => 1.0,
        _ if limit > BEST => 0.0,
        limit => ((x + SPREAD - limit as f64) / (2.0 * SPREAD)).clamp(0.0, 1.0),
    };
    above(precedence) - above(precedence + 1)
}

/// The colour of a precedence.
pub(crate) fn color(precedence: usize) -> Color {
    match precedence {
        0 => Color::Red,
        BEST => Color::Green,
        _ => Color::Yellow,
    }
}

/// From which occupancy of the fuller buffer on packets of each precedence are dropped: below the allowed one; else in words
/// what has no closed form.
pub(crate) fn thresholds(params: &SimaQueueParams) -> Result<[f64; PRECEDENCES], String> {
    let buffers = [params.real_time(), params.non_real_time()];
    if buffers.iter().any(|buffer| buffer.weight() < FOLLOWING_WEIGHT) {
        return Err("a `sima` queue whose averages are over many packets".to_owned());
    }
    let max = PRECEDENCES as f64;
    match params.map() {
        // ⌈7·o⌉ > p where o > p/7; ⌊8·o⌋ > p where o ≥ (p + 1)/8.
        PrecedenceMap::CeilingOfGreater => {
            Ok(std::array::from_fn(|precedence| precedence as f64 / (max - 1.0)))
        }
        PrecedenceMap::FloorOfGreater => {
            Ok(std::array::from_fn(|precedence| (precedence + 1) as f64 / max))
        }
        PrecedenceMap::CeilingOfMean | PrecedenceMap::FloorOfMean => {
            Err("a `sima` queue that uses the mean of its buffers".to_owned())
        }
    }
}

/// The buffer of a code point, 0 in real time, and its precedence.
pub(crate) fn place(params: &SimaQueueParams, dscp: Dscp) -> (usize, usize) {
    let buffers = [params.real_time(), params.non_real_time()];
    let named = buffers.iter().enumerate().find_map(|(buffer, one)| {
        Some((buffer, one.code_points().iter().position(|known| *known == dscp)?))
    });
    named.unwrap_or((1, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the nominal rate x is 4.5: all have precedence 4. At its double half have 3, half 4 less a spread: x = 3.5.
    #[test]
    fn each_doubling_of_the_rate_takes_a_precedence() {
        let shares = |times: f64| (0..7).map(|at| share(at, times)).collect::<Vec<_>>();
        assert_eq!(shares(1.0), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(shares(2.0), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        // √2 times the nominal rate is the limit between both.
        let limit = shares(std::f64::consts::SQRT_2);
        assert!((limit[3] - 0.5).abs() < 1e-12 && (limit[4] - 0.5).abs() < 1e-12, "{limit:?}");
        assert_eq!(shares(0.01)[6], 1.0);
        assert_eq!(shares(1e6)[0], 1.0);
        for times in [0.1, 0.7, 3.0, 20.0] {
            assert!((shares(times).iter().sum::<f64>() - 1.0).abs() < 1e-12, "{times}");
        }
    }
}
