//! M/G/1 with a finite buffer, by the Markov chain at departures: Cooper, *Introduction to Queueing Theory*, 2nd
//! edition, 1981, §5.10.
//!
//! Exact for Poisson arrivals, services independent of them, and service in the order of arrival.

use crate::delay_tail::Packets;
use crate::{ModelError, Range};

/// What customers meet where some find no room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FiniteRoom {
    /// The share of customers that find no room.
    pub lost: f64,
    /// The mean wait of the others in seconds.
    pub wait: f64,
}

/// The most that can wait for which this is worked out.
pub const MAX_ROOM: u32 = 2000;

impl FiniteRoom {
    /// Of these streams, with `room` for those that wait beside the one that is served, up to [`MAX_ROOM`]. The load is above 0,
    /// and may be beyond what is served, up to 100. Takes the square of the room.
    pub fn new(streams: &[Packets], room: u32) -> Result<FiniteRoom, ModelError> {
        Range::from_to(0.0, f64::from(MAX_ROOM)).check("the room", f64::from(room))?;
        let rate: f64 = streams.iter().map(|stream| stream.arrival_rate).sum();
        Range::above(0.0).check("the arrival rate per second", rate)?;
        let service = streams.iter().map(|one| one.arrival_rate * one.service).sum::<f64>() / rate;
        Range::above(0.0).check("the mean service time in seconds", service)?;
        let load = Range::from_to(0.0, 100.0).check("the load", rate * service)?;
        // Those in the system, the one that is served among them.
        let max = room as usize + 1;
        let left = left_behind(&arrivals(streams, rate, max), max);
        let busy = left[0] + load;
        let lost = 1.0 - 1.0 / busy;
        let number: f64 =
            left.iter().enumerate().map(|(number, share)| number as f64 * share / busy).sum();
        let number = number + max as f64 * lost;
        let wait = (number / (rate * (1.0 - lost)) - service).max(0.0);
        Ok(FiniteRoom { lost: lost.max(0.0), wait })
    }
}

/// The probabilities of 0, 1, … arrivals during a service, up to this number.
fn arrivals(streams: &[Packets], rate: f64, max: usize) -> Vec<f64> {
    let mut all = vec![0.0; max + 1];
    for stream in streams {
        let mean = rate * stream.service;
        // e^(−m) mᵏ/k!, by logarithms where the first is nothing.
        let mut log = -mean;
        for (number, sum) in all.iter_mut().enumerate() {
            if number > 0 {
                log += libm::log(mean) - libm::log(number as f64);
            }
            *sum += stream.arrival_rate / rate * libm::exp(log);
        }
    }
    all
}

/// The shares of departures that leave 0, 1, … customers behind, of at most so many with the one that leaves.
fn left_behind(arrivals: &[f64], max: usize) -> Vec<f64> {
    let mut left = vec![1.0];
    for next in 1..max {
        let at = next - 1;
        let mut come: f64 = left[0] * arrivals[at];
        come += (1..=at).map(|from| left[from] * arrivals[at + 1 - from]).sum::<f64>();
        left.push(((left[at] - come) / arrivals[0]).max(0.0));
        // Overload makes them grow without bound.
        if left[next] > 1e200 {
            left.iter_mut().for_each(|share| *share *= 1e-200);
        }
    }
    let all: f64 = left.iter().sum();
    left.iter_mut().for_each(|share| *share /= all);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::{CustomerClass, fcfs_wait};

    fn one(rate: f64, service: f64) -> [Packets; 1] {
        [Packets { arrival_rate: rate, service }]
    }

    #[test]
    fn without_room_a_share_is_lost_as_erlang_says_and_nobody_waits() {
        for load in [0.1, 0.9, 3.0] {
            let found = FiniteRoom::new(&one(load, 1.0), 0).unwrap();
            assert!((found.lost - load / (1.0 + load)).abs() < 1e-12, "{found:?}");
            assert!(found.wait.abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn with_much_room_it_is_the_queue_without_a_bound() {
        let class = CustomerClass::constant(0.8, 1.0);
        let found = FiniteRoom::new(&one(0.8, 1.0), 500).unwrap();
        assert!((found.wait / fcfs_wait(&[class]).unwrap() - 1.0).abs() < 1e-6, "{found:?}");
        assert!(found.lost < 1e-9, "{found:?}");
    }

    #[test]
    fn an_overload_loses_what_is_not_served() {
        let found = FiniteRoom::new(&one(2.0, 1.0), 300).unwrap();
        assert!((found.lost - 0.5).abs() < 1e-6, "{found:?}");
        assert!((found.wait - 300.0).abs() < 3.0, "{found:?}");
        assert!(FiniteRoom::new(&one(1000.0, 1.0), 300).is_err(), "no number is that small");
    }

    /// Plays a server with room for five that wait; two sizes.
    #[test]
    fn a_server_that_is_played_loses_and_delays_as_the_chain_says() {
        let streams = [
            Packets { arrival_rate: 0.6, service: 0.5 },
            Packets { arrival_rate: 0.3, service: 2.0 },
        ];
        let found = FiniteRoom::new(&streams, 5).unwrap();
        let mut state = 0x5eed_u64;
        let mut dice = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut now, mut ends) = (0.0, std::collections::VecDeque::new());
        let (mut lost, mut waits, mut kept) = (0u32, 0.0, 0u32);
        for _ in 0..400_000 {
            now -= libm::log1p(-dice()) / 0.9;
            let service = if dice() < 2.0 / 3.0 { 0.5 } else { 2.0 };
            while ends.front().is_some_and(|end| *end <= now) {
                ends.pop_front();
            }
            if ends.len() == 6 {
                lost += 1;
                continue;
            }
            let begins = ends.back().map_or(now, |end: &f64| end.max(now));
            waits += begins - now;
            kept += 1;
            ends.push_back(begins + service);
        }
        let share = f64::from(lost) / 400_000.0;
        assert!((found.lost / share - 1.0).abs() < 0.03, "{found:?} beside {share}");
        let mean = waits / f64::from(kept);
        assert!((found.wait / mean - 1.0).abs() < 0.02, "{found:?} beside {mean}");
    }
}
