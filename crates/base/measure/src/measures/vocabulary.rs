//! Every measure, each in one place.

use super::replica::{
    arrived, delays, exact, long_flows, loss, number, of_class, per_transfer, rate, share_over,
    workload_of,
};
use super::summary::{
    count, data_goodput, figure, summed, summed_class, summed_code_point, summed_datagrams,
    summed_loss,
};
use super::{About, Better, Definition, Unit};
use crate::estimate::Estimate;
use crate::voice;

/// Defines the vocabulary from its measures: the texts of each, and how it is computed: `one` from a replica `r`,
/// `all` from the summary `s` over replicas, each for the subject `w`.
macro_rules! measures {
    ($($measure:ident {
        name: $name:literal,
        column: $column:literal,
        unit: $unit:ident,
        better: $better:ident,
        meaning: $meaning:literal,
        one: $one:expr,
        $(all: $all:expr,)?
    })*) => {
        /// What is measured.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum Measure {
            $(
                #[doc = $meaning]
                #[serde(rename = $name)]
                $measure,
            )*
        }

        impl Measure {
            /// Every measure, in the order in which they are explained.
            pub const ALL: [Measure; [$($name),*].len()] = [$(Measure::$measure),*];
        }

        /// What is known of each measure, in their order.
        pub(super) const DEFINITIONS: [Definition; Measure::ALL.len()] = [$(Definition {
            about: About {
                name: $name,
                column: $column,
                unit: Unit::$unit,
                better: Better::$better,
                meaning: $meaning,
            },
            one: $one,
            all: measures!(@all $($all)?),
        }),*];
    };
    (@all) => { |_, _| None };
    (@all $all:expr) => { $all };
}

measures! {
    Completion {
        name: "completion",
        column: "mean",
        unit: Seconds,
        better: Lower,
        meaning: "Mean completion time. Incomplete transfers count up to their age; where that could matter, the \
             mean is a lower bound.",
        one: |r, w| of_class(r, w)?.mean(),
        all: |s, w| figure(summed_class(s, w)?.mean),
    }
    CompletionMedian {
        name: "completion-median",
        column: "median",
        unit: Seconds,
        better: Lower,
        meaning: "Completion time that 50 % of the transfers do not exceed.",
        one: |r, w| of_class(r, w)?.median,
        all: |s, w| figure(summed_class(s, w)?.median),
    }
    CompletionP95 {
        name: "completion-p95",
        column: "p95",
        unit: Seconds,
        better: Lower,
        meaning: "Completion time that 95 % of the transfers do not exceed.",
        one: |r, w| of_class(r, w)?.p95,
        all: |s, w| figure(summed_class(s, w)?.p95),
    }
    CompletionP99 {
        name: "completion-p99",
        column: "p99",
        unit: Seconds,
        better: Lower,
        meaning: "Completion time that 99 % of the transfers do not exceed.",
        one: |r, w| of_class(r, w)?.p99,
        all: |s, w| figure(summed_class(s, w)?.p99),
    }
    CompletionMax {
        name: "completion-max",
        column: "longest",
        unit: Seconds,
        better: Lower,
        meaning: "Longest completion time; a lower bound if an incomplete transfer is older.",
        one: |r, w| of_class(r, w)?.max(),
        all: |s, w| figure(summed_class(s, w)?.max.map(|max| Estimate::pooled(max, s.replicas))),
    }
    CompletionDeviation {
        name: "completion-deviation",
        column: "deviation",
        unit: Seconds,
        better: Lower,
        meaning: "Standard deviation of the completion time.",
        one: |r, w| of_class(r, w)?.deviation(),
        all: |s, w| figure(summed_class(s, w)?.deviation),
    }
    CompletionVariation {
        name: "completion-variation",
        column: "variation",
        unit: None,
        better: Lower,
        meaning: "Coefficient of variation of the completion time: deviation over mean.",
        one: |r, w| exact(of_class(r, w)?.variation()),
    }
    Completed {
        name: "completed",
        column: "completed",
        unit: None,
        better: Higher,
        meaning: "Transfers completed.",
        one: |r, w| number(of_class(r, w)?.completion.n()),
        all: |s, w| count(summed_class(s, w)?.n),
    }
    CompletedRate {
        name: "completed-rate",
        column: "completed per s",
        unit: PerSecond,
        better: Higher,
        meaning: "Transfers completed per second of measured time.",
        one: |r, w| exact(Some(of_class(r, w)?.completion.n() as f64 / r.measured)),
    }
    Active {
        name: "active",
        column: "under way",
        unit: None,
        better: Neither,
        meaning: "Mean number of transfers in progress, by Little's law: completed per second times their mean \
             completion time.",
        one: |r, w| {
            let class = of_class(r, w)?;
            let rate = class.completion.n() as f64 / r.measured;
            Some(class.mean()?.map(|mean| mean * rate))
        },
    }
    ShareOver {
        name: "share-over",
        column: "over",
        unit: Share,
        better: Lower,
        meaning: "Share of transfers that take longer than a limit of `measure.limits`. Incomplete transfers count \
             as in progress up to their age.",
        one: |r, w| exact(share_over(r, w)),
        all: |s, w| figure(summed_class(s, w)?.over.iter().find(|over| Some(over.limit) == w.limit)?.share),
    }
    Handshake {
        name: "handshake",
        column: "handshake",
        unit: Seconds,
        better: Lower,
        meaning: "Mean time of the handshake of completed transfers.",
        one: |r, w| exact(of_class(r, w)?.handshake.mean()),
        all: |s, w| figure(summed_class(s, w)?.handshake),
    }
    Request {
        name: "request",
        column: "request",
        unit: Seconds,
        better: Lower,
        meaning: "Mean time of their request.",
        one: |r, w| exact(of_class(r, w)?.request.mean()),
        all: |s, w| figure(summed_class(s, w)?.request),
    }
    Reply {
        name: "reply",
        column: "reply",
        unit: Seconds,
        better: Lower,
        meaning: "Mean time of their reply.",
        one: |r, w| exact(of_class(r, w)?.reply.mean()),
        all: |s, w| figure(summed_class(s, w)?.reply),
    }
    Open {
        name: "open",
        column: "open",
        unit: None,
        better: Lower,
        meaning: "Transfers open at the end of the run.",
        one: |r, w| number(workload_of(r, w)?.open),
        all: |s, w| count(summed(s, w)?.open),
    }
    OfferedLoad {
        name: "offered-load",
        column: "offered",
        unit: MegabitsPerSecond,
        better: Neither,
        meaning: "Reply bytes that a workload of transfers requests per second, as configured: the mean over all \
             possible runs.",
        one: |r, w| exact(Some(workload_of(r, w)?.offered? / 1e6)),
        all: |s, w| figure(Estimate::from_values(&[summed(s, w)?.offered_load? / 1e6])),
    }
    RealisedLoad {
        name: "realised-load",
        column: "realised",
        unit: MegabitsPerSecond,
        better: Neither,
        meaning: "Reply bytes that it requested per second in this run: heavy-tailed sizes may stay above or below \
             their mean for long.",
        one: |r, w| rate(r, workload_of(r, w).filter(|found| found.offered.is_some())?.asked_bytes),
        all: |s, w| figure(summed(s, w)?.realised_load.map(|bits| bits.scaled(1e-6))),
    }
    Goodput {
        name: "goodput",
        column: "goodput",
        unit: MegabitsPerSecond,
        better: Higher,
        meaning: "Application bytes delivered in order per second, in both directions together.",
        one: |r, w| rate(r, workload_of(r, w)?.delivered_bytes),
        all: |s, w| figure(summed(s, w)?.goodput.map(|bits| bits.scaled(1e-6))),
    }
    DataGoodput {
        name: "data-goodput",
        column: "goodput",
        unit: MegabitsPerSecond,
        better: Higher,
        meaning: "Application bytes of replies and of long flows delivered in order per second.",
        one: |r, w| rate(r, workload_of(r, w)?.delivered_data_bytes()),
        all: |s, w| figure(data_goodput(summed(s, w)?).map(|bits| bits.scaled(1e-6))),
    }
    RequestGoodput {
        name: "request-goodput",
        column: "of requests",
        unit: MegabitsPerSecond,
        better: Higher,
        meaning: "Application bytes of requests, which go the other way, delivered in order per second.",
        one: |r, w| rate(r, workload_of(r, w)?.delivered_request_bytes),
        all: |s, w| figure(summed(s, w)?.request_goodput.map(|bits| bits.scaled(1e-6))),
    }
    BytesAbove {
        name: "bytes-above",
        column: "bytes above",
        unit: Share,
        better: Neither,
        meaning: "Share of the reply bytes, of completed and other transfers, that belong to transfers larger than a \
             size class.",
        one: |r, w| exact(workload_of(r, w)?.bytes_above(w.above?)),
    }
    PacketLoss {
        name: "packet-loss",
        column: "packets lost",
        unit: Share,
        better: Lower,
        meaning: "Share of the packets of completed transfers that were dropped at any place.",
        one: |r, w| exact(workload_of(r, w)?.packet_loss()),
        all: |s, w| figure(summed(s, w)?.packet_loss),
    }
    Retransmissions {
        name: "retransmissions",
        column: "resent",
        unit: None,
        better: Lower,
        meaning: "Retransmitted segments per completed transfer.",
        one: |r, w| per_transfer(r, w, |found| found.retransmissions),
        all: |s, w| figure(summed(s, w)?.retransmissions),
    }
    Timeouts {
        name: "timeouts",
        column: "timeouts",
        unit: None,
        better: Lower,
        meaning: "Retransmission timeouts per completed transfer.",
        one: |r, w| per_transfer(r, w, |found| found.timeouts),
        all: |s, w| figure(summed(s, w)?.timeouts),
    }
    Fairness {
        name: "fairness",
        column: "fairness",
        unit: None,
        better: Higher,
        meaning: "Jain's fairness index of a workload's long flows: 1 if all get the same.",
        one: |r, w| exact(long_flows(r, w)?.fairness()),
        all: |s, w| figure(summed(s, w)?.fairness),
    }
    MaxMinFairness {
        name: "max-min-fairness",
        column: "max–min fairness",
        unit: None,
        better: Higher,
        meaning: "Jain's fairness index of each flow's goodput over its max–min fair share, which links and shapers \
             give.",
        one: |r, w| exact(long_flows(r, w)?.max_min_fairness()),
    }
    LongFlowRate {
        name: "long-flow-rate",
        column: "rate",
        unit: MegabitsPerSecond,
        better: Higher,
        meaning: "Mean goodput of a workload's long flows.",
        one: |r, w| exact(Some(long_flows(r, w)?.mean_rate()? / 1e6)),
    }
    ThroughputVariation {
        name: "throughput-variation",
        column: "variation",
        unit: None,
        better: Lower,
        meaning: "Coefficient of variation of a long flow's throughput over the intervals of \
                  `measure.flow_samples`, mean over flows.",
        one: |r, w| exact(long_flows(r, w)?.throughput_variation()),
        all: |s, w| figure(summed(s, w)?.throughput_variation),
    }
    IdleSamples {
        name: "idle-samples",
        column: "idle",
        unit: None,
        better: Lower,
        meaning: "Number of these intervals, over all long flows, in which nothing was delivered.",
        one: |r, w| number(long_flows(r, w)?.idle_samples()?),
        all: |s, w| figure(summed(s, w)?.idle_samples),
    }
    Sent {
        name: "sent",
        column: "sent",
        unit: None,
        better: Neither,
        meaning: "Datagrams sent.",
        one: |r, w| number(delays(r, w)?.sent),
        all: |s, w| count(summed_datagrams(s, w)?.sent),
    }
    Delay {
        name: "delay",
        column: "delay",
        unit: Seconds,
        better: Lower,
        meaning: "Mean one-way delay of datagrams that arrived.",
        one: |r, w| exact(delays(r, w)?.delay),
        all: |s, w| figure(summed_datagrams(s, w)?.delay),
    }
    DelayAdded {
        name: "delay-added",
        column: "added",
        unit: Seconds,
        better: Lower,
        meaning: "Mean delay of datagrams minus that of the idle path. The bufferbloat grade of public speed tests \
             (DSLReports) follows from it: A+ below 5 ms, A below 30, B below 60, C below 200, D below 400, else F.",
        one: |r, w| exact(workload_of(r, w)?.datagrams.as_ref()?.added_delay()),
        all: |s, w| figure(summed(s, w)?.datagrams.as_ref()?.added_delay),
    }
    DelayMedian {
        name: "delay-median",
        column: "median",
        unit: Seconds,
        better: Lower,
        meaning: "Delay that 50 % of the arrived datagrams do not exceed.",
        one: |r, w| exact(delays(r, w)?.percentiles.delay_median),
        all: |s, w| figure(summed_datagrams(s, w)?.percentiles.delay_median),
    }
    DelayP95 {
        name: "delay-p95",
        column: "p95",
        unit: Seconds,
        better: Lower,
        meaning: "Delay that 95 % of the arrived datagrams do not exceed.",
        one: |r, w| exact(delays(r, w)?.percentiles.delay_p95),
        all: |s, w| figure(summed_datagrams(s, w)?.percentiles.delay_p95),
    }
    DelayP99 {
        name: "delay-p99",
        column: "p99",
        unit: Seconds,
        better: Lower,
        meaning: "Delay that 99 % of the arrived datagrams do not exceed.",
        one: |r, w| exact(delays(r, w)?.percentiles.delay_p99),
        all: |s, w| figure(summed_datagrams(s, w)?.percentiles.delay_p99),
    }
    DelayMax {
        name: "delay-max",
        column: "longest",
        unit: Seconds,
        better: Lower,
        meaning: "Longest delay of a datagram that arrived.",
        one: |r, w| exact(delays(r, w)?.delay_max),
        all: |s, w| figure(summed_datagrams(s, w)?.delay_max),
    }
    DelayDeviation {
        name: "delay-deviation",
        column: "deviation",
        unit: Seconds,
        better: Lower,
        meaning: "Standard deviation of the delay of datagrams that arrived.",
        one: |r, w| exact(workload_of(r, w)?.datagrams.as_ref()?.delay_deviation),
        all: |s, w| figure(summed(s, w)?.datagrams.as_ref()?.delay_deviation),
    }
    Jitter {
        name: "jitter",
        column: "jitter",
        unit: Seconds,
        better: Lower,
        meaning: "Mean absolute difference between the delays of consecutive datagrams of a stream (RFC 3550).",
        one: |r, w| exact(workload_of(r, w)?.datagrams.as_ref()?.jitter),
        all: |s, w| figure(summed(s, w)?.datagrams.as_ref()?.jitter),
    }
    JitterMedian {
        name: "jitter-median",
        column: "median",
        unit: Seconds,
        better: Lower,
        meaning: "Absolute difference of such delays that 50 % of them do not exceed.",
        one: |r, w| exact(workload_of(r, w)?.datagrams.as_ref()?.jitter_percentiles.jitter_median),
        all: |s, w| figure(summed(s, w)?.datagrams.as_ref()?.jitter_percentiles.jitter_median),
    }
    JitterP95 {
        name: "jitter-p95",
        column: "p95",
        unit: Seconds,
        better: Lower,
        meaning: "Absolute difference of such delays that 95 % of them do not exceed.",
        one: |r, w| exact(workload_of(r, w)?.datagrams.as_ref()?.jitter_percentiles.jitter_p95),
        all: |s, w| figure(summed(s, w)?.datagrams.as_ref()?.jitter_percentiles.jitter_p95),
    }
    JitterP99 {
        name: "jitter-p99",
        column: "p99",
        unit: Seconds,
        better: Lower,
        meaning: "Absolute difference of such delays that 99 % of them do not exceed.",
        one: |r, w| exact(workload_of(r, w)?.datagrams.as_ref()?.jitter_percentiles.jitter_p99),
        all: |s, w| figure(summed(s, w)?.datagrams.as_ref()?.jitter_percentiles.jitter_p99),
    }
    DatagramLoss {
        name: "datagram-loss",
        column: "lost",
        unit: Share,
        better: Lower,
        meaning: "Share of dropped datagrams among those dropped or delivered.",
        one: |r, w| exact(delays(r, w)?.loss),
        all: |s, w| figure(summed_datagrams(s, w)?.loss),
    }
    RFactor {
        name: "r-factor",
        column: "R",
        unit: None,
        better: Higher,
        meaning: "Rating of a call over these datagrams by the E-model (ITU-T G.107), 0 to 93: G.711 with packet loss \
             concealment in packets of 20 ms. The receiver plays at the percentile of the delay (95 %, 99 % or the \
             longest) that rates best; later datagrams are lost.",
        one: |r, w| exact(delays(r, w)?.rating),
        all: |s, w| figure(summed_datagrams(s, w)?.call.r_factor),
    }
    OpinionScore {
        name: "mos",
        column: "MOS",
        unit: None,
        better: Higher,
        meaning: "Mean opinion score of that call, 1 to 4.5 (ITU-T G.107, Annex B): above 4.0 most users are satisfied, \
             below 3.6 many are not.",
        one: |r, w| exact(delays(r, w)?.rating.map(voice::opinion)),
        all: |s, w| figure(summed_datagrams(s, w)?.call.mos),
    }
    Arrived {
        name: "arrived",
        column: "packets",
        unit: None,
        better: Neither,
        meaning: "Packets that arrived at a port.",
        one: |r, w| number(arrived(r, w)?),
        all: |s, w| count(summed_code_point(s, w)?.arrived.packets),
    }
    Loss {
        name: "loss",
        column: "lost",
        unit: Share,
        better: Lower,
        meaning: "Share of the packets arriving at a port that were dropped there.",
        one: |r, w| exact(loss(r, w)),
        all: |s, w| figure(summed_loss(s, w)),
    }
    Utilisation {
        name: "utilisation",
        column: "utilisation",
        unit: Share,
        better: Neither,
        meaning: "Share of the time in which the link of a port was sending.",
        one: |r, w| exact(Some(r.port(w.at?)?.utilisation)),
        all: |s, w| figure(s.port(w.at?)?.utilisation),
    }
    MeanQueue {
        name: "mean-queue",
        column: "mean queue",
        unit: Packets,
        better: Lower,
        meaning: "Mean number of packets waiting at a port over time, without the one being sent.",
        one: |r, w| exact(Some(r.port(w.at?)?.mean_queue_packets)),
        all: |s, w| figure(s.port(w.at?)?.mean_queue_packets),
    }
    MeanWait {
        name: "mean-wait",
        column: "mean wait",
        unit: Seconds,
        better: Lower,
        meaning: "Mean waiting time at a port: the total time of all waiting packets, divided by the packets that \
             stopped waiting.",
        one: |r, w| exact(Some(r.port(w.at?)?.mean_wait)),
        all: |s, w| figure(s.port(w.at?)?.mean_wait),
    }
    EcnMarks {
        name: "ecn-marks",
        column: "ECN marks",
        unit: None,
        better: Neither,
        meaning: "Packets that got an ECN mark at a port.",
        one: |r, w| number(r.port(w.at?)?.ecn_marks),
        all: |s, w| figure(s.port(w.at?)?.ecn_marks),
    }
    Counter {
        name: "counter",
        column: "counter",
        unit: None,
        better: Neither,
        meaning: "A counter by its name.",
        one: |r, w| exact(r.counters.get(w.at?).copied()),
        all: |s, w| figure(s.counters.get(w.at?).copied()),
    }
    CounterRate {
        name: "counter-rate",
        column: "rate",
        unit: MegabitsPerSecond,
        better: Neither,
        meaning: "A counter of bytes as a rate.",
        one: |r, w| exact(Some(r.counters.get(w.at?)? * 8.0 / r.measured / 1e6)),
        all: |s, w| figure(s.counters.get(w.at?).map(|bytes| bytes.scaled(8.0 / s.measured / 1e6))),
    }
}
