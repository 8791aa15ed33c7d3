//! What was measured at a device, second by second, and in parts of a window.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// In how many parts a window is cut. What is measured within a second is much like what is measured in the next, so
/// that seconds are no independent samples; means of parts are closer to that.
pub(super) const PARTS: u32 = 24;

/// What is seen at a moment of the class that a device serves first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    at: Instant,
    /// How long a packet waits that comes now, in seconds; none where nobody knows.
    delay: Option<f64>,
    /// Packets sent and dropped since its queue was made.
    sent: u64,
    dropped: u64,
}

/// What was measured at a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(VecDeque<Sample>);

/// What was measured in the parts of a window: means over each part in which something was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parts {
    /// Delays in seconds.
    pub(super) delays: Vec<f64>,
    /// Shares of packets that were dropped.
    pub(super) losses: Vec<f64>,
}

impl Series {
    /// Adds how the device stands now, and forgets what is older than `keep`.
    pub(crate) fn add(&mut self, now: Instant, stands: &Value, keep: Duration) {
        self.0.extend(sample(now, stands));
        while self.0.front().is_some_and(|first| now.duration_since(first.at) > keep) {
            self.0.pop_front();
        }
    }

    /// What was measured in so many parts of this length from `from` on.
    pub(super) fn parts(&self, from: Instant, part: Duration, count: u32) -> Parts {
        let mut parts = Parts::default();
        for number in 0..count {
            let (begin, end) = (from + part * number, from + part * (number + 1));
            let is_in = |sample: &&Sample| begin <= sample.at && sample.at < end;
            let delays: Vec<f64> =
                self.0.iter().filter(is_in).filter_map(|sample| sample.delay).collect();
            if !delays.is_empty() {
                parts.delays.push(delays.iter().sum::<f64>() / delays.len() as f64);
            }
            parts.losses.extend(self.loss(begin, end));
        }
        parts
    }

    /// The share of packets that were dropped from the last sample before `begin` to the last before `end`.
    fn loss(&self, begin: Instant, end: Instant) -> Option<f64> {
        let (mut sent, mut dropped) = (0, 0);
        for (one, other) in self.0.iter().zip(self.0.iter().skip(1)) {
            // Where a queue was made anew its counters begin anew.
            let goes_on = one.sent <= other.sent && one.dropped <= other.dropped;
            if goes_on && begin <= other.at && other.at < end {
                sent += other.sent - one.sent;
                dropped += other.dropped - one.dropped;
            }
        }
        (sent + dropped > 0).then(|| dropped as f64 / (sent + dropped) as f64)
    }
}

/// How long a packet waits that comes now into each class of which that is known, in seconds, by how a device stands. Where a
/// queue does not say it itself, what is in it over the rate of the device does, in the class that nobody is served before.
pub(crate) fn waits(stands: &Value) -> Vec<(&str, f64)> {
    let rate = stands["rate_bit_per_s"].as_f64().filter(|rate| *rate > 0.0);
    let classes = stands["classes"].as_array().into_iter().flatten().enumerate();
    let known = classes.filter_map(|(number, class)| {
        let in_it = || Some(class["waiting_bytes"].as_f64()? * 8.0 / rate.filter(|_| number == 0)?);
        let wait = class["delay_s"].as_f64().or_else(in_it)?;
        Some((class["class"].as_str().unwrap_or_default(), wait))
    });
    known.collect()
}

/// The class served first, by how a device stands.
fn sample(at: Instant, stands: &Value) -> Option<Sample> {
    let class = stands["classes"].get(0)?;
    let first = json!({ "rate_bit_per_s": stands["rate_bit_per_s"], "classes": [class] });
    let delay = waits(&first).first().map(|(_, wait)| *wait);
    let count = |key: &str| class[key].as_u64().unwrap_or_default();
    Some(Sample { at, delay, sent: count("packets"), dropped: count("dropped") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(waiting_bytes: u64, packets: u64, dropped: u64) -> Value {
        json!({
            "rate_bit_per_s": 8_000_000,
            "classes": [
                { "packets": packets, "dropped": dropped, "waiting_bytes": waiting_bytes, "delay_s": null },
                { "packets": 1, "dropped": 99, "waiting_bytes": 1_000_000, "delay_s": null },
            ],
        })
    }

    #[test]
    fn the_class_served_first_is_measured_and_a_queue_made_anew_loses_nothing() {
        let (mut series, now) = (Series::default(), Instant::now());
        let second = Duration::from_secs(1);
        // 1000 bytes at 8 Mbit/s are 1 ms.
        let all = [(1000, 100, 0), (3000, 190, 10), (0, 5, 1), (0, 15, 1), (0, 15, 1)];
        for (number, (waiting, sent, dropped)) in (0..).zip(all) {
            series.add(now + second * number, &stands(waiting, sent, dropped), second * 60);
        }
        let parts = series.parts(now, second * 2, 3);
        assert_eq!(parts.delays, [0.002, 0.0, 0.0]);
        assert_eq!(parts.losses, [0.1, 0.0], "in the third nothing was sent");
        let estimate = json!({ "classes": [{ "packets": 1, "dropped": 0, "waiting_bytes": 9, "delay_s": 0.25 }] });
        let mut series = Series::default();
        series.add(now, &estimate, second);
        assert_eq!(series.parts(now, second, 1).delays, [0.25], "a queue's own estimate counts");
        series.add(now, &json!({ "classes": [] }), second);
        series.add(now, &Value::Null, second);
        assert_eq!(series.0.len(), 1, "where nothing stands nothing is measured");
    }

    #[test]
    fn what_is_older_than_one_keeps_is_forgotten() {
        let (mut series, now) = (Series::default(), Instant::now());
        for second in 0..100 {
            series.add(now + Duration::from_secs(second), &stands(0, 0, 0), Duration::from_secs(9));
        }
        assert_eq!(series.0.len(), 10);
    }
}
