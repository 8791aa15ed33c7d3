//! Measurements of a device, for each second and for each part of a window.

use std::collections::VecDeque;
use std::ops::{Add, Sub};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shortflow_deploy::BESIDE;

/// In how many parts a window is cut. What is measured within a second is much like what is measured in the next, so
/// that seconds are no independent samples; means of parts are closer to that.
pub(super) const PARTS: u32 = 24;

/// What is seen of a device at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    at: Instant,
    /// The delay of a packet that arrives now in the class served first, in seconds; `None` if unknown.
    delay: Option<f64>,
    counts: Counts,
    /// Of a profile in TCP.
    bursts: Option<Bursts>,
}

/// What a profile in TCP has counted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bursts {
    /// How many left with tokens.
    left: u64,
    /// For how many seconds their first segments waited for tokens, in all.
    waited: f64,
}

/// What became of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Those of the class served first that were sent, and that its queue dropped.
    first_sent: u64,
    first_dropped: u64,
    /// Those of all classes that were sent.
    sent: u64,
    /// Those of all classes that their queues dropped.
    dropped: u64,
    /// Packets that the edge dropped before a queue.
    policed: u64,
}

/// What was measured at a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(VecDeque<Sample>);

/// What was measured in the parts of a window: means over each part in which something was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Parts {
    /// Delays in seconds.
    pub(super) delays: Vec<f64>,
    /// Shares of packets of the class served first that its queue dropped.
    pub(super) losses: Vec<f64>,
    /// Shares of all packets that the edge dropped.
    pub(super) policed: Vec<f64>,
    /// Packets of all classes that were sent, in each second.
    pub(super) rates: Vec<f64>,
    /// What became of packets in all parts together.
    pub(super) whole: Counts,
}

impl Series {
    /// Adds how the device stands now, and forgets what is older than `keep`.
    pub(crate) fn add(&mut self, now: Instant, stands: &Value, keep: Duration) {
        let mut taken = sample(now, stands).or_else(|| sample_of_tcp(now, &stands["tcp"]["state"]));
        if let Some((taken, before)) = taken.as_mut().zip(self.0.back()) {
            let pair = before.bursts.zip(taken.bursts);
            taken.delay =
                taken.delay.or_else(|| pair.and_then(|(before, after)| after.wait(before)));
        }
        self.0.extend(taken);
        while self.0.front().is_some_and(|first| now.duration_since(first.at) > keep) {
            self.0.pop_front();
        }
    }

    /// The measurements in this number of parts of this length, starting at `from`.
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
            let (counts, time) = self.grown(begin, end);
            parts.losses.extend(share(counts.first_dropped, counts.first_sent));
            parts.policed.extend(share(counts.policed, counts.sent + counts.dropped));
            if !time.is_zero() {
                parts.rates.push(counts.sent as f64 / time.as_secs_f64());
            }
            parts.whole = parts.whole + counts;
        }
        parts
    }

    /// By how much counters have grown from the last sample before `begin` to the last before `end`, and within how long.
    fn grown(&self, begin: Instant, end: Instant) -> (Counts, Duration) {
        let (mut counts, mut time) = (Counts::default(), Duration::ZERO);
        for (one, other) in self.0.iter().zip(self.0.iter().skip(1)) {
            // Where a queue or the edge was made anew counters begin anew.
            let goes_on = one.counts.is_at_most(&other.counts);
            if goes_on && begin <= other.at && other.at < end {
                counts = counts + (other.counts - one.counts);
                time += other.at - one.at;
            }
        }
        (counts, time)
    }
}

impl Bursts {
    /// How long each burst since `before` waited for tokens on average, in seconds; `None` without any, or where the counters
    /// began anew.
    fn wait(self, before: Bursts) -> Option<f64> {
        let left = self.left.checked_sub(before.left).filter(|left| *left > 0)?;
        Some((self.waited - before.waited) / left as f64).filter(|wait| *wait >= 0.0)
    }
}

/// The share that some packets are of all, if there are any.
fn share(of: u64, others: u64) -> Option<f64> {
    (of + others > 0).then(|| of as f64 / (of + others) as f64)
}

impl Counts {
    /// How many packets the device was given.
    pub(super) fn given(&self) -> u64 {
        self.sent + self.dropped + self.policed
    }

    /// The share of them that were dropped, wherever that was.
    pub(super) fn lost(&self) -> f64 {
        share(self.dropped + self.policed, self.sent).unwrap_or_default()
    }

    fn all(self) -> [u64; 5] {
        let Counts { first_sent, first_dropped, sent, dropped, policed } = self;
        [first_sent, first_dropped, sent, dropped, policed]
    }

    fn from_array([first_sent, first_dropped, sent, dropped, policed]: [u64; 5]) -> Counts {
        Counts { first_sent, first_dropped, sent, dropped, policed }
    }

    fn is_at_most(&self, other: &Counts) -> bool {
        self.all().iter().zip(other.all()).all(|(one, other)| *one <= other)
    }

    fn with(self, other: Counts, each: fn(u64, u64) -> u64) -> Counts {
        let (mut all, other) = (self.all(), other.all());
        all.iter_mut().zip(other).for_each(|(one, other)| *one = each(*one, other));
        Counts::from_array(all)
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        self.with(other, |one, other| one + other)
    }
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, other: Counts) -> Counts {
        self.with(other, |one, other| one - other)
    }
}

/// The delay of a packet that arrives now in each class, in seconds, from a device's status. If the queue has no
/// estimate of its own, it is the backlog over the device's rate, for the class served first.
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

/// The measurement of a device, from its status; `None` without a deployment.
fn sample(at: Instant, stands: &Value) -> Option<Sample> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (queues, edge) = (list(&stands["classes"]), list(&stands["edge"]["classes"]));
    if queues.is_empty() && edge.is_empty() {
        return None;
    }
    let first = json!({ "rate_bit_per_s": stands["rate_bit_per_s"], "classes": queues.get(..1) });
    let delay = waits(&first).first().map(|(_, wait)| *wait);
    let count = |class: &Value, key: &str| class[key].as_u64().unwrap_or_default();
    let first = |key: &str| queues.first().map_or(0, |class| count(class, key));
    // What finds neighbours is no traffic of anybody.
    let of_people = || queues.iter().filter(|class| class["class"] != BESIDE[0]);
    let queued = |key: &str| of_people().map(|class| count(class, key)).sum();
    let colors = |key: &str| -> u64 {
        edge.iter().flat_map(|class| list(&class[key])).filter_map(|it| it.as_u64()).sum()
    };
    let counts = Counts {
        first_sent: first("packets"),
        first_dropped: first("dropped"),
        // The edge counts what it drops among the packets of its colour.
        sent: match queues.is_empty() {
            true => colors("packets").saturating_sub(colors("dropped")),
            false => queued("packets"),
        },
        dropped: queued("dropped"),
        policed: colors("dropped"),
    };
    Some(Sample { at, delay, counts, bursts: None })
}

/// The measurement of a profile in TCP, from its state: a burst counts as a packet, and a segment of a timer that had to stay as
/// a dropped one.
fn sample_of_tcp(at: Instant, state: &Value) -> Option<Sample> {
    let count = |key: &str| state[key].as_u64();
    let bursts = Bursts { left: count("bursts")?, waited: state["waited_s"].as_f64()? };
    let (sent, dropped) = (bursts.left, count("unasked_withheld")?);
    let counts = Counts { first_sent: sent, first_dropped: dropped, sent, dropped, policed: 0 };
    Some(Sample { at, delay: None, counts, bursts: Some(bursts) })
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
    fn what_the_edge_drops_is_counted_with_queues_behind_it_and_without() {
        let edge = |packets: u64, dropped: u64| {
            let classes = [
                json!({ "packets": [packets, dropped, 0], "dropped": [0, dropped, 0] }),
                json!({ "packets": null, "dropped": null }),
            ];
            json!({ "classes": classes })
        };
        let second = Duration::from_secs(1);
        let whole = |before: Value, after: Value| {
            let (mut series, now) = (Series::default(), Instant::now());
            series.add(now, &before, second * 9);
            series.add(now + second, &after, second * 9);
            let parts = series.parts(now, second * 2, 1);
            (parts.whole.sent, parts.whole.dropped, parts.whole.policed, parts.policed, parts.rates)
        };
        let alone = |packets, dropped| json!({ "classes": [], "edge": edge(packets, dropped) });
        assert_eq!(whole(alone(5, 5), alone(15, 95)), (10, 0, 90, vec![0.9], vec![10.0]));
        let neighbours = json!({ "class": BESIDE[0], "packets": 1000, "dropped": 50 });
        let queues = |packets: u64, dropped: u64| {
            let class = json!({ "class": "all", "packets": packets, "dropped": 0, "delay_s": 0.0 });
            let classes = if packets > 10 { json!([class, neighbours]) } else { json!([class]) };
            json!({ "classes": classes, "edge": edge(packets, dropped) })
        };
        assert_eq!(whole(queues(5, 5), queues(15, 95)), (10, 0, 90, vec![0.9], vec![10.0]));
    }

    #[test]
    fn bursts_of_a_profile_in_tcp_are_measured_by_how_long_each_waited_since_the_second_before() {
        let (mut series, now, second) = (Series::default(), Instant::now(), Duration::from_secs(1));
        // The last one is of another deployment.
        let all = [(10, 0.5, 0), (30, 1.0, 0), (30, 1.0, 5), (50, 2.0, 5), (1, 0.25, 0)];
        for (number, (left, waited, stopped)) in (0..).zip(all) {
            let state = json!({ "bursts": left, "waited_s": waited, "unasked_withheld": stopped });
            let stands = json!({ "classes": [], "tcp": { "state": state } });
            series.add(now + second * number, &stands, second * 60);
        }
        let parts = series.parts(now, second, 5);
        // Of 20 bursts 0.5 s, then none, then of 20 bursts 1 s.
        assert_eq!(parts.delays, [0.025, 0.05]);
        assert_eq!(parts.losses, [0.0, 1.0, 0.0]);
        assert_eq!((parts.whole.sent, parts.whole.dropped), (40, 5));
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
