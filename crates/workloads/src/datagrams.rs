//! Datagrams over UDP: at a constant bit rate, or as a Poisson process.

use shortflow_elements::Dscp;
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng, Transmission};

use crate::Sizes;

/// Packets of one size at a constant bit rate, one stream per pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cbr<N> {
    /// Sender and receiver of each stream.
    pub pairs: Vec<(N, N)>,
    /// The rate of each stream, in bits on the wire.
    pub rate: Rate,
    /// The size of a packet on the wire, headers included, in bytes.
    pub packet: u32,
    /// The receiver's port.
    pub port: u16,
    /// The code point that the sender writes.
    pub dscp: Dscp,
    /// The first packet leaves at random within one interval from here.
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
    /// The datagrams of the stream over pair `pair`.
    pub fn departures(&self, seed: u64, name: &str, pair: usize) -> CbrStream {
        let first = self.rate.time_for(Bytes(u64::from(self.packet)));
        let wait = stream(seed, name, pair).below(first.nanos().max(1));
        CbrStream {
            clock: Transmission::at(self.rate),
            next: self.start + Duration::from_nanos(wait),
            stop: self.stop,
            packet: self.packet,
        }
    }
}

/// The datagrams of one stream of [`Cbr`]; their intervals lose no fraction of a nanosecond.
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

/// The greatest IPv4 datagram (RFC 791 §3.1); greater draws are cut to it.
const LARGEST_PACKET: u64 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Instant = Instant::from_nanos(3_600_000_000_000);

    #[test]
    fn a_constant_bit_rate_keeps_its_interval_and_starts_within_the_first() {
        let voice = Cbr {
            pairs: vec![(0, 1)],
            rate: Rate::from_bits_per_sec(100_000),
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
