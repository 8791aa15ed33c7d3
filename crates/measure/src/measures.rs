//! What can be measured: one vocabulary for claims, tables and JSON.
//!
//! A measure stands here once: its name in `claims.toml` and in JSON, the head of its column, its
//! unit, which way is better, what it means, and how it is taken from a replica.

use serde::{Deserialize, Serialize};

use crate::reading::Reading;
use crate::replica::{ClassResult, Replica};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "`Measure::about` says what each is, to readers of results too")]
pub enum Measure {
    #[default]
    Completion,
    CompletionMedian,
    CompletionP95,
    CompletionP99,
    CompletionMax,
    CompletionDeviation,
    CompletionVariation,
    CompletedRate,
    ShareOver,
    Open,
    Goodput,
    BytesAbove,
    PacketLoss,
    Fairness,
    LongFlowRate,
    ThroughputVariation,
    IdleSamples,
    Delay,
    DelayMedian,
    DelayP95,
    DelayP99,
    DelayMax,
    Jitter,
    DatagramLoss,
    Loss,
    Utilisation,
    MeanQueue,
    MeanWait,
    Counter,
    CounterRate,
}

/// Which way a measure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither in itself.
    Neither,
}

/// What is said of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Its name in `claims.toml` and in JSON.
    pub name: &'static str,
    /// The head of its column in tables.
    pub column: &'static str,
    /// Its unit in JSON; empty where it has none.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// What it is, in a sentence.
    pub meaning: &'static str,
}

/// Of what a measure is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Subject<'a> {
    /// The workload.
    pub workload: &'a str,
    /// The size class; all of them together when absent.
    pub class: Option<&'a str>,
    /// The stream of datagrams; all of the workload when absent.
    pub stream: Option<&'a str>,
    /// The port, or the counter.
    pub at: Option<&'a str>,
    /// The code point at the port; all when absent.
    pub code_point: Option<&'a str>,
    /// The limit in seconds, for the share over it.
    pub limit: Option<f64>,
    /// The size class above which bytes count.
    pub above: Option<&'a str>,
}

impl Measure {
    /// Every measure, in the order in which they are explained.
    pub const ALL: [Measure; 30] = {
        use Measure::*;
        [
            Completion,
            CompletionMedian,
            CompletionP95,
            CompletionP99,
            CompletionMax,
            CompletionDeviation,
            CompletionVariation,
            CompletedRate,
            ShareOver,
            Open,
            Goodput,
            BytesAbove,
            PacketLoss,
            Fairness,
            LongFlowRate,
            ThroughputVariation,
            IdleSamples,
            Delay,
            DelayMedian,
            DelayP95,
            DelayP99,
            DelayMax,
            Jitter,
            DatagramLoss,
            Loss,
            Utilisation,
            MeanQueue,
            MeanWait,
            Counter,
            CounterRate,
        ]
    };

    /// What is to be said of it.
    pub const fn about(self) -> About {
        TABLE[self as usize]
    }

    /// What one replica says of it, or nothing when it has nothing of this kind.
    pub fn of(self, replica: &Replica, what: &Subject<'_>) -> Option<Reading> {
        if let Some(reading) = self.of_times(replica, what) {
            return Some(reading);
        }
        let exact = self.of_transfers(replica, what);
        let exact = exact.or_else(|| self.of_flows(replica, what));
        exact.or_else(|| self.of_places(replica, what)).map(Reading::Exact)
    }

    /// A figure of completion times, which may be a bound.
    fn of_times(self, replica: &Replica, what: &Subject<'_>) -> Option<Reading> {
        let class = class(replica, what)?;
        match self {
            Measure::Completion => class.mean(),
            Measure::CompletionMedian => class.median,
            Measure::CompletionP95 => class.p95,
            Measure::CompletionP99 => class.p99,
            Measure::CompletionMax => class.max(),
            Measure::CompletionDeviation => class.deviation(),
            _ => None,
        }
    }

    /// What else is told of transfers.
    fn of_transfers(self, replica: &Replica, what: &Subject<'_>) -> Option<f64> {
        let workload = replica.workload(what.workload)?;
        match self {
            Measure::CompletionVariation => class(replica, what)?.variation(),
            Measure::CompletedRate => {
                Some(class(replica, what)?.completion.n() as f64 / replica.measured)
            }
            Measure::ShareOver => {
                let (all, limit) = (class(replica, what)?, what.limit?);
                all.share_over(all.over.iter().position(|over| over.limit == limit)?)
            }
            Measure::Open => Some(workload.open as f64),
            Measure::Goodput => {
                Some(workload.delivered_bytes as f64 * 8.0 / replica.measured / 1e6)
            }
            Measure::BytesAbove => workload.bytes_above(what.above?),
            Measure::PacketLoss => workload.packet_loss(),
            _ => None,
        }
    }

    /// What is told of long flows and of datagrams.
    fn of_flows(self, replica: &Replica, what: &Subject<'_>) -> Option<f64> {
        let workload = replica.workload(what.workload)?;
        let long_flows = || workload.long_flows.as_ref();
        let datagrams = || workload.datagrams.as_ref();
        let stream = what.stream.map(|name| workload.streams.iter().find(|s| s.name == name));
        let delays = || match stream {
            Some(stream) => Some(stream?.percentiles),
            None => Some(datagrams()?.percentiles),
        };
        match self {
            Measure::Fairness => long_flows()?.fairness(),
            Measure::LongFlowRate => Some(long_flows()?.mean_rate()? / 1e6),
            Measure::ThroughputVariation => long_flows()?.throughput_variation(),
            Measure::IdleSamples => Some(long_flows()?.idle_samples()? as f64),
            Measure::Delay => match stream {
                Some(stream) => stream?.delay,
                None => datagrams()?.delay,
            },
            Measure::DelayMedian => delays()?.delay_median,
            Measure::DelayP95 => delays()?.delay_p95,
            Measure::DelayP99 => delays()?.delay_p99,
            Measure::DelayMax => match stream {
                Some(stream) => stream?.delay_max,
                None => datagrams()?.delay_max,
            },
            Measure::Jitter => datagrams()?.jitter,
            Measure::DatagramLoss => match stream {
                Some(stream) => stream?.loss(),
                None => datagrams()?.loss(),
            },
            _ => None,
        }
    }

    /// What is told of ports and counters.
    fn of_places(self, replica: &Replica, what: &Subject<'_>) -> Option<f64> {
        let port = || replica.port(what.at?);
        let counter = || replica.counters.get(what.at?).copied();
        match self {
            Measure::Utilisation => Some(port()?.utilisation),
            Measure::MeanQueue => Some(port()?.mean_queue_packets),
            Measure::MeanWait => Some(port()?.mean_wait),
            Measure::Loss => match what.code_point {
                None => port()?.loss(),
                Some(name) => {
                    let index = replica.code_points.iter().position(|n| n == name)?;
                    port()?.code_points.get(index)?.loss()
                }
            },
            Measure::Counter => counter(),
            Measure::CounterRate => Some(counter()? * 8.0 / replica.measured / 1e6),
            _ => None,
        }
    }
}

/// Every measure, in the order of [`Measure`].
const TABLE: [About; 30] = [
    About {
        name: "completion",
        column: "mean",
        unit: "s",
        better: Better::Lower,
        meaning: "Mean completion time. What is not complete at the end counts up to its \
                  age; where that could matter, the mean is a lower bound.",
    },
    About {
        name: "completion-median",
        column: "median",
        unit: "s",
        better: Better::Lower,
        meaning: "Completion time that half of the transfers do not exceed.",
    },
    About {
        name: "completion-p95",
        column: "p95",
        unit: "s",
        better: Better::Lower,
        meaning: "Completion time that 95 % of the transfers do not exceed.",
    },
    About {
        name: "completion-p99",
        column: "p99",
        unit: "s",
        better: Better::Lower,
        meaning: "Completion time that 99 % of the transfers do not exceed.",
    },
    About {
        name: "completion-max",
        column: "longest",
        unit: "s",
        better: Better::Lower,
        meaning: "Longest completion time; a lower bound where something that is not \
                  complete is older.",
    },
    About {
        name: "completion-deviation",
        column: "deviation",
        unit: "s",
        better: Better::Lower,
        meaning: "Standard deviation of the completion time.",
    },
    About {
        name: "completion-variation",
        column: "variation",
        unit: "",
        better: Better::Lower,
        meaning: "Coefficient of variation of the completion time: deviation over mean.",
    },
    About {
        name: "completed-rate",
        column: "completed",
        unit: "1/s",
        better: Better::Higher,
        meaning: "Transfers completed per second of measured time.",
    },
    About {
        name: "share-over",
        column: "over",
        unit: "",
        better: Better::Lower,
        meaning: "Share of transfers that took longer than a limit of `measure.limits`. What \
                  is not complete counts once it is older than the limit.",
    },
    About {
        name: "open",
        column: "open",
        unit: "",
        better: Better::Lower,
        meaning: "Transfers open at the end of the run.",
    },
    About {
        name: "goodput",
        column: "goodput",
        unit: "Mbit/s",
        better: Better::Higher,
        meaning: "Application bytes delivered in order per second.",
    },
    About {
        name: "bytes-above",
        column: "bytes above",
        unit: "",
        better: Better::Neither,
        meaning: "Share of the reply bytes carried, for completed and other transfers, that \
                  is in transfers larger than a size class.",
    },
    About {
        name: "packet-loss",
        column: "packets lost",
        unit: "",
        better: Better::Lower,
        meaning: "Share of the packets of completed transfers that were dropped anywhere.",
    },
    About {
        name: "fairness",
        column: "fairness",
        unit: "",
        better: Better::Higher,
        meaning: "Jain's fairness index of a workload's long flows: 1 when all get the same.",
    },
    About {
        name: "long-flow-rate",
        column: "rate",
        unit: "Mbit/s",
        better: Better::Higher,
        meaning: "Mean goodput of a workload's long flows.",
    },
    About {
        name: "throughput-variation",
        column: "variation",
        unit: "",
        better: Better::Lower,
        meaning: "Coefficient of variation of a long flow's throughput over the intervals of \
                  `measure.flow_samples`, mean over flows.",
    },
    About {
        name: "idle-samples",
        column: "idle samples",
        unit: "",
        better: Better::Lower,
        meaning: "Of these intervals, over all long flows, those in which nothing was \
                  delivered.",
    },
    About {
        name: "delay",
        column: "delay",
        unit: "s",
        better: Better::Lower,
        meaning: "Mean one-way delay of datagrams that arrived.",
    },
    About {
        name: "delay-median",
        column: "median",
        unit: "s",
        better: Better::Lower,
        meaning: "Delay that half of these datagrams do not exceed.",
    },
    About {
        name: "delay-p95",
        column: "p95",
        unit: "s",
        better: Better::Lower,
        meaning: "Delay that 95 % of these datagrams do not exceed.",
    },
    About {
        name: "delay-p99",
        column: "p99",
        unit: "s",
        better: Better::Lower,
        meaning: "Delay that 99 % of these datagrams do not exceed.",
    },
    About {
        name: "delay-max",
        column: "longest",
        unit: "s",
        better: Better::Lower,
        meaning: "Longest delay of a datagram that arrived.",
    },
    About {
        name: "jitter",
        column: "jitter",
        unit: "s",
        better: Better::Lower,
        meaning: "Mean difference, without sign, of the delays of consecutive datagrams of a \
                  stream (RFC 3550).",
    },
    About {
        name: "datagram-loss",
        column: "lost",
        unit: "",
        better: Better::Lower,
        meaning: "Share of datagrams dropped, among those dropped or delivered.",
    },
    About {
        name: "loss",
        column: "lost",
        unit: "",
        better: Better::Lower,
        meaning: "Share of the packets that came to a port and were dropped there.",
    },
    About {
        name: "utilisation",
        column: "utilisation",
        unit: "",
        better: Better::Neither,
        meaning: "Share of the time in which the link of a port was sending.",
    },
    About {
        name: "mean-queue",
        column: "mean queue",
        unit: "packets",
        better: Better::Lower,
        meaning: "Packets that wait at a port, averaged over time, without the one being \
                  sent.",
    },
    About {
        name: "mean-wait",
        column: "mean wait",
        unit: "s",
        better: Better::Lower,
        meaning: "Mean wait at a port: the time that all packets waited there together, by \
                  the packets whose wait ended.",
    },
    About {
        name: "counter",
        column: "counter",
        unit: "",
        better: Better::Neither,
        meaning: "A counter by its name.",
    },
    About {
        name: "counter-rate",
        column: "rate",
        unit: "Mbit/s",
        better: Better::Neither,
        meaning: "A counter of bytes as a rate.",
    },
];

fn class<'a>(replica: &'a Replica, what: &Subject<'_>) -> Option<&'a ClassResult> {
    replica.workload(what.workload)?.class(what.class.unwrap_or("all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_called_in_files_what_its_table_says() {
        for measure in Measure::ALL {
            let name = serde_json::to_value(measure).unwrap();
            assert_eq!(name, measure.about().name);
        }
        let names: std::collections::BTreeSet<_> =
            Measure::ALL.iter().map(|measure| measure.about().name).collect();
        assert_eq!(names.len(), Measure::ALL.len());
    }

    #[test]
    fn the_page_about_results_has_a_line_for_each_measure() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reading-results.md");
        let page = std::fs::read_to_string(page).unwrap();
        for About { name, unit, meaning, .. } in Measure::ALL.map(Measure::about) {
            let unit = if unit.is_empty() { "–" } else { unit };
            let line = format!("| `{name}` | {unit} | {meaning} |");
            assert!(page.contains(&line), "docs/reading-results.md lacks the line\n{line}");
        }
    }
}
