//! Distributions of times: thinking, pausing, typing.

use shortflow_units::{Duration, Rng};

/// A distribution of times, in whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Times {
    /// Always the same.
    Constant(Duration),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Pareto.
    Pareto {
        /// The smallest time.
        min: Duration,
        /// The shape, above 1.
        shape: f64,
        /// Longer times are cut to this one.
        max: Option<Duration>,
    },
    /// Every time from `min` to `max` equally likely.
    Uniform {
        /// The shortest time.
        min: Duration,
        /// The longest time.
        max: Duration,
    },
}

impl Times {
    /// The mean in seconds; infinite if the distribution has no mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Times::Constant(time) => time.as_secs_f64(),
            Times::Exponential { mean } => mean.as_secs_f64(),
            Times::Pareto { min, shape, max } => {
                let min = min.as_secs_f64();
                let cut = max.map_or(0.0, |max| {
                    min * libm::pow(min / max.as_secs_f64(), shape - 1.0) / (shape - 1.0)
                });
                min * shape / (shape - 1.0) - cut
            }
            Times::Uniform { min, max } => f64::midpoint(min.as_secs_f64(), max.as_secs_f64()),
        }
    }

    /// Draws a time.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Times::Constant(time) => time,
            Times::Exponential { mean } => rng.exponential_duration(mean),
            Times::Pareto { min, shape, max } => {
                let time = Duration::from_secs_f64(rng.pareto(min.as_secs_f64(), shape));
                max.map_or(time, |max| time.min(max))
            }
            Times::Uniform { min, max } => {
                let width = max.saturating_sub(min).nanos();
                min + Duration::from_nanos(rng.below(width.saturating_add(1)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of 200 000 draws of `of`.
    fn sampled(times: Times, of: impl Fn(f64) -> f64) -> f64 {
        let mut rng = Rng::stream(5, "times");
        let draws = 200_000;
        (0..draws).map(|_| of(times.draw(&mut rng).as_secs_f64())).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn an_exponential_time_has_its_mean_and_forgets_its_past() {
        let times = Times::Exponential { mean: Duration::from_secs(2) };
        let mean = sampled(times, |t| t);
        assert!((mean - 2.0).abs() < 0.02, "{mean}");
        // P(X > 4) = e^-2.
        let above = sampled(times, |t| f64::from(u8::from(t > 4.0)));
        assert!((above - libm::exp(-2.0)).abs() < 0.003, "{above}");
    }

    #[test]
    fn a_pareto_time_is_at_least_its_scale_and_has_the_tail_of_its_shape() {
        let min = Duration::from_secs(24);
        let times = Times::Pareto { min, shape: 1.5, max: None };
        assert!(sampled(times, |t| f64::from(u8::from(t < 24.0))) < 1e-9);
        // P(X > 4·24 s) = 4^-1.5 = 1/8.
        let above = sampled(times, |t| f64::from(u8::from(t > 96.0)));
        assert!((above - 0.125).abs() < 0.003, "{above}");
        let cut = Times::Pareto { min, shape: 1.5, max: Some(Duration::from_secs(96)) };
        assert!(sampled(cut, |t| f64::from(u8::from(t > 96.0))) < 1e-9);
    }

    #[test]
    fn a_uniform_time_stays_between_its_ends_with_the_variance_of_its_width() {
        let times = Times::Uniform { min: Duration::ZERO, max: Duration::from_secs(5) };
        let mean = sampled(times, |t| t);
        assert!((mean - 2.5).abs() < 0.02, "{mean}");
        let variance = sampled(times, |t| (t - 2.5).powi(2));
        assert!((variance / (25.0 / 12.0) - 1.0).abs() < 0.01, "{variance}");
        assert!(sampled(times, |t| f64::from(u8::from(t > 5.0))) < 1e-9);
    }

    #[test]
    fn times_have_the_mean_of_what_is_drawn() {
        let (least, most) = (Duration::from_secs(2), Duration::from_secs(20));
        for times in [
            Times::Constant(least),
            Times::Exponential { mean: least },
            Times::Pareto { min: least, shape: 1.5, max: Some(most) },
            Times::Uniform { min: least, max: most },
        ] {
            let drawn = sampled(times, |t| t);
            assert!((times.mean() / drawn - 1.0).abs() < 0.01, "{times:?}: {drawn}");
        }
    }

    #[test]
    fn a_constant_draws_nothing() {
        let (mut rng, mut fresh) = (Rng::stream(1, "x"), Rng::stream(1, "x"));
        let second = Duration::from_secs(1);
        assert_eq!(Times::Constant(second).draw(&mut rng), second);
        assert_eq!(rng.uniform().to_bits(), fresh.uniform().to_bits());
    }
}
