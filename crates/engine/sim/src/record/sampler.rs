//! Samples ports at regular intervals, for time series.

use shortflow_measure::Sample;
use shortflow_units::{Duration, Instant};

use crate::network::index::PortId;
use crate::network::layout::Network;

/// The sampled ports, and the time of the next sample.
#[derive(Debug)]
pub(crate) struct Sampler {
    watched: Vec<Watched>,
    interval: Duration,
    next_at: Instant,
}

#[derive(Debug)]
struct Watched {
    port: PortId,
    busy_before: Duration,
    /// The bytes sent since the last sample, from before the port's counters restarted.
    sent_before: Duration,
}

impl Sampler {
    /// Samples `ports` every `interval`, or never.
    pub(crate) fn new(ports: &[PortId], interval: Option<Duration>) -> Self {
        let watched = ports
            .iter()
            .map(|&port| Watched { port, busy_before: Duration::ZERO, sent_before: Duration::ZERO })
            .collect();
        let interval = interval.filter(|_| !ports.is_empty());
        Sampler {
            watched,
            interval: interval.unwrap_or(Duration::MAX),
            next_at: interval.map_or(Instant::NEVER, |_| Instant::START),
        }
    }

    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Takes one sample of each port.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        network: &mut Network,
        open_transfers: u32,
        mut record: impl FnMut(Sample),
    ) {
        for (index, watched) in self.watched.iter_mut().enumerate() {
            let port = &mut network.ports[watched.port].port;
            let backlog = port.backlog(now);
            let busy = port.busy(now);
            let sent =
                busy.saturating_sub(watched.busy_before) + std::mem::take(&mut watched.sent_before);
            watched.busy_before = busy;
            record(Sample {
                port: index as u16,
                at: now,
                queue_packets: backlog.packets as u32,
                queue_bytes: backlog.bytes.0,
                average: port.average(),
                utilisation: (sent.as_secs_f64() / self.interval.as_secs_f64()) as f32,
                open_transfers,
            });
        }
        self.next_at += self.interval;
    }

    /// Called before the ports' counters restart: what they sent since the last sample is kept for the next
    /// one.
    pub(crate) fn restart(&mut self, now: Instant, network: &Network) {
        for watched in &mut self.watched {
            let busy = network.ports[watched.port].port.busy(now);
            watched.sent_before += busy.saturating_sub(watched.busy_before);
            watched.busy_before = Duration::ZERO;
        }
    }
}
