//! BLUE (Feng, Shin, Kandlur & Saha 2002) as in COBALT: drops packets of unresponsive flows.

use shortflow_units::{Duration, Instant, Rng};

/// The parameters of BLUE, and its random stream.
#[derive(Debug)]
pub(super) struct Blue {
    /// Increase of the drop probability when the queue overflows.
    rise: f64,
    /// Decrease when the queue runs empty.
    fall: f64,
    /// The minimum time between two changes.
    freeze: Duration,
    rng: Rng,
}

impl Blue {
    /// BLUE with COBALT's steps, 1/256 up and 1/4096 down, at most once in `freeze`.
    pub(super) fn new(freeze: Duration, rng: Rng) -> Self {
        Blue { rise: 1.0 / 256.0, fall: 1.0 / 4096.0, freeze, rng }
    }
}

/// The state of BLUE for one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct BlueState {
    probability: f64,
    changed_at: Option<Instant>,
}

impl BlueState {
    /// The queue lost packets because of the limit.
    pub(super) fn overflowed(&mut self, blue: &Blue, now: Instant) {
        self.change(blue, now, blue.rise);
    }

    /// The queue had nothing to send in its turn.
    #[inline]
    pub(super) fn ran_empty(&mut self, blue: &Blue, now: Instant) {
        if self.probability > 0.0 {
            self.change(blue, now, -blue.fall);
        }
    }

    /// Whether the next packet is dropped. Draws no number while the probability is zero.
    #[inline]
    pub(super) fn drops(&self, blue: &mut Blue) -> bool {
        blue.rng.bernoulli(self.probability)
    }

    fn change(&mut self, blue: &Blue, now: Instant, step: f64) {
        if self.changed_at.is_none_or(|changed_at| now.since(changed_at) > blue.freeze) {
            self.probability = (self.probability + step).clamp(0.0, 1.0);
            self.changed_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_rises_with_overflows_and_falls_with_idle_turns_each_after_a_pause() {
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let blue = Blue::new(Duration::from_millis(5), Rng::stream(1, "blue"));
        let mut state = BlueState::default();
        state.ran_empty(&blue, at(0));
        assert_eq!(state.probability, 0.0);
        // At 0 ms, and then not before 5 ms have gone by.
        for (millis, rises) in [(0, 1), (5, 1), (6, 2), (7, 2), (12, 3)] {
            state.overflowed(&blue, at(millis));
            assert_eq!(state.probability, f64::from(rises) / 256.0, "at {millis} ms");
        }
        state.ran_empty(&blue, at(17));
        assert_eq!(state.probability, 3.0 / 256.0);
        state.ran_empty(&blue, at(18));
        assert_eq!(state.probability, 3.0 / 256.0 - 1.0 / 4096.0);
    }

    #[test]
    fn packets_are_dropped_with_the_probability() {
        let mut blue = Blue::new(Duration::ZERO, Rng::stream(1, "blue"));
        let state = BlueState { probability: 0.25, changed_at: None };
        let drops = (0..10_000).filter(|_| state.drops(&mut blue)).count();
        // 2500 expected; five standard deviations are 217.
        assert!(drops.abs_diff(2500) < 217, "{drops}");
    }
}
