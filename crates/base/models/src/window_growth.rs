//! The fairness between connections of different round trips, by the growth of their windows: Mehra, Tewari &
//! Kandlur, "Design considerations for rate control of aggregated TCP connections", 1999, §5.
//!
//! Between two drops, 1/p seconds apart, a window grows from half to the whole by g segments each round trip. The
//! text's first expression for R_i has one p too many before the bracket, and its mean round trip is printed as a sum
//! of R_i; correct are 1/(2·rtt)·(cwnd + 1/(p·rtt)) and Σ rtt_i/n. Holds in congestion avoidance, if drops hit all
//! connections at the same rate, and if g is at most one segment per acknowledgement.

use crate::{ModelError, Range};

/// How much a window grows each round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WindowGrowth {
    /// One segment: standard TCP.
    Standard,
    /// a·rtt² segments (Floyd 1991's constant rate), `a` in segments per second squared.
    ConstantRate {
        /// a.
        a: f64,
    },
    /// rtt²/rtt_av² segments: aggregate fair, `mean_rtt` in seconds.
    AggregateFair {
        /// rtt_av: see [`mean_rtt`].
        mean_rtt: f64,
    },
    /// K segments (Henderson et al. 1998).
    ByK {
        /// K.
        k: f64,
    },
}

impl WindowGrowth {
    /// g(rtt): segments each round trip of `rtt` seconds, above 0.
    pub fn per_round_trip(&self, rtt: f64) -> Result<f64, ModelError> {
        Range::above(0.0).check("the round-trip time in seconds", rtt)?;
        Ok(match *self {
            WindowGrowth::Standard => 1.0,
            WindowGrowth::ConstantRate { a } => {
                Range::above(0.0).check("a in segments per second squared", a)? * rtt * rtt
            }
            WindowGrowth::AggregateFair { mean_rtt } => {
                Range::above(0.0).check("the mean round-trip time in seconds", mean_rtt)?;
                (rtt / mean_rtt) * (rtt / mean_rtt)
            }
            WindowGrowth::ByK { k } => Range::above(0.0).check("K in segments", k)?,
        })
    }
}

/// The drops that connections on one link see.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drops {
    /// M̂ = Mp/λ: a connection's share of the link, at which its window loses, in segments per
    /// second.
    pub share: f64,
    /// p: drops that a connection sees per second.
    pub rate: f64,
}

/// R_i = M̂/2 + g(rtt)/(2p·rtt²): the throughput in segments per second of a connection with a round
/// trip of `rtt` seconds, above 0.
pub fn throughput(growth: WindowGrowth, drops: Drops, rtt: f64) -> Result<f64, ModelError> {
    Range::at_least(0.0).check("the share of the link in segments per second", drops.share)?;
    Range::above(0.0).check("the drops per second", drops.rate)?;
    let growth = growth.per_round_trip(rtt)?;
    Ok(drops.share / 2.0 + growth / (2.0 * drops.rate * rtt * rtt))
}

/// rtt_av: the mean of round trips, each above 0; in seconds, as they are.
pub fn mean_rtt(round_trips: &[f64]) -> Result<f64, ModelError> {
    Range::at_least(1.0).check("the number of connections", round_trips.len() as f64)?;
    let mut sum = 0.0;
    for rtt in round_trips {
        sum += Range::above(0.0).check("the round-trip time in seconds", *rtt)?;
    }
    Ok(sum / round_trips.len() as f64)
}

/// Jain's index of `values`, each from 0 and not all 0: (Σx)²/(nΣx²), from 1/n to 1. Of rates R_i over
/// their max–min shares s_i, the form of §4, it tells how far they are from those shares.
pub fn jain(values: impl IntoIterator<Item = f64>) -> Result<f64, ModelError> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        Range::at_least(0.0).check("a rate", value)?;
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    Range::above(0.0).check("the sum of the rates", sum)?;
    Ok(sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DROPS: Drops = Drops { share: 20.0, rate: 0.5 };
    /// The round trips of §4: 50, 300 and 600 ms.
    const ROUND_TRIPS: [f64; 3] = [0.05, 0.3, 0.6];

    fn rates(growth: WindowGrowth) -> [f64; 3] {
        ROUND_TRIPS.map(|rtt| throughput(growth, DROPS, rtt).unwrap())
    }

    /// Between drops 2 s apart the window grows from 20 by one each 0.05 s to twice that: 40 rounds,
    /// 1200 segments; a share of 40/0.05 = 800 segments per second at which it loses.
    #[test]
    fn a_saw_tooth_played_by_hand_has_the_throughput_of_the_formula() {
        let rtt = 0.05;
        let drops = Drops { share: 2.0 / (0.5 * rtt * rtt), rate: 0.5 };
        let top = drops.share * rtt;
        let rounds = 1.0 / (drops.rate * rtt);
        assert!((top - 2.0 * rounds).abs() < 1e-9);
        let sent = (top / 2.0 + top) / 2.0 * rounds;
        let model = throughput(WindowGrowth::Standard, drops, rtt).unwrap();
        assert!((model - sent * drops.rate).abs() < 1e-9, "{model}");
    }

    #[test]
    fn long_round_trips_get_less_unless_windows_grow_with_their_square() {
        let standard = rates(WindowGrowth::Standard);
        assert!(standard[0] > 10.0 * standard[1] && standard[1] > standard[2]);
        let mean_rtt = mean_rtt(&ROUND_TRIPS).unwrap();
        let fair = rates(WindowGrowth::AggregateFair { mean_rtt });
        assert!((fair[0] - fair[2]).abs() < 1e-9);
        assert!((jain(fair).unwrap() - 1.0).abs() < 1e-12);
        assert!(jain(standard).unwrap() < 0.5);
    }

    #[test]
    fn an_aggregate_takes_as_much_as_so_many_connections_of_the_mean_round_trip() {
        let mean_rtt = mean_rtt(&ROUND_TRIPS).unwrap();
        let aggregate: f64 = rates(WindowGrowth::AggregateFair { mean_rtt }).iter().sum();
        let of_the_mean = throughput(WindowGrowth::Standard, DROPS, mean_rtt).unwrap();
        assert!((aggregate - 3.0 * of_the_mean).abs() < 1e-9);
    }

    #[test]
    fn a_connection_of_the_mean_round_trip_grows_by_one_and_others_by_more_or_less() {
        let growth = WindowGrowth::AggregateFair { mean_rtt: 0.3 };
        assert!((growth.per_round_trip(0.3).unwrap() - 1.0).abs() < 1e-12);
        assert!((growth.per_round_trip(0.6).unwrap() - 4.0).abs() < 1e-12);
        assert!(growth.per_round_trip(0.05).unwrap() < 1.0);
        let same = WindowGrowth::ConstantRate { a: 1.0 / 0.09 };
        assert!((same.per_round_trip(0.6).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(WindowGrowth::ByK { k: 2.0 }.per_round_trip(0.6), Ok(2.0));
    }

    #[test]
    fn jains_index_of_two_rates_of_which_one_is_nothing_is_a_half() {
        assert!((jain([4.0, 0.0]).unwrap() - 0.5).abs() < 1e-12);
        assert!(jain([0.0, 0.0]).is_err());
        assert!(mean_rtt(&[]).is_err());
        assert!(throughput(WindowGrowth::Standard, DROPS, 0.0).is_err());
    }
}
