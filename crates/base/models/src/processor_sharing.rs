//! Response times when all flows share a line equally, as with fair queues: Kleinrock, *Queueing Systems*, volume 2,
//! 1976, §4.4; with permanent flows, van den Berg & Boxma, *Queueing Systems* 9, 1991; with access links slower than
//! the line, Lindberger, ITC 16, 1999.
//!
//! Holds for Poisson arrivals and flows that use their whole share; TCP's windows and round trips are not included.
//! Only the mean size matters, not its distribution.

use crate::{ModelError, Range};

/// A line that flows share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedLine {
    load: f64,
    capacity: f64,
    permanent: f64,
}

impl SharedLine {
    /// `arrival_rate` λ flows per second, from 0, of `mean_size`, above 0, in the unit of `capacity` per
    /// second, above 0; `permanent` flows, from 0, are always there. The load λ·E\[X\]/C must be below 1.
    pub fn new(
        arrival_rate: f64,
        mean_size: f64,
        capacity: f64,
        permanent: f64,
    ) -> Result<Self, ModelError> {
        Range::at_least(0.0).check("the arrival rate per second", arrival_rate)?;
        Range::above(0.0).check("the mean size of a flow", mean_size)?;
        Range::above(0.0).check("the capacity per second", capacity)?;
        Range::at_least(0.0).check("the number of permanent flows", permanent)?;
        let load = arrival_rate * mean_size / capacity;
        Range::from_to_below(0.0, 1.0).check("the load", load)?;
        Ok(SharedLine { load, capacity, permanent })
    }

    /// ρ of the flows that come and go.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// How many times longer a flow takes than alone: (K + 1)/(1 − ρ) with K permanent flows.
    pub fn slowdown(&self) -> f64 {
        (self.permanent + 1.0) / (1.0 - self.load)
    }

    /// The mean response time in seconds of a flow of `size`, above 0, given its size.
    pub fn response_time(&self, size: f64) -> Result<f64, ModelError> {
        Range::above(0.0).check("the size of a flow", size)?;
        Ok(size / self.capacity * self.slowdown())
    }

    /// The mean number of flows that come and go: ρ(K + 1)/(1 − ρ), by Little's law.
    pub fn mean_flows(&self) -> f64 {
        self.load * self.slowdown()
    }

    /// What each permanent flow gets per second on average, with at least one: what the others
    /// leave, in equal parts.
    pub fn permanent_rate(&self) -> Result<f64, ModelError> {
        Range::at_least(1.0).check("the number of permanent flows", self.permanent)?;
        Ok(self.capacity * (1.0 - self.load) / self.permanent)
    }
}

/// The mean response time in seconds of a flow of `size` whose access link carries `access` per second,
/// at most `capacity`, on a line of this `load` that so many such links share: x/r·(1 + C(R, ρ)/(R(1 −
/// ρ))) with R = C/r servers, rounded down, and Erlang's delay probability C(R, ρ) of them
/// (Lindberger 1999). With an access link as fast as the line it is processor sharing.
///
/// `load` from 0 to below 1. Linear in R.
pub fn access_limited_time(
    load: f64,
    capacity: f64,
    access: f64,
    size: f64,
) -> Result<f64, ModelError> {
    Range::from_to_below(0.0, 1.0).check("the load", load)?;
    Range::above(0.0).check("the capacity per second", capacity)?;
    Range::above(0.0).check("the rate of the access link per second", access)?;
    Range::from_to(0.0, capacity).check("the rate of the access link per second", access)?;
    Range::above(0.0).check("the size of a flow", size)?;
    let servers = Range::from_to(1.0, 1e6)
        .check("the number of access links that fill the line", (capacity / access).floor())?;
    let waiting = erlang_delay(servers, servers * load);
    Ok(size / access * (1.0 + waiting / (servers * (1.0 - load))))
}

/// The mean time that a flow takes for a unit of data where it crosses several lines and gets the least of its shares: the
/// mean of the greatest of tᵢ(1 + Nᵢ), where each line i takes `alone` tᵢ for it, and `shared` tᵢ(1 + E\[Nᵢ\]) with the other
/// flows there. Their numbers Nᵢ are geometric, as those of a line that flows share are (Kleinrock 1976, §4.4), and count as
/// independent of one another. One line, or one that is always the slowest, gives its own mean.
///
/// Each is a pair (`alone`, `shared`) with 0 < `alone` ≤ `shared`. Linear in the shares that matter, and in lines.
pub fn min_share_time(lines: &[(f64, f64)]) -> Result<f64, ModelError> {
    for (alone, shared) in lines {
        Range::above(0.0).check("the time alone at a line", *alone)?;
        Range::at_least(*alone).check("the time with others at a line", *shared)?;
    }
    let loads: Vec<(f64, f64)> =
        lines.iter().map(|(alone, shared)| (*alone, 1.0 - alone / shared)).collect();
    let [.., _] = loads[..] else { return Ok(0.0) };
    // The greatest is above x unless all are up to it: ∫ 1 − Π P(Xᵢ ≤ x) dx, piece by piece between the values of any.
    let mut values: Vec<f64> = Vec::new();
    for (alone, load) in &loads {
        let mut left = 1.0;
        for number in 1..=MAX_SHARES {
            values.push(alone * f64::from(number));
            left *= load;
            if left < NEGLIGIBLE {
                break;
            }
        }
    }
    values.sort_by(f64::total_cmp);
    let (mut mean, mut from) = (0.0, 0.0);
    for to in values {
        let middle = f64::midpoint(from, to);
        let up_to = loads.iter().map(|(alone, load)| {
            let number = (middle / alone).floor();
            if number < 1.0 { 0.0 } else { 1.0 - libm::pow(*load, number) }
        });
        mean += (to - from) * (1.0 - up_to.product::<f64>());
        from = to;
    }
    Ok(mean)
}

/// The maximum number of flows that are counted at a line, and the probability of more, which is neglected.
const MAX_SHARES: u32 = 20_000;
const NEGLIGIBLE: f64 = 1e-9;

/// Erlang's C: the probability of waiting for one of `servers` at an `offered` load below them, by the
/// recursion of his B.
fn erlang_delay(servers: f64, offered: f64) -> f64 {
    let mut blocked = 1.0;
    for n in 1..=servers as u32 {
        blocked = offered * blocked / (f64::from(n) + offered * blocked);
    }
    blocked / (1.0 - offered / servers * (1.0 - blocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_at_four_fifths_takes_five_times_as_long_with_four_flows_on_it() {
        let line = SharedLine::new(80.0, 100.0, 10_000.0, 0.0).unwrap();
        assert!((line.response_time(100.0).unwrap() - 0.05).abs() < 1e-12);
        assert!((line.mean_flows() - 4.0).abs() < 1e-9);
        let idle = SharedLine::new(0.0, 100.0, 10_000.0, 0.0).unwrap();
        assert!((idle.response_time(100.0).unwrap() - 0.01).abs() < 1e-15);
    }

    /// Plays flows that share a line of 1 per second, sizes 1 or 5, `permanent` flows beside them; the
    /// mean response time of each size.
    fn played(rate: f64, permanent: f64, flows: u32) -> [f64; 2] {
        let mut state = 0xfa1e_d1ce_u64;
        let mut dice = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
        };
        // Left to send, when it came, which size.
        let mut active: Vec<(f64, f64, usize)> = Vec::new();
        let mut sums = [(0.0, 0.0); 2];
        let (mut now, mut next, mut came) = (0.0, 0.0, 0);
        while came < flows || !active.is_empty() {
            let share = 1.0 / (active.len() as f64 + permanent);
            let first = active.iter().map(|flow| flow.0).fold(f64::INFINITY, f64::min);
            let done = now + first / share;
            let until = if came < flows { done.min(next) } else { done };
            for flow in &mut active {
                flow.0 -= (until - now) * share;
            }
            now = until;
            active.retain(|(left, at, kind)| {
                let is_done = *left < 1e-9;
                if is_done {
                    sums[*kind].0 += now - at;
                    sums[*kind].1 += 1.0;
                }
                !is_done
            });
            if came < flows && now >= next {
                let kind = usize::from(dice() < 0.25);
                active.push((if kind == 1 { 5.0 } else { 1.0 }, now, kind));
                next -= libm::log1p(-dice()) / rate;
                came += 1;
            }
        }
        sums.map(|(sum, count)| sum / count)
    }

    #[test]
    fn flows_played_on_a_shared_line_take_the_mean_times_of_the_model() {
        // A mean size of 2: loads of 0.6, and of 0.4 beside two that stay.
        for (rate, permanent) in [(0.3, 0.0), (0.2, 2.0)] {
            let line = SharedLine::new(rate, 2.0, 1.0, permanent).unwrap();
            let means = played(rate, permanent, 200_000);
            for (mean, size) in means.into_iter().zip([1.0, 5.0]) {
                let model = line.response_time(size).unwrap();
                assert!((mean / model - 1.0).abs() < 0.03, "{size}: {mean} against {model}");
            }
        }
    }

    #[test]
    fn the_least_of_several_shares_is_that_of_the_slowest_or_less() {
        // Of one line, its own mean.
        assert!((min_share_time(&[(2.0, 10.0)]).unwrap() - 10.0).abs() < 1e-6);
        // Two at a load of a half: 1 + Σ (2·½ⁿ − ¼ⁿ) = 1 + 2 − ⅓.
        let two = min_share_time(&[(1.0, 2.0), (1.0, 2.0)]).unwrap();
        assert!((two - 8.0 / 3.0).abs() < 1e-6, "{two}");
        // Three at four fifths: 1 + 12 − 3·0.64/0.36 + 0.512/0.488.
        let three = min_share_time(&[(1.0, 5.0); 3]).unwrap();
        assert!((three - (13.0 - 3.0 * 0.64 / 0.36 + 0.512 / 0.488)).abs() < 1e-5, "{three}");
        // A line that is idle, and one that is much faster, add nothing.
        let beside = min_share_time(&[(1.0, 5.0), (1.0, 1.0), (1e-3, 2e-3)]).unwrap();
        assert!((beside - 5.0).abs() < 1e-3, "{beside}");
        assert_eq!(min_share_time(&[]), Ok(0.0));
        assert!(min_share_time(&[(2.0, 1.0)]).is_err());
    }

    #[test]
    fn permanent_flows_get_what_the_others_leave() {
        let line = SharedLine::new(30.0, 1.0, 100.0, 7.0).unwrap();
        assert!((line.permanent_rate().unwrap() - 10.0).abs() < 1e-12);
        assert!(SharedLine::new(30.0, 1.0, 100.0, 0.0).unwrap().permanent_rate().is_err());
    }

    /// Erlang's tables: 10 servers offered 8 wait with 0.4092, 2 offered 1 with 1/3.
    #[test]
    fn delay_probabilities_are_those_of_erlangs_tables() {
        assert!((erlang_delay(2.0, 1.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((erlang_delay(10.0, 8.0) - 0.4092).abs() < 5e-5, "{}", erlang_delay(10.0, 8.0));
    }

    #[test]
    fn an_access_link_as_fast_as_the_line_is_processor_sharing_and_a_slow_one_hides_the_load() {
        let line = SharedLine::new(0.7, 1.0, 1.0, 0.0).unwrap();
        let fast = access_limited_time(0.7, 1.0, 1.0, 3.0).unwrap();
        assert!((fast - line.response_time(3.0).unwrap()).abs() < 1e-12);
        let slow = access_limited_time(0.7, 100.0, 1.0, 3.0).unwrap();
        assert!((slow / 3.0 - 1.0).abs() < 1e-3, "{slow}");
        assert!(access_limited_time(0.7, 1.0, 2.0, 3.0).is_err());
    }

    #[test]
    fn an_overloaded_line_is_refused() {
        assert!(SharedLine::new(1.0, 1.0, 1.0, 0.0).is_err());
    }
}
