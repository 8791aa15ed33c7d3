//! Named random streams. Each element has its own, so a new draw in one does not change any other.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};

use crate::{Duration, Probability};

/// A stream of random numbers, identified by its name and the seed of the run.
///
/// ChaCha with 8 rounds. The seed is the key, and the FNV-1a hash of the name is the stream number. Two
/// streams of a run therefore never overlap, and a new element does not change the numbers of others.
#[derive(Debug, Clone)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream called `name` under `seed`, for example `"r1->r2/red"`.
    pub fn stream(seed: u64, name: &str) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(fnv1a(name.as_bytes()));
        Rng(generator)
    }

    /// A new stream for a part called `name` of this stream's owner. It draws nothing from this stream.
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        let mut generator = self.0.clone();
        generator.set_stream(generator.get_stream() ^ fnv1a(name.as_bytes()));
        generator.set_word_pos(0);
        Rng(generator)
    }

    /// How many numbers of 64 bits this stream has given.
    pub fn position(&self) -> u64 {
        self.0.get_word_pos() as u64 / 2
    }

    /// A number from 0 (included) to 1 (excluded), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`. Draws no number if `p` is 0 or 1.
    #[inline]
    pub fn chance(&mut self, p: Probability) -> bool {
        self.bernoulli(p.value())
    }

    /// True with probability `p`, limited to 0 to 1. Draws no number at the limits.
    #[inline]
    pub fn bernoulli(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.uniform() < p)
    }

    /// A whole number from 0 to `bound - 1`, each equally likely (Lemire's method, unbiased).
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no whole number below zero");
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }

    /// An exponentially distributed number with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// An exponentially distributed duration with the given mean.
    pub fn exponential_duration(&mut self, mean: Duration) -> Duration {
        Duration::from_secs_f64(self.exponential(mean.as_secs_f64()))
    }

    /// A Pareto distributed number with the given smallest value and shape (mean: scale·shape/(shape − 1)).
    pub fn pareto(&mut self, scale: f64, shape: f64) -> f64 {
        scale / libm::pow(1.0 - self.uniform(), 1.0 / shape)
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_give_the_same_numbers() {
        let draw = |seed, name| {
            let mut rng = Rng::stream(seed, name);
            [rng.uniform(), rng.uniform()]
        };
        assert_eq!(draw(1, "red"), draw(1, "red"));
        assert_ne!(draw(1, "red"), draw(2, "red"));
        assert_ne!(draw(1, "red"), draw(1, "web"));
    }

    #[test]
    fn a_stream_beside_another_takes_nothing_from_it_and_does_not_hang_on_where_it_stands() {
        let mut rng = Rng::stream(1, "marker");
        let mut alone = rng.clone();
        let first = rng.beside("table").uniform();
        assert_eq!(rng.uniform(), alone.uniform());
        assert_eq!(rng.beside("table").uniform(), first);
        assert_ne!(rng.beside("other").uniform(), first);
    }

    #[test]
    fn an_exponential_stream_has_its_mean_and_its_variance() {
        let mut rng = Rng::stream(7, "exponential");
        let draws: Vec<f64> = (0..100_000).map(|_| rng.exponential(2.0)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64;
        assert!((mean - 2.0).abs() < 0.03, "mean {mean}");
        assert!((square - 8.0).abs() < 0.4, "second moment {square}");
    }

    #[test]
    fn below_gives_each_number_equally_often() {
        let mut rng = Rng::stream(7, "below");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_600..=10_400).contains(&count)), "{counts:?}");
    }
}
