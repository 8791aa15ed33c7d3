//! Request/reply transfers that arrive independently of earlier transfers.

use shortflow_units::{Bytes, Duration, Instant, Rng};

use crate::Sizes;

/// Open-loop transfers: the client opens a connection and sends a request, the server replies.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfers<N> {
    /// Client and server of each pair; an arrival picks a pair at random.
    pub pairs: Vec<(N, N)>,
    /// Arrivals per second over all pairs: a Poisson process.
    pub rate: f64,
    /// Sizes of requests.
    pub request: Sizes,
    /// Sizes of replies.
    pub reply: Sizes,
    /// The server's port.
    pub port: u16,
    /// When arrivals begin.
    pub start: Instant,
    /// When arrivals end.
    pub stop: Instant,
}

/// One future transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When the client opens the connection.
    pub at: Instant,
    /// Which pair, an index into [`Transfers::pairs`].
    pub pair: usize,
    /// Length of the request.
    pub request: Bytes,
    /// Length of the reply.
    pub reply: Bytes,
}

impl<N> Transfers<N> {
    /// The arrivals of the workload `name` in a run with this seed.
    pub fn arrivals(&self, seed: u64, name: &str) -> TransferArrivals {
        TransferArrivals {
            rng: Rng::stream(seed, &format!("workload/{name}")),
            mean_interval: Duration::from_secs_f64(1.0 / self.rate),
            at: self.start,
            stop: self.stop,
            pairs: self.pairs.len() as u64,
            request: self.request.clone(),
            reply: self.reply.clone(),
        }
    }
}

/// The arrivals of [`Transfers`], in order of time.
#[derive(Debug, Clone)]
pub struct TransferArrivals {
    rng: Rng,
    mean_interval: Duration,
    at: Instant,
    stop: Instant,
    pairs: u64,
    request: Sizes,
    reply: Sizes,
}

impl Iterator for TransferArrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.at += self.rng.exponential_duration(self.mean_interval);
        if self.at >= self.stop {
            return None;
        }
        let pair = if self.pairs > 1 { self.rng.below(self.pairs) as usize } else { 0 };
        let request = self.request.draw(&mut self.rng);
        let reply = self.reply.draw(&mut self.rng);
        Some(Arrival { at: self.at, pair, request, reply })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(pairs: u32, rate: f64) -> Transfers<u32> {
        Transfers {
            pairs: (0..pairs).map(|i| (i, 100 + i)).collect(),
            rate,
            request: Sizes::Constant(Bytes(300)),
            reply: Sizes::Exponential { mean: Bytes(10_000) },
            port: 80,
            start: Instant::START + Duration::from_secs(10),
            stop: Instant::START + Duration::from_secs(1010),
        }
    }

    #[test]
    fn arrivals_are_poisson_between_start_and_stop() {
        let web = web(1, 100.0);
        let times: Vec<f64> =
            web.arrivals(1, "web").map(|arrival| arrival.at.as_secs_f64()).collect();
        assert!(times[0] >= 10.0 && times[times.len() - 1] < 1010.0);
        // 100 000 arrivals expected, with a standard deviation of 316.
        assert!((99_000..=101_000).contains(&times.len()), "{} arrivals", times.len());
        // Exponential intervals have a variation coefficient of 1.
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_same_seed_and_name_give_the_same_arrivals_and_others_do_not() {
        let draw = |seed, name| web(3, 10.0).arrivals(seed, name).take(20).collect::<Vec<_>>();
        assert_eq!(draw(1, "web"), draw(1, "web"));
        assert_ne!(draw(1, "web"), draw(2, "web"));
        assert_ne!(draw(1, "web"), draw(1, "web1"));
    }

    #[test]
    fn every_pair_gets_its_share() {
        let mut counts = [0; 4];
        for arrival in web(4, 100.0).arrivals(1, "web").take(40_000) {
            counts[arrival.pair] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..=10_400).contains(count)), "{counts:?}");
    }
}
