//! Samples the throughput of long flows at regular intervals.

use std::collections::BTreeMap;

use shortflow_measure::ThroughputSamples;
use shortflow_units::{Duration, Instant};

use crate::host::flow::{Flows, Side};

/// The time of the next sample, and the progress of each long flow.
#[derive(Debug)]
pub(crate) struct FlowSampler {
    interval: Option<Duration>,
    next_at: Instant,
    end: Instant,
    /// By the serial number of the connection, because 5-tuples repeat.
    watched: BTreeMap<u64, Watched>,
}

#[derive(Debug)]
struct Watched {
    delivered_before: u64,
    samples: ThroughputSamples,
}

impl FlowSampler {
    /// Samples long flows every `interval` from `start` to `end`, or never.
    pub(crate) fn new(interval: Option<Duration>, start: Instant, end: Instant) -> Self {
        FlowSampler {
            interval,
            next_at: interval.map_or(Instant::NEVER, |_| start),
            end,
            watched: BTreeMap::new(),
        }
    }

    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Takes one sample of each long flow. Samples are over whole intervals, so the first visit of a flow
    /// only starts its first interval.
    pub(crate) fn sample(&mut self, now: Instant, flows: &Flows) {
        let Some(interval) = self.interval else { return };
        for flow in flows.iter().filter(|flow| flow.is_endless()) {
            let delivered = flow.ends[Side::Server].delivered;
            match self.watched.get_mut(&flow.serial) {
                Some(watched) => {
                    let bytes = delivered - watched.delivered_before;
                    watched.samples.add(bytes, interval.as_secs_f64());
                    watched.delivered_before = delivered;
                }
                None => {
                    let samples = ThroughputSamples::default();
                    self.watched
                        .insert(flow.serial, Watched { delivered_before: delivered, samples });
                }
            }
        }
        let next = now + interval;
        self.next_at = if next > self.end { Instant::NEVER } else { next };
    }

    /// The samples of the long flow with this serial number; `None` if there are none.
    pub(crate) fn samples(&self, serial: u64) -> Option<ThroughputSamples> {
        self.interval?;
        Some(self.watched.get(&serial).map(|watched| watched.samples).unwrap_or_default())
    }
}
