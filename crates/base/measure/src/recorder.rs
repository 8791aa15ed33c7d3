//! Records the events of a running replica.

use shortflow_units::{Duration, Instant};

use crate::moments::Moments;
use crate::plan::{End, Plan, StreamPlan, WorkloadPlan};
use crate::port::{PortCounts, PortResult, Sample};
use crate::replica::{
    ClassResult, DatagramResult, DelayPercentiles, JitterPercentiles, LongFlows, OverLimit,
    Replica, StreamResult, WorkloadResult,
};
use crate::results::{self, TransferSink};
use crate::stability::OpenOverTime;
use crate::survival::Survival;
use crate::throughput::ThroughputSamples;
use crate::transfer::{Transfer, TransferState};

/// Records one replica. Owned by the run; its memory does not grow with simulated time, but for
/// the rows of time series that were asked for.
#[derive(Debug)]
pub struct Recorder {
    warm_up: Instant,
    end: Instant,
    drain: Duration,
    classes: Vec<Vec<u64>>,
    /// The end of connections to which the data of each workload goes.
    data_to: Vec<End>,
    sink: Option<TransferSink>,
    datagrams: Vec<DatagramTracker>,
    /// What a datagram takes over its idle path, by stream.
    idle_delays: Vec<f64>,
    /// The delay of the datagram before, by stream.
    last_delays: Vec<Option<Duration>>,
    /// The streams that are reported on their own, by index.
    streams: Vec<Option<StreamTracker>>,
    replica: Replica,
}

/// The totals of one workload's datagrams.
#[derive(Debug, Clone, Default)]
struct DatagramTracker {
    idle_delay: Moments,
    delay: Moments,
    delays: Survival,
    jitter: Moments,
    jitters: Survival,
    sent: u64,
    dropped: u64,
}

/// The totals of one stream's datagrams.
#[derive(Debug, Clone)]
struct StreamTracker {
    plan: StreamPlan,
    delay: Moments,
    delays: Survival,
    sent: u64,
    dropped: u64,
}

impl Recorder {
    /// A recorder of what `plan` says, which streams each transfer to `transfers`.
    pub fn new(plan: &Plan, transfers: Option<TransferSink>) -> Self {
        let bounds = |w: &WorkloadPlan| w.size_classes.iter().map(|c| c.max_bytes).collect();
        Recorder {
            warm_up: plan.warm_up,
            end: plan.end,
            drain: plan.drain,
            classes: plan.workloads.iter().map(bounds).collect(),
            data_to: plan.workloads.iter().map(|workload| workload.data_to).collect(),
            sink: transfers,
            datagrams: vec![DatagramTracker::default(); plan.workloads.len()],
            idle_delays: plan.idle_delays.clone(),
            last_delays: Vec::new(),
            streams: plan
                .streams
                .iter()
                .map(|stream| stream.clone().map(StreamTracker::new))
                .collect(),
            replica: Replica {
                number: 0,
                measured: plan.measured().as_secs_f64(),
                code_points: plan.code_points.clone(),
                drop_reasons: plan.drop_reasons.clone(),
                workloads: plan.workloads.iter().map(|w| empty_workload(w, plan)).collect(),
                ports: plan.ports.iter().map(|name| empty_port(name)).collect(),
                counters: Default::default(),
                series: Vec::new(),
                accesses: Default::default(),
            },
        }
    }

    /// A transfer has completed. One that started before the warm-up's end is streamed to disk,
    /// but counts in no statistic.
    pub fn transfer(&mut self, transfer: &Transfer) {
        let is_counted = transfer.start >= self.warm_up;
        if let Some(sink) = &mut self.sink {
            sink.write(transfer, TransferState::Completed, is_counted, transfer.completion());
        }
        let at = usize::from(transfer.workload);
        let workload = &mut self.replica.workloads[at];
        workload.open_over_time.add(transfer.start, transfer.start + transfer.completion());
        if !is_counted {
            return;
        }
        workload.asked_bytes += transfer.reply_bytes;
        workload.all.record(transfer);
        if let Some(class) = class_of(&self.classes[at], transfer.reply_bytes) {
            workload.classes[class].record(transfer);
        }
        workload.retransmissions += u64::from(transfer.retransmissions);
        workload.timeouts += u64::from(transfer.timeouts);
        workload.syn_retransmissions += u64::from(transfer.syn_retransmissions);
        workload.sent += u64::from(transfer.sent);
        workload.dropped += u64::from(transfer.dropped);
        for (sum, count) in workload.colors.iter_mut().zip(transfer.colors) {
            *sum += u64::from(count);
        }
    }

    /// A transfer was given up by one of its ends, at `now`: it would never complete, so it counts
    /// like one that is open at the end.
    pub fn failed_transfer(&mut self, now: Instant, failed: &Transfer) {
        let is_measured = failed.start >= self.warm_up;
        let workload = &mut self.replica.workloads[usize::from(failed.workload)];
        workload.open_over_time.add(failed.start, now);
        workload.failed += u64::from(is_measured);
        self.unfinished(failed, TransferState::Failed);
    }

    /// A transfer is still open at the end of the run. It is among the open ones whenever it started;
    /// one that began before the warm-up's end counts in no figure and in no warning.
    pub fn open_transfer(&mut self, open: &Transfer) {
        let at = usize::from(open.workload);
        let age = (self.end + self.drain).since(open.start).as_secs_f64();
        let is_counted = open.start >= self.warm_up;
        let workload = &mut self.replica.workloads[at];
        workload.open_over_time.add(open.start, self.end);
        workload.open += 1;
        if is_counted {
            workload.oldest_open = workload.oldest_open.max(age);
        }
        workload.all.open += 1;
        if let Some(class) = class_of(&self.classes[at], open.reply_bytes) {
            workload.classes[class].open += 1;
        }
        self.unfinished(open, TransferState::Open);
    }

    /// A transfer takes longer than its age at the end of the run. One that began before the
    /// warm-up's end is streamed to disk, but counts in no statistic.
    fn unfinished(&mut self, transfer: &Transfer, state: TransferState) {
        let is_counted = transfer.start >= self.warm_up;
        let age = (self.end + self.drain).since(transfer.start);
        if let Some(sink) = &mut self.sink {
            sink.write(transfer, state, is_counted, age);
        }
        if !is_counted {
            return;
        }
        let at = usize::from(transfer.workload);
        let workload = &mut self.replica.workloads[at];
        workload.asked_bytes += transfer.reply_bytes;
        workload.all.record_unfinished(age, transfer.carried_bytes);
        if let Some(class) = class_of(&self.classes[at], transfer.reply_bytes) {
            workload.classes[class].record_unfinished(age, transfer.carried_bytes);
        }
    }

    /// `bytes` of the application were delivered in order to this end of a connection; counted during the measured
    /// time.
    #[inline]
    pub fn goodput(&mut self, now: Instant, workload: u16, to: End, bytes: u64) {
        if now >= self.warm_up && now <= self.end {
            let at = usize::from(workload);
            let found = &mut self.replica.workloads[at];
            found.delivered_bytes += bytes;
            if to != self.data_to[at] {
                found.delivered_request_bytes += bytes;
            }
        }
    }

    /// At the end: a long flow of `workload` got `bytes` through since the warm-up's end, spread over
    /// time like `samples` where they were taken.
    pub fn long_flow(&mut self, workload: u16, bytes: u64, samples: Option<ThroughputSamples>) {
        let rate = bytes as f64 * 8.0 / self.replica.measured;
        let long = &mut self.replica.workloads[usize::from(workload)].long_flows;
        let long = long.get_or_insert_with(LongFlows::default);
        long.rates.push(rate);
        long.samples.extend(samples);
    }

    /// What each long flow of `workload` would get if the network were max–min fair, in bits per second and in the
    /// order in which they were recorded.
    pub fn max_min_shares(&mut self, workload: u16, shares: Vec<f64>) {
        let long = &mut self.replica.workloads[usize::from(workload)].long_flows;
        let is_same = shares.windows(2).all(|pair| pair[0] == pair[1]);
        if let Some(long) = long.as_mut().filter(|_| !is_same) {
            assert_eq!(shares.len(), long.rates.len(), "each long flow has a share");
            long.shares = shares;
        }
    }

    /// A datagram was sent. `stream` counts over all workloads.
    #[inline]
    pub fn datagram_sent(&mut self, now: Instant, workload: u16, stream: u32) {
        if now >= self.warm_up {
            self.datagrams[usize::from(workload)].sent += 1;
            if let Some(tracker) = self.stream(stream) {
                tracker.sent += 1;
            }
        }
    }

    /// A datagram that was sent at `sent_at` was dropped.
    pub fn datagram_dropped(&mut self, sent_at: Instant, workload: u16, stream: u32) {
        if sent_at >= self.warm_up {
            self.datagrams[usize::from(workload)].dropped += 1;
            if let Some(tracker) = self.stream(stream) {
                tracker.dropped += 1;
            }
        }
    }

    #[inline]
    fn stream(&mut self, stream: u32) -> Option<&mut StreamTracker> {
        self.streams.get_mut(stream as usize)?.as_mut()
    }

    /// A datagram that was sent `delay` ago was delivered. `stream` counts over all workloads: jitter
    /// is between datagrams of one sender and one receiver.
    #[inline]
    pub fn datagram(&mut self, now: Instant, workload: u16, stream: u32, delay: Duration) {
        if now.nanos() < self.warm_up.nanos() + delay.nanos() {
            return;
        }
        let tracker = &mut self.datagrams[usize::from(workload)];
        let time = delay;
        let delay = time.as_secs_f64();
        tracker.delay.add(delay);
        tracker.delays.complete(time);
        self.idle_delays.get(stream as usize).inspect(|idle| tracker.idle_delay.add(**idle));
        if let Some(Some(tracker)) = self.streams.get_mut(stream as usize) {
            tracker.delay.add(delay);
            tracker.delays.complete(time);
        }
        // RFC 3550 §6.4.1: D(i−1, i) is the difference of two consecutive transit times. Its mean
        // and percentiles are taken over all pairs, where the RFC smooths it for a receiver that
        // reports live.
        let stream = stream as usize;
        if stream >= self.last_delays.len() {
            self.last_delays.resize(stream + 1, None);
        }
        if let Some(last) = self.last_delays[stream].replace(time) {
            tracker.jitter.add((delay - last.as_secs_f64()).abs());
            tracker.jitters.complete(Duration::from_nanos(time.nanos().abs_diff(last.nanos())));
        }
    }

    /// At the end: what `port` counted since the warm-up's end.
    pub fn port(&mut self, port: u16, counts: PortCounts) {
        let measured = self.replica.measured;
        let result = &mut self.replica.ports[usize::from(port)];
        *result = PortResult {
            name: std::mem::take(&mut result.name),
            code_points: counts.code_points,
            ecn_marks: counts.ecn_marks,
            utilisation: counts.busy.as_secs_f64() / measured,
            mean_queue_packets: counts.mean_queue_packets,
            mean_queue_bytes: counts.mean_queue_bytes,
            mean_wait: counts.mean_wait.as_secs_f64(),
            max_wait: counts.max_wait.as_secs_f64(),
        };
    }

    /// At the end: anything else that was counted, under a name of its own, for example what a
    /// marker counted: `"r2/edge/pre-marked green bytes"`.
    pub fn counter(&mut self, name: &str, value: f64) {
        self.replica.counters.insert(name.to_owned(), value);
    }

    /// A client of `workload` asks for a page, which `line` says under these columns.
    pub fn access(&mut self, workload: u16, columns: &str, line: String) {
        let name = &self.replica.workloads[usize::from(workload)].name;
        let log = self.replica.accesses.entry(name.clone());
        log.or_insert_with(|| vec![columns.to_owned()]).push(line);
    }

    /// A row of a time series.
    pub fn sample(&mut self, sample: Sample) {
        self.replica.series.push(sample);
    }

    /// Ends the recording. Fails when the transfers could not all be written.
    pub fn finish(mut self) -> Result<Replica, results::Error> {
        for (workload, tracker) in self.replica.workloads.iter_mut().zip(&self.datagrams) {
            workload.all.settle();
            workload.classes.iter_mut().for_each(ClassResult::settle);
            if tracker.sent > 0 || tracker.delay.n() > 0 {
                workload.datagrams = Some(DatagramResult {
                    sent: tracker.sent,
                    dropped: tracker.dropped,
                    delivered: tracker.delay.n(),
                    delay: tracker.delay.mean(),
                    idle_delay: tracker.idle_delay.mean(),
                    percentiles: DelayPercentiles::from_survival(&tracker.delays),
                    delay_deviation: tracker.delay.deviation(),
                    delay_max: tracker.delay.max(),
                    jitter: tracker.jitter.mean(),
                    jitter_percentiles: JitterPercentiles::from_survival(&tracker.jitters),
                });
            }
        }
        for tracker in self.streams.into_iter().flatten() {
            let workload = usize::from(tracker.plan.workload);
            self.replica.workloads[workload].streams.push(tracker.result());
        }
        if let Some(sink) = self.sink {
            sink.finish()?;
        }
        Ok(self.replica)
    }
}

impl StreamTracker {
    fn new(plan: StreamPlan) -> Self {
        StreamTracker {
            plan,
            delay: Moments::default(),
            delays: Survival::default(),
            sent: 0,
            dropped: 0,
        }
    }

    fn result(self) -> StreamResult {
        StreamResult {
            name: self.plan.name,
            rate: self.plan.rate,
            sent: self.sent,
            dropped: self.dropped,
            delivered: self.delay.n(),
            delay: self.delay.mean(),
            percentiles: DelayPercentiles::from_survival(&self.delays),
            delay_max: self.delay.max(),
        }
    }
}

/// The first class that a reply of `bytes` fits into.
fn class_of(max_bytes: &[u64], bytes: u64) -> Option<usize> {
    let class = max_bytes.partition_point(|max| *max < bytes);
    (class < max_bytes.len()).then_some(class)
}

fn empty_workload(plan: &WorkloadPlan, run: &Plan) -> WorkloadResult {
    let limit = |limit: &Duration| OverLimit { limit: limit.as_secs_f64(), ..Default::default() };
    let over: Vec<OverLimit> = run.limits.iter().map(limit).collect();
    let class = |label: &str, up_to| ClassResult {
        label: label.to_owned(),
        up_to,
        over: over.clone(),
        ..Default::default()
    };
    WorkloadResult {
        name: plan.name.clone(),
        item: plan.item,
        offered: plan.offered,
        all: class("all", None),
        classes: plan.size_classes.iter().map(|c| class(&c.label, c.bound())).collect(),
        open_over_time: OpenOverTime::over(run.warm_up, run.end),
        ..Default::default()
    }
}

fn empty_port(name: &str) -> PortResult {
    PortResult {
        name: name.to_owned(),
        code_points: Vec::new(),
        ecn_marks: 0,
        utilisation: 0.0,
        mean_queue_packets: 0.0,
        mean_queue_bytes: 0.0,
        mean_wait: 0.0,
        max_wait: 0.0,
    }
}
