//! The summary over all replicas of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::item::Item;
use crate::port::{Count, PortResult};
use crate::reading::Reading;
use crate::replica::{
    ClassResult, DatagramResult, DelayPercentiles, LongFlows, Replica, StreamResult, WorkloadResult,
};
use crate::stability;
use crate::survival::Survival;
use crate::voice;
use crate::warning::{Warning, WarningKind};

/// Each measure over the replicas of one run. A measure that no replica has is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many replicas.
    pub replicas: u32,
    /// For how long each was measured, in seconds.
    pub measured: f64,
    /// The workloads.
    pub workloads: Vec<WorkloadSummary>,
    /// The ports.
    pub ports: Vec<PortSummary>,
    /// Whatever else was counted.
    pub counters: BTreeMap<String, Estimate>,
    /// What the reader must know before trusting the numbers.
    pub warnings: Vec<Warning>,
}

/// A workload over all replicas.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSummary {
    /// The workload's name.
    pub name: String,
    /// What is timed; "transfers" below stands for these.
    #[serde(default, skip_serializing_if = "Item::is_transfer")]
    pub item: Item,
    /// Transfers completed, all replicas together.
    pub completed: u64,
    /// Transfers still open at the end, all replicas together.
    pub open: u64,
    /// The age of the oldest of those that began after the warm-up, in seconds.
    pub oldest_open: f64,
    /// Transfers that an end gave up for good, all replicas together.
    #[serde(default)]
    pub failed: u64,
    /// All its transfers.
    pub all: ClassSummary,
    /// Its transfers by size class.
    pub classes: Vec<ClassSummary>,
    /// Segments sent again, per completed transfer.
    pub retransmissions: Option<Estimate>,
    /// Retransmission timeouts, per completed transfer.
    pub timeouts: Option<Estimate>,
    /// The share of packets that were dropped anywhere, 0 to 1, among those of completed transfers.
    #[serde(default)]
    pub packet_loss: Option<Estimate>,
    /// Bits of replies that it was to ask for in a second, on average over all that may come; absent where that
    /// depends on what it gets.
    #[serde(default)]
    pub offered_load: Option<f64>,
    /// Bits of replies that it did ask for, per second.
    #[serde(default)]
    pub realised_load: Option<Estimate>,
    /// Application bits delivered in order, per second, both ways together.
    pub goodput: Option<Estimate>,
    /// The same of replies and of long flows.
    #[serde(default)]
    pub data_goodput: Option<Estimate>,
    /// The goodput of requests, which go the other way; absent without requests.
    #[serde(default)]
    pub request_goodput: Option<Estimate>,
    /// Its datagrams.
    pub datagrams: Option<DatagramSummary>,
    /// Its streams of datagrams one by one, if they are reported separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamSummary>,
    /// Jain's fairness index of its long flows.
    pub fairness: Option<Estimate>,
    /// Coefficient of variation of a long flow's throughput over time, mean over flows; where it was
    /// sampled.
    #[serde(default)]
    pub throughput_variation: Option<Estimate>,
    /// Samples of long flows in which nothing was delivered.
    #[serde(default)]
    pub idle_samples: Option<Estimate>,
    /// Transfers open in each of 64 equal parts of the measured time, mean over replicas.
    pub open_over_time: Vec<f64>,
}

/// Completion times of one size class over all replicas, in seconds. What was not complete at the end
/// counts as taking longer than its age then; a figure may be a lower bound for it. A percentile
/// beyond which fewer than 10 transfers of some replica lie is that of all replicas together, without
/// an interval; one beyond which fewer than 10 lie even then is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// The class's name.
    pub label: String,
    /// Transfers completed, all replicas together.
    pub n: u64,
    /// Bytes of their replies, all replicas together.
    #[serde(default)]
    pub reply_bytes: u64,
    /// Transfers still open at the end, all replicas together.
    pub open: u64,
    /// Those that began after the warm-up and were never complete: open at the end, or given up.
    #[serde(default)]
    pub unfinished: u64,
    /// Mean.
    pub mean: Option<Estimate>,
    /// Standard deviation.
    #[serde(default)]
    pub deviation: Option<Estimate>,
    /// 50th percentile.
    pub median: Option<Estimate>,
    /// 95th percentile.
    pub p95: Option<Estimate>,
    /// 99th percentile.
    pub p99: Option<Estimate>,
    /// The greatest of all.
    pub max: Option<Reading>,
    /// Mean time of the handshake.
    pub handshake: Option<Estimate>,
    /// Mean time of the request.
    pub request: Option<Estimate>,
    /// Mean time of the reply.
    pub reply: Option<Estimate>,
    /// What share took longer than each limit that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<OverSummary>,
    /// The distribution, all replicas together; a file of its own in results.
    #[serde(skip)]
    pub times: Survival,
}

/// The share of transfers that took longer than a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverSummary {
    /// The limit in seconds.
    pub limit: f64,
    /// The share, 0 to 1; absent where the data of some replica end before the limit.
    pub share: Option<Estimate>,
}

/// Percentiles of the delay of datagrams over all replicas, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DelaySummary {
    /// 50th percentile.
    #[serde(default)]
    pub delay_median: Option<Estimate>,
    /// 95th percentile.
    #[serde(default)]
    pub delay_p95: Option<Estimate>,
    /// 99th percentile.
    #[serde(default)]
    pub delay_p99: Option<Estimate>,
}

impl DelaySummary {
    fn over<T>(replicas: &[T], of: impl Fn(&T) -> &DelayPercentiles) -> Self {
        DelaySummary {
            delay_median: Estimate::over(replicas, |r| of(r).delay_median),
            delay_p95: Estimate::over(replicas, |r| of(r).delay_p95),
            delay_p99: Estimate::over(replicas, |r| of(r).delay_p99),
        }
    }
}

/// Percentiles of the jitter of datagrams over all replicas, in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JitterSummary {
    /// 50th percentile.
    #[serde(default)]
    pub jitter_median: Option<Estimate>,
    /// 95th percentile.
    #[serde(default)]
    pub jitter_p95: Option<Estimate>,
    /// 99th percentile.
    #[serde(default)]
    pub jitter_p99: Option<Estimate>,
}

impl JitterSummary {
    fn over(replicas: &[DatagramResult]) -> Self {
        JitterSummary {
            jitter_median: Estimate::over(replicas, |r| r.jitter_percentiles.jitter_median),
            jitter_p95: Estimate::over(replicas, |r| r.jitter_percentiles.jitter_p95),
            jitter_p99: Estimate::over(replicas, |r| r.jitter_percentiles.jitter_p99),
        }
    }
}

/// The quality of a call over datagrams, over all replicas; see [`Measure::RFactor`](crate::Measure::RFactor).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallSummary {
    /// The rating R.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r_factor: Option<Estimate>,
    /// The mean opinion score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mos: Option<Estimate>,
}

impl CallSummary {
    fn over<T>(replicas: &[T], rating: impl Fn(&T) -> Option<f64>) -> Self {
        CallSummary {
            r_factor: Estimate::over(replicas, &rating),
            mos: Estimate::over(replicas, |r| rating(r).map(voice::opinion)),
        }
    }
}

/// One stream of datagrams over all replicas; times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamSummary {
    /// Its name.
    pub name: String,
    /// What it sends, in bits per second.
    pub rate: u64,
    /// Sent, all replicas together.
    pub sent: u64,
    /// Mean one-way delay.
    pub delay: Option<Estimate>,
    /// Percentiles of the delay.
    #[serde(flatten)]
    pub percentiles: DelaySummary,
    /// Longest delay of a replica, mean over replicas.
    pub delay_max: Option<Estimate>,
    /// The share that did not arrive, 0 to 1.
    pub loss: Option<Estimate>,
    /// The quality of a call.
    #[serde(flatten)]
    pub call: CallSummary,
}

/// A workload's datagrams over all replicas; times in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramSummary {
    /// Sent, all replicas together.
    pub sent: u64,
    /// Mean one-way delay.
    pub delay: Option<Estimate>,
    /// What load adds to the mean delay: the rest is that of the idle path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_delay: Option<Estimate>,
    /// Percentiles of the delay.
    #[serde(flatten)]
    pub percentiles: DelaySummary,
    /// Standard deviation of the delay.
    pub delay_deviation: Option<Estimate>,
    /// Mean difference, without sign, of consecutive delays.
    pub jitter: Option<Estimate>,
    /// Percentiles of these differences.
    #[serde(flatten)]
    pub jitter_percentiles: JitterSummary,
    /// The share that did not arrive, 0 to 1.
    pub loss: Option<Estimate>,
    /// The quality of a call.
    #[serde(flatten)]
    pub call: CallSummary,
}

/// A port over all replicas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortSummary {
    /// The port's name.
    pub name: String,
    /// The share of time in which the link was sending, 0 to 1.
    pub utilisation: Option<Estimate>,
    /// The queue in packets, averaged over time.
    pub mean_queue_packets: Option<Estimate>,
    /// The queue in bytes, averaged over time.
    pub mean_queue_bytes: Option<Estimate>,
    /// Mean wait in the queue, in seconds.
    pub mean_wait: Option<Estimate>,
    /// Packets given an ECN mark.
    pub ecn_marks: Option<Estimate>,
    /// The share of arrived packets that were dropped, 0 to 1.
    pub loss: Option<Estimate>,
    /// The same by code point; code points without packets are omitted.
    pub code_points: Vec<CodePointSummary>,
}

/// One code point at a port, over all replicas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodePointSummary {
    /// The code point's name.
    pub name: String,
    /// Arrived, all replicas together.
    pub arrived: Count,
    /// The share of arrived packets that were dropped, 0 to 1.
    pub loss: Option<Estimate>,
    /// The share of arrived packets dropped for each reason, all replicas together; reasons without drops are
    /// omitted.
    pub reasons: BTreeMap<String, f64>,
}

impl Summary {
    /// What `replicas`, runs of one plan that differ in their seeds only, found.
    ///
    /// # Panics
    /// When there is no replica.
    pub fn from_replicas(replicas: &[Replica]) -> Summary {
        let first = replicas.first().expect("a summary needs at least one replica");
        let workloads: Vec<_> = (0..first.workloads.len())
            .map(|i| workload(&column(replicas, |r| &r.workloads[i]), first.measured))
            .collect();
        let warnings = workloads.iter().enumerate().flat_map(|(i, workload)| {
            let results = column(replicas, |r| &r.workloads[i]);
            let found = starved(&results).or_else(|| unmeasured(&results));
            stability::warnings(workload, replicas.len() as u32).into_iter().chain(found)
        });
        let warnings = warnings.collect();
        let ports = (0..first.ports.len())
            .map(|i| port(&column(replicas, |r| &r.ports[i]), first))
            .collect();
        let counter = |name: &String| {
            let estimate = Estimate::over(replicas, |r| r.counters.get(name).copied())?;
            Some((name.clone(), estimate))
        };
        Summary {
            replicas: replicas.len() as u32,
            measured: first.measured,
            warnings,
            workloads,
            ports,
            counters: first.counters.keys().filter_map(counter).collect(),
        }
    }

    /// The workload called `name`.
    pub fn workload(&self, name: &str) -> Option<&WorkloadSummary> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// All classes: of each workload the whole, then its size classes.
    pub fn classes(&self) -> impl Iterator<Item = &ClassSummary> {
        self.workloads.iter().flat_map(|w| std::iter::once(&w.all).chain(&w.classes))
    }

    /// The same, to be changed.
    pub(crate) fn classes_mut(&mut self) -> impl Iterator<Item = &mut ClassSummary> {
        self.workloads.iter_mut().flat_map(|w| std::iter::once(&mut w.all).chain(&mut w.classes))
    }

    /// The port called `name`.
    pub fn port(&self, name: &str) -> Option<&PortSummary> {
        self.ports.iter().find(|port| port.name == name)
    }
}

impl WorkloadSummary {
    /// The size class called `label`.
    pub fn class(&self, label: &str) -> Option<&ClassSummary> {
        self.classes.iter().find(|class| class.label == label)
    }
}

/// The same part of each replica.
fn column<T>(replicas: &[Replica], part: impl Fn(&Replica) -> &T) -> Vec<&T> {
    replicas.iter().map(part).collect()
}

fn workload(replicas: &[&WorkloadResult], measured: f64) -> WorkloadSummary {
    let first = replicas[0];
    let long_flows = |measure: &dyn Fn(&LongFlows) -> Option<f64>| {
        Estimate::over(replicas, |w| measure(w.long_flows.as_ref()?))
    };
    let classes = (0..first.classes.len())
        .map(|i| class(&replicas.iter().map(|w| &w.classes[i]).collect::<Vec<_>>()))
        .collect();
    // Zero is a result; the parts of pages are counted with their pages.
    let uses = |w: &&WorkloadResult| w.long_flows.is_some() || w.all.n() + w.open > 0;
    let delivers = replicas.iter().any(|w| w.delivered_bytes > 0)
        || !first.name.contains('/') && replicas.iter().any(uses);
    let asks = replicas.iter().any(|w| w.delivered_request_bytes > 0);
    let rate = |bytes: &dyn Fn(&WorkloadResult) -> Option<u64>| {
        Estimate::over(replicas, |w| Some(bytes(w)? as f64 * 8.0 / measured))
    };
    WorkloadSummary {
        name: first.name.clone(),
        item: first.item,
        completed: replicas.iter().map(|w| w.all.completion.n()).sum(),
        open: replicas.iter().map(|w| w.open).sum(),
        oldest_open: replicas.iter().map(|w| w.oldest_open).fold(0.0, f64::max),
        failed: replicas.iter().map(|w| w.failed).sum(),
        all: class(&replicas.iter().map(|w| &w.all).collect::<Vec<_>>()),
        classes,
        retransmissions: Estimate::over(replicas, |w| w.per_transfer(|w| w.retransmissions)),
        timeouts: Estimate::over(replicas, |w| w.per_transfer(|w| w.timeouts)),
        packet_loss: Estimate::share_over(replicas, |w| w.packet_loss()),
        offered_load: first.offered,
        realised_load: rate(&|w| w.offered.map(|_| w.asked_bytes)),
        goodput: rate(&|w| delivers.then_some(w.delivered_bytes)),
        data_goodput: rate(&|w| delivers.then(|| w.delivered_data_bytes())),
        request_goodput: rate(&|w| asks.then_some(w.delivered_request_bytes)),
        datagrams: datagrams(&replicas.iter().filter_map(|w| w.datagrams).collect::<Vec<_>>()),
        streams: (0..first.streams.len())
            .map(|i| stream(&replicas.iter().map(|w| &w.streams[i]).collect::<Vec<_>>()))
            .collect(),
        fairness: Estimate::share_over(replicas, |w| w.long_flows.as_ref()?.fairness()),
        throughput_variation: long_flows(&|long| long.throughput_variation()),
        idle_samples: long_flows(&|long| Some(long.idle_samples()? as f64)),
        open_over_time: stability::mean_over_replicas(replicas),
    }
}

/// What must be said of a workload that got nothing through, in some replicas or in all.
fn starved(replicas: &[&WorkloadResult]) -> Option<Warning> {
    let first = replicas[0];
    let count = replicas.iter().filter(|workload| workload.is_starved()).count();
    if count == 0 || first.name.contains('/') {
        return None;
    }
    let n = replicas.len();
    let times = if n == 1 { String::new() } else { format!(" in {count} of {n} replicas") };
    let flows = first.long_flows.is_some();
    let fairness = if flows {
        "; there, a fairness of 1 only means that all flows got equally \
        little"
    } else {
        ""
    };
    let message = format!(
        "{} was starved: nothing was delivered{times}, which counts as zero{fairness}",
        first.name
    );
    Some(Warning::new(WarningKind::Starved, message))
}

/// What must be said of a workload that has no figure in any table, since it sent nothing after the warm-up.
fn unmeasured(replicas: &[&WorkloadResult]) -> Option<Warning> {
    let name = &replicas[0].name;
    let is_unmeasured = !name.contains('/') && replicas.iter().all(|one| one.is_unmeasured());
    let message = format!("nothing of {name} was measured: it sent nothing after the warm-up");
    let help = "start it later, let it send more, or shorten `warm_up`";
    is_unmeasured.then(|| Warning::new(WarningKind::Unmeasured, message).with_help(help))
}

fn class(replicas: &[&ClassResult]) -> ClassSummary {
    let mut pooled = replicas[0].clone();
    replicas[1..].iter().for_each(|replica| pooled.merge(replica));
    let with_some = replicas.iter().filter(|class| class.n() > 0).count() as u32;
    let percentile = |quantile, of: fn(&ClassResult) -> Option<Reading>| match replicas
        .iter()
        .all(|class| Survival::resolves(class.n(), quantile))
    {
        true => Estimate::over_readings(replicas, |class| of(class)),
        false => pooled
            .times
            .resolved_quantile(quantile)
            .map(|reading| Estimate::pooled(reading, with_some)),
    };
    ClassSummary {
        n: pooled.completion.n(),
        reply_bytes: pooled.reply_bytes,
        open: pooled.open,
        unfinished: pooled.unfinished,
        mean: Estimate::over_readings(replicas, |c| c.mean()),
        deviation: Estimate::over_readings(replicas, |c| c.deviation()),
        median: percentile(0.50, |c| c.median),
        p95: percentile(0.95, |c| c.p95),
        p99: percentile(0.99, |c| c.p99),
        max: pooled.max(),
        handshake: Estimate::over(replicas, |c| c.handshake.mean()),
        request: Estimate::over(replicas, |c| c.request.mean()),
        reply: Estimate::over(replicas, |c| c.reply.mean()),
        over: (0..pooled.over.len())
            .map(|i| OverSummary { limit: pooled.over[i].limit, share: share_over(replicas, i) })
            .collect(),
        label: pooled.label,
        times: pooled.times,
    }
}

/// The share over a limit; nothing as soon as one replica with transfers cannot tell.
fn share_over(replicas: &[&ClassResult], limit: usize) -> Option<Estimate> {
    let cannot_tell = |class: &&ClassResult| class.n() > 0 && class.share_over(limit).is_none();
    match replicas.iter().any(cannot_tell) {
        true => None,
        false => Estimate::share_over(replicas, |class| class.share_over(limit)),
    }
}

fn stream(replicas: &[&StreamResult]) -> StreamSummary {
    StreamSummary {
        name: replicas[0].name.clone(),
        rate: replicas[0].rate,
        sent: replicas.iter().map(|s| s.sent).sum(),
        delay: Estimate::over(replicas, |s| s.delay),
        percentiles: DelaySummary::over(replicas, |s| &s.percentiles),
        delay_max: Estimate::over(replicas, |s| s.delay_max),
        loss: Estimate::share_over(replicas, |s| s.loss()),
        call: CallSummary::over(replicas, |s| s.rating()),
    }
}

fn datagrams(replicas: &[DatagramResult]) -> Option<DatagramSummary> {
    (!replicas.is_empty()).then(|| DatagramSummary {
        sent: replicas.iter().map(|d| d.sent).sum(),
        delay: Estimate::over(replicas, |d| d.delay),
        added_delay: Estimate::over(replicas, DatagramResult::added_delay),
        percentiles: DelaySummary::over(replicas, |d| &d.percentiles),
        delay_deviation: Estimate::over(replicas, |d| d.delay_deviation),
        jitter: Estimate::over(replicas, |d| d.jitter),
        jitter_percentiles: JitterSummary::over(replicas),
        loss: Estimate::share_over(replicas, DatagramResult::loss),
        call: CallSummary::over(replicas, DatagramResult::rating),
    })
}

fn port(replicas: &[&PortResult], names: &Replica) -> PortSummary {
    let over = |measure: fn(&PortResult) -> f64| Estimate::over(replicas, |p| Some(measure(p)));
    PortSummary {
        name: replicas[0].name.clone(),
        utilisation: Estimate::share_over(replicas, |p| Some(p.utilisation)),
        mean_queue_packets: over(|p| p.mean_queue_packets),
        mean_queue_bytes: over(|p| p.mean_queue_bytes),
        mean_wait: over(|p| p.mean_wait),
        ecn_marks: over(|p| p.ecn_marks as f64),
        loss: Estimate::share_over(replicas, |p| p.loss()),
        code_points: (0..names.code_points.len())
            .map(|i| code_point(replicas, i, names))
            .filter(|summary| summary.arrived.packets > 0)
            .collect(),
    }
}

fn code_point(replicas: &[&PortResult], index: usize, names: &Replica) -> CodePointSummary {
    let mut arrived = Count::default();
    let mut dropped = vec![0; names.drop_reasons.len()];
    for counts in replicas.iter().filter_map(|port| port.code_points.get(index)) {
        arrived += counts.arrived;
        for (sum, count) in dropped.iter_mut().zip(&counts.dropped) {
            *sum += count.packets;
        }
    }
    let reasons = names.drop_reasons.iter().zip(dropped).filter(|(_, packets)| *packets > 0);
    CodePointSummary {
        name: names.code_points[index].clone(),
        arrived,
        loss: Estimate::share_over(replicas, |port| port.code_points.get(index)?.loss()),
        reasons: reasons
            .map(|(name, packets)| (name.clone(), packets as f64 / arrived.packets as f64))
            .collect(),
    }
}
