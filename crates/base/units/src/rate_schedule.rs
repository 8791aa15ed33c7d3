//! A rate that changes at known times.

use crate::rate::Rate;
use crate::time::{Duration, Instant};

/// The rate of a transmitter over time: steps, once or again and again. What is sent by when follows from it; a packet ends with
/// a whole nanosecond, and the next one begins with it.
///
/// ```
/// use shortflow_units::{Duration, Instant, Rate, RateSchedule};
/// let step = |seconds, mbit: u64| (Duration::from_secs(seconds), Rate::from_bits_per_sec(mbit * 1_000_000));
/// let fade = RateSchedule::new(vec![step(0, 8), step(1, 0), step(2, 4)], None)?;
/// // Half a millisecond before the rate is zero, and half a packet after it: 500 bytes at 8 Mbit/s, 500 at 4.
/// let begins = Instant::from_nanos(999_500_000);
/// assert_eq!(fade.finish(begins, 1000), Instant::from_nanos(2_001_000_000));
/// # Ok::<(), shortflow_units::RateScheduleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSchedule {
    /// The first nanosecond of each step, its bits per second, and the bits times 10⁹ that could be sent before it.
    steps: Vec<(u64, u64, u128)>,
    /// After which the steps begin again, and the bits times 10⁹ that can be sent meanwhile.
    period: Option<(u64, u128)>,
}

/// Why steps are no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateScheduleError {
    /// The first step is missing, or is not at the start.
    #[error("the first step must be at 0 s")]
    NoStart,
    /// A step is not after the one before.
    #[error("steps must be in order of time: step {} is not later than the one before", .0 + 1)]
    Unordered(usize),
    /// The steps begin again before the last one.
    #[error("the steps repeat before the last of them begins")]
    ShortPeriod,
    /// Nothing can ever be sent from some time on.
    #[error("the last rate must be above zero: packets would wait forever")]
    Stopped,
    /// Nothing can ever be sent.
    #[error("every rate is zero")]
    Nothing,
}

impl RateSchedule {
    /// Steps in order of time, the first at 0 s, each with the rate from then on; again after `period`.
    ///
    /// # Errors
    /// If the steps are not in order, or nothing can be sent from some time on.
    pub fn new(
        steps: Vec<(Duration, Rate)>,
        period: Option<Duration>,
    ) -> Result<RateSchedule, RateScheduleError> {
        if steps.first().is_none_or(|(at, _)| !at.is_zero()) {
            return Err(RateScheduleError::NoStart);
        }
        if let Some(at) = (1..steps.len()).find(|at| steps[*at].0 <= steps[at - 1].0) {
            return Err(RateScheduleError::Unordered(at));
        }
        let last = steps.last().expect("there is a first step");
        if period.is_some_and(|period| period <= last.0) {
            return Err(RateScheduleError::ShortPeriod);
        }
        if steps.iter().all(|(_, rate)| rate.is_zero()) {
            return Err(RateScheduleError::Nothing);
        }
        if period.is_none() && last.1.is_zero() {
            return Err(RateScheduleError::Stopped);
        }
        let mut found: Vec<(u64, u64, u128)> = Vec::with_capacity(steps.len());
        for (at, rate) in steps {
            let before = found.last().map_or(0, |step| sent_in(step, at.nanos()));
            found.push((at.nanos(), rate.bits_per_sec(), before));
        }
        let of_period = |period: Duration| {
            let last = found.last().expect("there is a first step");
            (period.nanos(), sent_in(last, period.nanos()))
        };
        let period = period.map(of_period);
        Ok(RateSchedule { steps: found, period })
    }

    /// When `bytes` have been sent whose transmission begins at `begins`. Complexity: O(log n) for n steps.
    pub fn finish(&self, begins: Instant, bytes: u32) -> Instant {
        let target = self.sent_by(begins.nanos()) + u128::from(bytes) * BIT_NANOS;
        let nanos = match self.period {
            Some((length, each)) => {
                // Of a whole number of periods, the last one is the one in which the last bit is sent.
                let full = (target - 1) / each;
                full * u128::from(length) + self.reached(target - full * each)
            }
            None => self.reached(target),
        };
        Instant::from_nanos(nanos.try_into().unwrap_or(u64::MAX))
    }

    /// The mean rate from `from` on, for so long.
    pub fn mean(&self, from: Instant, length: Duration) -> Rate {
        let until = from.nanos().saturating_add(length.nanos());
        let sent = self.sent_by(until) - self.sent_by(from.nanos());
        Rate::from_bits_per_sec((sent / u128::from(length.nanos().max(1))) as u64)
    }

    /// The highest rate of all steps.
    pub fn max(&self) -> Rate {
        Rate::from_bits_per_sec(self.steps.iter().map(|step| step.1).max().unwrap_or(0))
    }

    /// The bits times 10⁹ that can be sent before a nanosecond.
    fn sent_by(&self, nanos: u64) -> u128 {
        let (periods, nanos) = match self.period {
            Some((length, each)) => (u128::from(nanos / length) * each, nanos % length),
            None => (0, nanos),
        };
        let step = self.steps.partition_point(|step| step.0 <= nanos) - 1;
        periods + sent_in(&self.steps[step], nanos)
    }

    /// The first nanosecond by which so many bits times 10⁹, at least one, can have been sent.
    fn reached(&self, sent: u128) -> u128 {
        // The last step before which less was sent has a rate above zero: more is sent after it.
        let step = self.steps.partition_point(|step| step.2 < sent) - 1;
        let (at, rate, before) = self.steps[step];
        u128::from(at) + (sent - before).div_ceil(u128::from(rate))
    }
}

/// The bits times 10⁹ that can be sent before a nanosecond of a step.
fn sent_in(step: &(u64, u64, u128), nanos: u64) -> u128 {
    step.2 + u128::from(nanos - step.0) * u128::from(step.1)
}

/// The bits of a byte, times the nanoseconds of a second.
const BIT_NANOS: u128 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn schedule(steps: &[(u64, u64)], period: Option<u64>) -> RateSchedule {
        let steps = steps
            .iter()
            .map(|(ms, rate)| (Duration::from_millis(*ms), Rate::from_bits_per_sec(*rate)));
        RateSchedule::new(steps.collect(), period.map(Duration::from_millis)).unwrap()
    }

    #[test]
    fn bytes_leave_when_the_sum_of_all_nanoseconds_before_has_sent_them() {
        let mut rng = Rng::stream(1, "schedule");
        for _ in 0..300 {
            let mut at = 0;
            let mut steps: Vec<(u64, u64)> = Vec::new();
            for _ in 0..=rng.below(5) {
                steps.push((at, [0, 8_000, 64_000, 1_000_000][rng.below(4) as usize]));
                at += 1 + rng.below(20);
            }
            steps.push((at, 16_000));
            let period = (rng.below(2) == 0).then(|| at + 1 + rng.below(20));
            let found = schedule(&steps, period);
            // By hand, a microsecond at a time: all changes are at whole milliseconds.
            let begins = rng.below(50_000);
            let bytes = 1 + rng.below(100);
            let rate_at = |micros: u64| {
                let ms = micros / 1000;
                let ms = period.map_or(ms, |period| ms % period);
                steps.iter().rev().find(|step| step.0 <= ms).unwrap().1
            };
            let (mut micros, mut left) = (begins, (bytes * 8_000_000) as i64);
            while left > 0 {
                left -= rate_at(micros) as i64;
                micros += 1;
            }
            let ends = found.finish(Instant::from_nanos(begins * 1000), bytes as u32);
            let by_hand = micros * 1000;
            assert!(by_hand - 1000 < ends.nanos() && ends.nanos() <= by_hand, "{ends:?} {by_hand}");
        }
    }

    #[test]
    fn the_mean_is_that_of_whole_and_of_broken_periods() {
        let found = schedule(&[(0, 1000), (10, 3000)], Some(20));
        let mean = |from: u64, length: u64| {
            found
                .mean(Instant::from_nanos(from * 1_000_000), Duration::from_millis(length))
                .bits_per_sec()
        };
        assert_eq!(
            [mean(0, 20), mean(0, 10), mean(30, 10), mean(15, 20)],
            [2000, 1000, 3000, 2000]
        );
        assert_eq!(found.max(), Rate::from_bits_per_sec(3000));
    }

    #[test]
    fn steps_that_are_no_schedule_are_refused() {
        let refused = |steps: &[(u64, u64)], period: Option<u64>| {
            let steps = steps
                .iter()
                .map(|(ms, rate)| (Duration::from_millis(*ms), Rate::from_bits_per_sec(*rate)));
            RateSchedule::new(steps.collect(), period.map(Duration::from_millis)).unwrap_err()
        };
        assert_eq!(refused(&[], None), RateScheduleError::NoStart);
        assert_eq!(refused(&[(1, 1)], None), RateScheduleError::NoStart);
        assert_eq!(refused(&[(0, 1), (2, 1), (2, 3)], None), RateScheduleError::Unordered(2));
        assert_eq!(refused(&[(0, 1), (2, 1)], Some(2)), RateScheduleError::ShortPeriod);
        assert_eq!(refused(&[(0, 1), (2, 0)], None), RateScheduleError::Stopped);
        assert_eq!(refused(&[(0, 0), (2, 0)], Some(3)), RateScheduleError::Nothing);
    }
}
