//! Response times when those who have been served least go first: Kleinrock, *Queueing Systems*,
//! volume 2, 1976, §§4.5 and 4.7 (foreground-background, and levels of first come first served), with
//! packets that are not interrupted, as DSTF's (Guo, Zhu, Zhang & Zhang 2005, §2.2).
//!
//! Holds for Poisson arrivals of flows whose packets arrive all at once; TCP's windows and round trips are not
//! included.

use crate::sizes::Sizes;
use crate::{ModelError, Range};

/// Flows that come to a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals<'a, S> {
    /// λ: flows per second, from 0.
    pub rate: f64,
    /// How large they are, in the unit of `capacity` per second.
    pub sizes: &'a S,
    /// What the line sends per second, above 0.
    pub capacity: f64,
}

impl<S: Sizes> Arrivals<'_, S> {
    /// The mean response time in seconds of a flow of `size`, above 0, when whoever has had least is
    /// served, in pieces of no size: λE\[X_x²\]/2(1 − ρ_x)² + x/(1 − ρ_x), with X_x = min(X, x)
    /// (Kleinrock 1976, eq. 4.29). A load of flows up to `size` of 1 or more is refused; that of all may
    /// be more.
    pub fn continuous(&self, size: f64) -> Result<f64, ModelError> {
        let seconds = self.check(size)?;
        let load = self.load_up_to(size)?;
        let ahead = self.residual_up_to(size)?;
        Ok(ahead / ((1.0 - load) * (1.0 - load)) + seconds / (1.0 - load))
    }

    /// The mean response time in seconds of a flow of `size`, above 0, when what a flow sends beyond
    /// each of `thresholds`, rising, goes to the next lower level, levels are served first come first
    /// served, and a packet of size `packet` is not interrupted:
    /// (W + x − b)/(1 − ρ_{i−1}) + b with W = (λE\[X_i²\] + (ρ − ρ_i)·b)/2(1 − ρ_i), where X_i is a size
    /// up to the upper end of level i, in which the flow ends, and b is a packet's time.
    ///
    /// Kleinrock's §4.7 with the residual packet of lower levels, that of Cobham, and a last packet
    /// that nobody cuts short. Sizes and thresholds are whole packets. Refuses a load of 1 or more up to
    /// the flow's level, and a lowest level whose sizes have no second moment. Linear in the levels.
    pub fn levels(&self, thresholds: &[f64], packet: f64, size: f64) -> Result<f64, ModelError> {
        let seconds = self.check(size)?;
        Range::between(0.0, f64::INFINITY).check("the size of a packet", packet)?;
        Range::from_to(0.0, size).check("the size of a packet", packet)?;
        let (mut below, mut above) = (0.0, f64::INFINITY);
        let mut last = 0.0;
        for threshold in thresholds {
            Range::above(last).check("a threshold, after the one before,", *threshold)?;
            last = *threshold;
            if last < size {
                below = last;
            } else if above.is_infinite() {
                above = last;
            }
        }
        let load = self.load_up_to(above)?;
        // Lower levels fill what time is left, and no more.
        let all = (self.rate * self.sizes.mean_up_to(f64::INFINITY) / self.capacity).min(1.0);
        let packet = packet / self.capacity;
        let residual = self.residual_up_to(above)? + (all - load) * packet / 2.0;
        let wait = residual / (1.0 - load);
        Ok((wait + seconds - packet) / (1.0 - self.load_up_to(below)?) + packet)
    }

    /// The time that a flow of `size` takes on the line alone.
    fn check(&self, size: f64) -> Result<f64, ModelError> {
        Range::at_least(0.0).check("the arrival rate per second", self.rate)?;
        Range::above(0.0).check("the capacity per second", self.capacity)?;
        Range::above(0.0).check("the size of a flow", size)?;
        Ok(size / self.capacity)
    }

    /// ρ_x.
    fn load_up_to(&self, bound: f64) -> Result<f64, ModelError> {
        let load = self.rate * self.sizes.mean_up_to(bound) / self.capacity;
        Range::from_to_below(0.0, 1.0).check("the load up to the flow's level", load)
    }

    /// λE\[X_x²\]/2, in seconds.
    fn residual_up_to(&self, bound: f64) -> Result<f64, ModelError> {
        if self.rate == 0.0 {
            return Ok(0.0);
        }
        let square = self.sizes.square_up_to(bound);
        Range::at_least(0.0).check("the second moment of sizes up to the flow's level", square)?;
        Ok(self.rate * square / (self.capacity * self.capacity) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::{Choice, Exponential, Pareto};
    use std::collections::VecDeque;

    #[test]
    fn an_idle_line_takes_as_long_as_the_flow() {
        let sizes = Pareto::new(3.0, 1.2).unwrap();
        let idle = Arrivals { rate: 0.0, sizes: &sizes, capacity: 2.0 };
        assert!((idle.continuous(10.0).unwrap() - 5.0).abs() < 1e-12);
        assert!((idle.levels(&[5.0, 20.0], 1.0, 10.0).unwrap() - 5.0).abs() < 1e-12);
    }

    #[test]
    fn one_level_is_the_queue_of_pollaczek_and_khinchine() {
        let sizes = Choice::new(&[(1.0, 0.9), (11.0, 0.1)]).unwrap();
        let arrivals = Arrivals { rate: 0.4, sizes: &sizes, capacity: 1.0 };
        // ρ = 0.8, E[X²] = 13: a wait of 0.4·13/2/0.2 = 13.
        assert!((arrivals.levels(&[], 1.0, 11.0).unwrap() - 24.0).abs() < 1e-12);
    }

    #[test]
    fn levels_as_fine_as_their_packets_come_to_the_continuous_scheme() {
        let sizes = Exponential::new(1.0).unwrap();
        let arrivals = Arrivals { rate: 0.7, sizes: &sizes, capacity: 1.0 };
        let step = 0.001;
        let thresholds: Vec<f64> = (1..10_000).map(|n| f64::from(n) * step).collect();
        for size in [0.5, 2.0, 5.0] {
            let fine = arrivals.levels(&thresholds, 1e-6, size).unwrap();
            let continuous = arrivals.continuous(size).unwrap();
            assert!((fine / continuous - 1.0).abs() < 0.01, "{size}: {fine} {continuous}");
        }
    }

    /// The mean over sizes of exponential flows is that of any scheme that does not know sizes:
    /// 1/(μ − λ) (Kleinrock 1976, §4.2's conservation law).
    #[test]
    fn exponential_flows_take_on_the_average_what_they_take_in_any_order() {
        let sizes = Exponential::new(1.0).unwrap();
        let arrivals = Arrivals { rate: 0.6, sizes: &sizes, capacity: 1.0 };
        let step = 0.001;
        let mean: f64 = (0..40_000)
            .map(|n| {
                let x = (f64::from(n) + 0.5) * step;
                arrivals.continuous(x).unwrap() * libm::exp(-x) * step
            })
            .sum();
        assert!((mean - 2.5).abs() < 0.001, "{mean}");
    }

    /// Plays packets through levels: each is served to its end, the uppermost level first.
    fn played(rate: f64, thresholds: [usize; 2], kinds: &[(usize, f64)], flows: usize) -> Vec<f64> {
        let mut state = 0x5eed_5eed_u64;
        let mut dice = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut levels: [VecDeque<(usize, bool)>; 3] = Default::default();
        let mut arrived = Vec::new();
        let mut sums = vec![(0.0, 0.0); kinds.len()];
        let (mut now, mut next) = (0.0f64, 0.0f64);
        loop {
            while next <= now && arrived.len() < flows {
                let mut draw = dice();
                let kind = kinds.iter().position(|(_, share)| {
                    draw -= share;
                    draw < 0.0
                });
                let kind = kind.unwrap_or(kinds.len() - 1);
                for packet in 0..kinds[kind].0 {
                    let level = thresholds.iter().filter(|bound| packet >= **bound).count();
                    levels[level].push_back((arrived.len(), packet + 1 == kinds[kind].0));
                }
                arrived.push((next, kind));
                next -= libm::log1p(-dice()) / rate;
            }
            let Some((flow, is_last)) = levels.iter_mut().find_map(VecDeque::pop_front) else {
                if arrived.len() == flows {
                    break;
                }
                now = next;
                continue;
            };
            now += 1.0;
            if is_last {
                let (at, kind): (f64, usize) = arrived[flow];
                sums[kind].0 += now - at;
                sums[kind].1 += 1.0;
            }
        }
        sums.into_iter().map(|(sum, count)| sum / count).collect()
    }

    #[test]
    fn packets_played_through_three_levels_take_the_mean_times_of_the_model() {
        let kinds = [(2, 0.6), (8, 0.3), (30, 0.1)];
        let pairs: Vec<(f64, f64)> =
            kinds.iter().map(|(size, share)| (*size as f64, *share)).collect();
        let sizes = Choice::new(&pairs).unwrap();
        // A mean of 6.6 packets: a load of 0.66.
        let arrivals = Arrivals { rate: 0.1, sizes: &sizes, capacity: 1.0 };
        let means = played(0.1, [4, 12], &kinds, 400_000);
        for ((size, _), mean) in kinds.iter().zip(means) {
            let model = arrivals.levels(&[4.0, 12.0], 1.0, *size as f64).unwrap();
            assert!((mean / model - 1.0).abs() < 0.02, "{size}: {mean} against {model}");
        }
    }

    #[test]
    fn more_load_is_never_faster() {
        let sizes = Pareto::new(3.0, 1.2).unwrap();
        let mut last = [0.0; 2];
        for rate in [0.0, 0.01, 0.02, 0.03, 0.04, 0.05] {
            let arrivals = Arrivals { rate, sizes: &sizes, capacity: 1.0 };
            let times = [
                arrivals.continuous(50.0).unwrap(),
                arrivals.levels(&[5.0, 100.0], 1.5, 50.0).unwrap(),
            ];
            assert!(times[0] > last[0] && times[1] > last[1], "{rate}: {times:?}");
            last = times;
        }
    }

    #[test]
    fn overload_by_long_flows_leaves_short_ones_a_mean_and_long_ones_none() {
        let sizes = Choice::new(&[(1.0, 0.5), (1000.0, 0.5)]).unwrap();
        let arrivals = Arrivals { rate: 0.1, sizes: &sizes, capacity: 1.0 };
        assert!(arrivals.levels(&[1.0], 1.0, 1.0).unwrap() < 2.0);
        assert!(arrivals.levels(&[1.0], 1.0, 1000.0).is_err());
        assert!(arrivals.continuous(1000.0).is_err());
    }

    #[test]
    fn a_lowest_level_of_sizes_without_a_second_moment_is_refused() {
        let sizes = Pareto::new(3.0, 1.2).unwrap();
        let arrivals = Arrivals { rate: 0.01, sizes: &sizes, capacity: 1.0 };
        assert!(arrivals.levels(&[100.0], 1.0, 50.0).is_ok());
        assert!(arrivals.levels(&[100.0], 1.0, 150.0).is_err());
        assert!(arrivals.levels(&[20.0, 10.0], 1.0, 5.0).is_err());
    }
}
