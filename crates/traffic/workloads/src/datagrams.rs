//! Datagrams over UDP: at a constant bit rate, or as a Poisson process.

use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng, Transmission};

use crate::Sizes;

/// Packets of one size at constant bit rates. The number of streams is that of pairs or that of rates,
/// whichever is larger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cbr<N> {
    /// Senders and receivers; stream `i` runs over pair `i` modulo their number.
    pub pairs: Vec<(N, N)>,
    /// Rates in bits on the wire; stream `i` has rate `i` modulo their number.
    pub rates: Vec<Rate>,
    /// Whether each stream has its own results.
    pub by_stream: bool,
    /// The size of a packet on the wire, headers included, in bytes.
    pub packet: u32,
    /// The receiver's port.
    pub port: u16,
    /// The code point that the sender writes.
    pub dscp: Dscp,
    /// The first packet leaves at a random time within one interval after this.
    pub start: Instant,
    /// When the streams end.
    pub stop: Instant,
}

/// Packets at independent exponential intervals, one stream per pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Poisson<N> {
    /// Sender and receiver of each stream.
    pub pairs: Vec<(N, N)>,
    /// Packets per second of each stream.
    pub rate: f64,
    /// The sizes of packets on the wire, headers included.
    pub size: Sizes,
    /// The receiver's port.
    pub port: u16,
    /// The code point that the sender writes.
    pub dscp: Dscp,
    /// When the streams begin.
    pub start: Instant,
    /// When the streams end.
    pub stop: Instant,
}

/// One datagram to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When it leaves.
    pub at: Instant,
    /// Its size on the wire in bytes.
    pub size: u32,
}

impl<N> Cbr<N> {
    /// How many streams.
    pub fn streams(&self) -> usize {
        self.pairs.len().max(self.rates.len())
    }

    /// The pair and the rate of a stream.
    pub fn stream(&self, stream: usize) -> (&(N, N), Rate) {
        (&self.pairs[stream % self.pairs.len()], self.rates[stream % self.rates.len()])
    }

    /// The datagrams of a stream.
    pub fn departures(&self, seed: u64, name: &str, number: usize) -> CbrStream {
        let (_, rate) = self.stream(number);
        let first = rate.time_for(Bytes(u64::from(self.packet)));
        let wait = stream(seed, name, number).below(first.nanos().max(1));
        CbrStream {
            clock: Transmission::at(rate),
            next: self.start + Duration::from_nanos(wait),
            stop: self.stop,
            packet: self.packet,
        }
    }
}

/// The datagrams of one stream of [`Cbr`]. Their intervals have no rounding errors.
#[derive(Debug, Clone)]
pub struct CbrStream {
    clock: Transmission,
    next: Instant,
    stop: Instant,
    packet: u32,
}

impl Iterator for CbrStream {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        let at = self.next;
        self.next += self.clock.time(self.packet);
        (at < self.stop).then_some(Departure { at, size: self.packet })
    }
}

impl<N> Poisson<N> {
    /// The datagrams of the stream over pair `pair`.
    pub fn departures(&self, seed: u64, name: &str, pair: usize) -> PoissonStream {
        PoissonStream {
            rng: stream(seed, name, pair),
            mean_interval: 1.0 / self.rate,
            at: self.start,
            stop: self.stop,
            size: self.size.clone(),
        }
    }
}

/// The datagrams of one stream of [`Poisson`].
#[derive(Debug, Clone)]
pub struct PoissonStream {
    rng: Rng,
    mean_interval: f64,
    at: Instant,
    stop: Instant,
    size: Sizes,
}

impl Iterator for PoissonStream {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        let interval = self.rng.exponential(self.mean_interval);
        self.at += Duration::from_secs_f64(interval);
        let size = self.size.draw(&mut self.rng).0.min(LARGEST_PACKET) as u32;
        (self.at < self.stop).then_some(Departure { at: self.at, size })
    }
}

fn stream(seed: u64, name: &str, pair: usize) -> Rng {
    Rng::stream(seed, &format!("workload/{name}/{pair}"))
}

/// The largest IPv4 datagram (RFC 791 §3.1). Larger draws are cut to it.
pub const LARGEST_PACKET: u64 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Instant = Instant::from_nanos(3_600_000_000_000);

    #[test]
    fn a_constant_bit_rate_keeps_its_interval_and_starts_within_the_first() {
        let voice = Cbr {
            pairs: vec![(0, 1)],
            rates: vec![Rate::from_bits_per_sec(100_000)],
            by_stream: false,
            packet: 250,
            port: 5004,
            dscp: Dscp::EF,
            start: Instant::START,
            stop: HOUR,
        };
        let times: Vec<_> = voice.departures(1, "voice", 0).take(3).map(|d| d.at).collect();
        assert!(times[0] < Instant::START + Duration::from_millis(20));
        assert_eq!(times[1].since(times[0]), Duration::from_millis(20));
        assert_eq!(times[2].since(times[1]), Duration::from_millis(20));
        let other = voice.departures(1, "voice", 1).next().unwrap();
        assert_ne!(other.at, times[0], "each stream has its own phase");
    }

    #[test]
    fn a_list_of_rates_and_the_pairs_go_round_over_each_other() {
        // 20 streams at 10·i kbit/s of 250-byte packets between two hosts (Guo et al. 2005, §4).
        let set = Cbr {
            pairs: vec![(0, 1)],
            rates: (1..=20).map(|i| Rate::from_bits_per_sec(10_000 * i)).collect(),
            by_stream: true,
            packet: 250,
            port: 5004,
            dscp: Dscp::BEST_EFFORT,
            start: Instant::START,
            stop: HOUR,
        };
        assert_eq!(set.streams(), 20);
        let interval = |stream| {
            let times: Vec<_> = set.departures(1, "cbr", stream).take(2).map(|d| d.at).collect();
            times[1].since(times[0])
        };
        assert_eq!(interval(0), Duration::from_millis(200));
        assert_eq!(interval(19), Duration::from_millis(10));
        let wide =
            Cbr { pairs: vec![(0, 9), (1, 9), (2, 9)], rates: set.rates[..2].to_vec(), ..set };
        let rates = (0..wide.streams()).map(|i| wide.stream(i).1.bits_per_sec());
        assert_eq!(rates.collect::<Vec<_>>(), [10_000, 20_000, 10_000]);
    }

    #[test]
    fn poisson_counts_have_the_variance_of_their_mean() {
        let probe = Poisson {
            pairs: vec![(0, 1)],
            rate: 50.0,
            size: Sizes::Constant(Bytes(500)),
            port: 7,
            dscp: Dscp::BEST_EFFORT,
            start: Instant::START,
            stop: Instant::START + Duration::from_secs(4000),
        };
        let mut counts = [0.0; 4000];
        for departure in probe.departures(1, "probe", 0) {
            counts[departure.at.as_secs_f64() as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 4000.0;
        let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 4000.0;
        assert!((mean - 50.0).abs() < 0.5, "mean {mean}");
        assert!((variance / 50.0 - 1.0).abs() < 0.08, "variance {variance}");
    }
}
