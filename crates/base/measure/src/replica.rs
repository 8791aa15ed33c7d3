//! The results of one replica.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shortflow_units::Duration;

use crate::estimate::{jain, mean};
use crate::item::Item;
use crate::moments::Moments;
use crate::port::{PortResult, Sample};
use crate::reading::Reading;
use crate::stability::OpenOverTime;
use crate::survival::Survival;
use crate::throughput::ThroughputSamples;
use crate::transfer::Transfer;
use crate::voice;

/// What one replica found, from the warm-up's end to the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replica {
    /// Its number: replicas of one number have the same arrivals under each policy.
    #[serde(default)]
    pub number: u32,
    /// For how long it was measured, in seconds.
    pub measured: f64,
    /// The names of code points, by index.
    pub code_points: Vec<String>,
    /// The names of reasons for drops, by index.
    pub drop_reasons: Vec<String>,
    /// The workloads, in the plan's order.
    pub workloads: Vec<WorkloadResult>,
    /// The ports, in the plan's order.
    pub ports: Vec<PortResult>,
    /// Whatever else was counted, by name.
    pub counters: BTreeMap<String, f64>,
    /// The time series; a file of its own in results.
    #[serde(skip)]
    pub series: Vec<Sample>,
    /// What clients asked for, by workload: the columns, then a line for each page. Where it was
    /// asked for; files of their own in results.
    #[serde(skip)]
    pub accesses: BTreeMap<String, Vec<String>>,
}

impl Replica {
    /// The workload called `name`.
    pub fn workload(&self, name: &str) -> Option<&WorkloadResult> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The port called `name`.
    pub fn port(&self, name: &str) -> Option<&PortResult> {
        self.ports.iter().find(|port| port.name == name)
    }

    /// Whether both found the same in everything: then they are one run, under two numbers.
    pub fn is_same_run(&self, other: &Replica) -> bool {
        let Replica {
            number: _,
            measured,
            code_points,
            drop_reasons,
            workloads,
            ports,
            counters,
            series,
            accesses,
        } = self;
        *measured == other.measured
            && *counters == other.counters
            && *workloads == other.workloads
            && *ports == other.ports
            && *series == other.series
            && *accesses == other.accesses
            && *code_points == other.code_points
            && *drop_reasons == other.drop_reasons
    }

    /// Whether several replicas are all the same run, because nothing in the scenario is random.
    pub fn are_identical<'r>(replicas: impl IntoIterator<Item = &'r Replica>) -> bool {
        let mut replicas = replicas.into_iter();
        let Some(first) = replicas.next() else { return false };
        let mut others = replicas.peekable();
        others.peek().is_some() && others.all(|other| first.is_same_run(other))
    }
}

/// What one replica found about a workload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// The workload's name.
    pub name: String,
    /// What is timed; "transfers" below stands for these.
    #[serde(default, skip_serializing_if = "Item::is_transfer")]
    pub item: Item,
    /// All its completed transfers.
    pub all: ClassResult,
    /// Its completed transfers by size class.
    pub classes: Vec<ClassResult>,
    /// Transfers still open at the end, whenever they began.
    pub open: u64,
    /// The age of the oldest of those that began after the warm-up, in seconds.
    pub oldest_open: f64,
    /// Transfers that an end gave up for good: its retries were used up, or it was reset.
    #[serde(default)]
    pub failed: u64,
    /// Segments sent again by completed transfers.
    pub retransmissions: u64,
    /// Their retransmission timeouts.
    pub timeouts: u64,
    /// Their SYNs and SYN-ACKs sent again.
    pub syn_retransmissions: u64,
    /// Packets that they sent.
    pub sent: u64,
    /// Packets of theirs that were dropped.
    pub dropped: u64,
    /// Packets that they sent as green, yellow, red and other.
    pub colors: [u64; 4],
    /// The reply bits that it requests per second on average; absent if that depends on its throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<f64>,
    /// Bytes of the replies that transfers asked for which began after the warm-up, complete or not.
    #[serde(default)]
    pub asked_bytes: u64,
    /// Application bytes delivered in order, of completed and of other connections.
    pub delivered_bytes: u64,
    /// Of these, the bytes of requests; the others are those of replies and of long flows, which go the
    /// other way.
    #[serde(default)]
    pub delivered_request_bytes: u64,
    /// Its datagrams, if it sent any.
    pub datagrams: Option<DatagramResult>,
    /// Its streams of datagrams one by one, if they are reported separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamResult>,
    /// Its long flows, if it has any.
    pub long_flows: Option<LongFlows>,
    /// How many transfers were open over time.
    pub open_over_time: OpenOverTime,
}

impl WorkloadResult {
    /// The size class called `name`; `all` is all of them together.
    pub fn class(&self, name: &str) -> Option<&ClassResult> {
        match name {
            "all" => Some(&self.all),
            name => self.classes.iter().find(|class| class.is_called(name)),
        }
    }

    /// The same, to be changed.
    pub fn class_mut(&mut self, name: &str) -> Option<&mut ClassResult> {
        match name {
            "all" => Some(&mut self.all),
            name => self.classes.iter_mut().find(|class| class.is_called(name)),
        }
    }

    /// The share of the reply bytes that were carried, for completed transfers and others, that is in
    /// transfers larger than those of the size class called `name`, 0 to 1.
    pub fn bytes_above(&self, name: &str) -> Option<f64> {
        let class = self.classes.iter().position(|class| class.is_called(name))?;
        let below: u64 = self.classes[..=class].iter().map(ClassResult::carried_bytes).sum();
        let all = self.all.carried_bytes();
        (all > 0).then(|| (all - below) as f64 / all as f64)
    }

    /// A count over completed transfers, by their number.
    pub(crate) fn per_transfer(&self, count: fn(&WorkloadResult) -> u64) -> Option<f64> {
        let n = self.all.completion.n();
        (n > 0).then(|| count(self) as f64 / n as f64)
    }

    /// Application bytes delivered in order of replies and of long flows.
    pub fn delivered_data_bytes(&self) -> u64 {
        self.delivered_bytes - self.delivered_request_bytes
    }

    /// Whether it asked for something, perhaps before the warm-up, and got nothing at all through.
    pub fn is_starved(&self) -> bool {
        let asks = self.long_flows.is_some() || self.all.n() > 0 || self.open > 0;
        let sends = self.datagrams.is_some_and(|datagrams| datagrams.sent > 0);
        let arrives = self.datagrams.is_some_and(|datagrams| datagrams.delivered > 0);
        (asks || sends) && self.all.completion.n() == 0 && self.delivered_bytes == 0 && !arrives
    }

    /// Whether it neither began nor delivered anything after the warm-up.
    pub fn is_unmeasured(&self) -> bool {
        let transfers = self.all.n() + self.open + self.failed + self.asked_bytes;
        let sends = self.datagrams.is_some_and(|datagrams| datagrams.sent > 0);
        transfers == 0 && self.delivered_bytes == 0 && self.long_flows.is_none() && !sends
    }

    /// The share of packets that were dropped anywhere, 0 to 1, among those that completed transfers
    /// sent, both ways.
    pub fn packet_loss(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.dropped as f64 / self.sent as f64)
    }
}

/// Completion times of the transfers of one size class, in seconds. Those that were not complete at
/// the end count as taking longer than their age then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassResult {
    /// The class's name.
    pub label: String,
    /// Its largest reply in bytes; none for all classes together, and where there is no bound.
    #[serde(default)]
    pub up_to: Option<u64>,
    /// Bytes of the replies of completed transfers.
    #[serde(default)]
    pub reply_bytes: u64,
    /// Bytes of the replies of others that had reached the client at the end.
    #[serde(default)]
    pub unfinished_bytes: u64,
    /// Transfers still open at the end, whenever they began.
    pub open: u64,
    /// Those that began after the warm-up and were never complete: open at the end, or given up.
    #[serde(default)]
    pub unfinished: u64,
    /// The age of the oldest of these at the end, in seconds.
    #[serde(default)]
    pub oldest_unfinished: f64,
    /// Completion times of completed transfers: count, mean, deviation, greatest.
    pub completion: Moments,
    /// Times of the handshake.
    pub handshake: Moments,
    /// Times of the request.
    pub request: Moments,
    /// Times of the reply.
    pub reply: Moments,
    /// Mean completion time up to the oldest age, computed when the recording ends; absent if all are complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restricted_mean: Option<Reading>,
    /// Standard deviation of completion times, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restricted_deviation: Option<Reading>,
    /// Median completion time, computed when the recording ends.
    pub median: Option<Reading>,
    /// 95th percentile of completion times, likewise.
    pub p95: Option<Reading>,
    /// 99th percentile of completion times, likewise.
    pub p99: Option<Reading>,
    /// How many took longer than each limit of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<OverLimit>,
    /// The distribution of completion times; omitted in files, which keep only that of all replicas together.
    #[serde(skip)]
    pub times: Survival,
}

impl ClassResult {
    /// Whether this is the class called `name`; one by its bound, `up to 10 KB`, is called `10 KB`
    /// too.
    pub fn is_called(&self, name: &str) -> bool {
        self.label == name || self.label.strip_prefix("up to ") == Some(name)
    }

    /// Counts a completed transfer in.
    pub fn record(&mut self, transfer: &Transfer) {
        self.reply_bytes += transfer.reply_bytes;
        self.completion.add(transfer.completion().as_secs_f64());
        self.handshake.add(transfer.handshake.as_secs_f64());
        self.request.add(transfer.request.as_secs_f64());
        self.reply.add(transfer.reply.as_secs_f64());
        self.times.complete(transfer.completion());
        for over in &mut self.over {
            over.completed += u64::from(transfer.completion().as_secs_f64() > over.limit);
        }
    }

    /// The share of transfers that take longer than limit number `limit` of the plan, 0 to 1. Where
    /// some are not complete at the end it is the product limit's (see [`Survival`]); nothing where the
    /// data end before the limit.
    pub fn share_over(&self, limit: usize) -> Option<f64> {
        let over = self.over.get(limit)?;
        if self.unfinished > 0 {
            return over.estimated;
        }
        let known = self.completion.n() + over.open;
        (known > 0).then(|| (over.completed + over.open) as f64 / known as f64)
    }

    /// Counts a transfer in that was not complete at the end, when it was `age` old.
    pub fn record_unfinished(&mut self, age: Duration, carried_bytes: u64) {
        let seconds = age.as_secs_f64();
        self.unfinished += 1;
        self.unfinished_bytes += carried_bytes;
        self.oldest_unfinished = self.oldest_unfinished.max(seconds);
        self.times.leave_unfinished(age);
        for over in &mut self.over {
            over.open += u64::from(seconds > over.limit);
        }
    }

    /// Computes means and percentiles of what was counted.
    pub fn settle(&mut self) {
        let curve = self.times.curve();
        self.restricted_mean = curve.restricted_mean();
        self.restricted_deviation = curve.restricted_deviation();
        self.median = curve.quantile(0.50);
        self.p95 = curve.quantile(0.95);
        self.p99 = curve.quantile(0.99);
        if self.unfinished > 0 {
            self.over.iter_mut().for_each(|over| over.estimated = curve.share_over(over.limit));
        }
    }

    /// Adds all counts of `other`. Means and percentiles must then be [settled](Self::settle) again.
    pub fn merge(&mut self, other: &ClassResult) {
        self.reply_bytes += other.reply_bytes;
        self.unfinished_bytes += other.unfinished_bytes;
        self.open += other.open;
        self.unfinished += other.unfinished;
        self.oldest_unfinished = self.oldest_unfinished.max(other.oldest_unfinished);
        self.completion.merge(&other.completion);
        self.handshake.merge(&other.handshake);
        self.request.merge(&other.request);
        self.reply.merge(&other.reply);
        self.times.merge(&other.times);
        for (sum, over) in self.over.iter_mut().zip(&other.over) {
            sum.completed += over.completed;
            sum.open += over.open;
        }
    }

    /// How many transfers there were, complete or not, since the warm-up's end.
    pub fn n(&self) -> u64 {
        self.completion.n() + self.unfinished
    }

    /// Bytes of replies that reached the client, of all these transfers.
    pub fn carried_bytes(&self) -> u64 {
        self.reply_bytes + self.unfinished_bytes
    }

    /// The mean completion time in seconds.
    pub fn mean(&self) -> Option<Reading> {
        self.restricted_mean.or(self.completion.mean().map(Reading::Exact))
    }

    /// The standard deviation of completion times in seconds.
    pub fn deviation(&self) -> Option<Reading> {
        self.restricted_deviation.or(self.completion.deviation().map(Reading::Exact))
    }

    /// The coefficient of variation of completion times. Where the mean or the deviation is only
    /// bounded, their ratio is not known at all.
    pub fn variation(&self) -> Option<f64> {
        match (self.restricted_mean, self.restricted_deviation) {
            (Some(mean), Some(deviation)) => Some(deviation.exact()? / mean.exact()?),
            _ => self.completion.variation(),
        }
    }

    /// The longest completion time in seconds; a bound where something unfinished is older.
    pub fn max(&self) -> Option<Reading> {
        match self.completion.max() {
            Some(max) if self.unfinished == 0 || max > self.oldest_unfinished => {
                Some(Reading::Exact(max))
            }
            None if self.unfinished == 0 => None,
            _ => Some(Reading::at_least(self.oldest_unfinished)),
        }
    }
}

/// How many transfers took longer than a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct OverLimit {
    /// The limit in seconds.
    pub limit: f64,
    /// Completed, in more than that.
    pub completed: u64,
    /// Not complete at the end, and older than that.
    pub open: u64,
    /// The share of all that take longer, computed when the recording ends; where some are not
    /// complete, and the data do not end before the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated: Option<f64>,
}

/// Percentiles of the delays of datagrams that were delivered, in seconds. One beyond which fewer
/// than 10 datagrams lie is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayPercentiles {
    /// The delay that half of them do not exceed.
    #[serde(default)]
    pub delay_median: Option<f64>,
    /// The delay that 95 % of them do not exceed.
    #[serde(default)]
    pub delay_p95: Option<f64>,
    /// The delay that 99 % of them do not exceed.
    #[serde(default)]
    pub delay_p99: Option<f64>,
}

impl DelayPercentiles {
    /// The percentiles of these delays.
    pub(crate) fn from_survival(delays: &Survival) -> Self {
        let at = |quantile| delays.resolved_quantile(quantile).and_then(Reading::exact);
        DelayPercentiles { delay_median: at(0.50), delay_p95: at(0.95), delay_p99: at(0.99) }
    }
}

/// Percentiles of the jitter of datagrams, in seconds: of the differences, without sign, of the delays
/// of consecutive datagrams of a stream. One beyond which fewer than 10 of them lie is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct JitterPercentiles {
    /// The difference that half of them do not exceed.
    #[serde(default)]
    pub jitter_median: Option<f64>,
    /// The difference that 95 % of them do not exceed.
    #[serde(default)]
    pub jitter_p95: Option<f64>,
    /// The difference that 99 % of them do not exceed.
    #[serde(default)]
    pub jitter_p99: Option<f64>,
}

impl JitterPercentiles {
    /// The percentiles of these differences.
    pub(crate) fn from_survival(differences: &Survival) -> Self {
        let at = |quantile| differences.resolved_quantile(quantile).and_then(Reading::exact);
        JitterPercentiles { jitter_median: at(0.50), jitter_p95: at(0.95), jitter_p99: at(0.99) }
    }
}

/// What became of one stream of datagrams; times in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Its name.
    pub name: String,
    /// What it sends, in bits per second.
    pub rate: u64,
    /// Sent since the warm-up's end.
    pub sent: u64,
    /// Of these, dropped.
    pub dropped: u64,
    /// Of these, delivered.
    pub delivered: u64,
    /// Mean one-way delay.
    pub delay: Option<f64>,
    /// Percentiles of the delay.
    #[serde(flatten)]
    pub percentiles: DelayPercentiles,
    /// Longest delay.
    pub delay_max: Option<f64>,
}

impl StreamResult {
    /// The share of datagrams that were dropped, among those whose fate is known.
    pub fn loss(&self) -> Option<f64> {
        let known = self.dropped + self.delivered;
        (known > 0).then(|| self.dropped as f64 / known as f64)
    }

    /// The rating of a call over these datagrams.
    pub(crate) fn rating(&self) -> Option<f64> {
        voice::rating(&self.percentiles, self.delay_max, self.loss())
    }
}

/// What became of a workload's datagrams; times in seconds.
///
/// Delay and jitter are over consecutive deliveries of the whole workload, so a workload of one
/// flow gives that flow's jitter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramResult {
    /// Sent since the warm-up's end.
    pub sent: u64,
    /// Of these, dropped.
    #[serde(default)]
    pub dropped: u64,
    /// Of these, delivered.
    pub delivered: u64,
    /// Mean one-way delay.
    pub delay: Option<f64>,
    /// What the path takes when it carries nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_delay: Option<f64>,
    /// Percentiles of the delay.
    #[serde(flatten)]
    pub percentiles: DelayPercentiles,
    /// Standard deviation of the delay.
    pub delay_deviation: Option<f64>,
    /// Longest delay.
    pub delay_max: Option<f64>,
    /// Mean difference, without sign, of the delays of consecutive datagrams (RFC 3550 §6.4.1).
    pub jitter: Option<f64>,
    /// Percentiles of these differences.
    #[serde(flatten)]
    pub jitter_percentiles: JitterPercentiles,
}

impl DatagramResult {
    /// The share of datagrams that were dropped, among those whose fate is known: what is under way
    /// at the end is neither lost nor delivered.
    pub fn loss(&self) -> Option<f64> {
        let known = self.dropped + self.delivered;
        (known > 0).then(|| self.dropped as f64 / known as f64)
    }

    /// What load adds to the mean delay, in seconds, without what rounding makes of it. Where sizes differ, those that arrived may
    /// be smaller than the mean size, which adds nothing.
    pub(crate) fn added_delay(&self) -> Option<f64> {
        const PARTS: f64 = 1e12;
        Some((((self.delay? - self.idle_delay?) * PARTS).round() / PARTS).max(0.0))
    }

    /// The rating of a call over these datagrams.
    pub(crate) fn rating(&self) -> Option<f64> {
        voice::rating(&self.percentiles, self.delay_max, self.loss())
    }
}

/// How a workload's long flows shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LongFlows {
    /// Each flow's goodput in bits per second.
    pub rates: Vec<f64>,
    /// The max–min fair goodput of each, in the same order, in bits per second; absent if all would get the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<f64>,
    /// What each flow got over time, in the same order; where it was sampled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<ThroughputSamples>,
}

impl LongFlows {
    /// Jain's fairness index of their goodputs.
    pub fn fairness(&self) -> Option<f64> {
        jain(&self.rates)
    }

    /// The same of goodputs over max–min fair shares, R_i/s_i: 1 where each gets what is fair behind its own
    /// bottleneck (Mehra, Tewari & Kandlur 1999, §2).
    pub fn max_min_fairness(&self) -> Option<f64> {
        if self.shares.is_empty() {
            return self.fairness();
        }
        let parts = self.rates.iter().zip(&self.shares).map(|(rate, share)| rate / share);
        jain(&parts.collect::<Vec<_>>())
    }

    /// Their mean goodput in bits per second.
    pub fn mean_rate(&self) -> Option<f64> {
        mean(&self.rates)
    }

    /// The coefficient of variation of a flow's throughput samples, mean over flows. Flows without any delivery are
    /// omitted.
    pub fn throughput_variation(&self) -> Option<f64> {
        let variations = self.samples.iter().filter_map(|flow| flow.throughput.variation());
        mean(&variations.collect::<Vec<_>>())
    }

    /// How many samples there are, over all flows, in which nothing was delivered.
    pub fn idle_samples(&self) -> Option<u64> {
        (!self.samples.is_empty()).then(|| self.samples.iter().map(|flow| flow.idle).sum())
    }
}
