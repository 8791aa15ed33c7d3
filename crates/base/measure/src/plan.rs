//! What a run will record.

use shortflow_units::{Duration, Instant};

use crate::item::Item;

/// What a replica will record: fixed before it runs, and the same for all replicas of a run. The
/// places in its lists are the dense indices by which the run names things to its recorder.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The workloads, by index.
    pub workloads: Vec<WorkloadPlan>,
    /// The streams of datagrams of all workloads, by index; `None` for a stream that is reported only within its
    /// workload.
    pub streams: Vec<Option<StreamPlan>>,
    /// The seconds that a datagram of mean size takes over its idle path, of each of these streams.
    pub idle_delays: Vec<f64>,
    /// The completion times for which it is counted how many transfers took longer.
    pub limits: Vec<Duration>,
    /// The ports, by index, named like `"r1->r2"`.
    pub ports: Vec<String>,
    /// The code points that are in use, by dense index, named like `"AF11"`.
    pub code_points: Vec<String>,
    /// The reasons for which packets are dropped, by index, named like `"early"`.
    pub drop_reasons: Vec<String>,
    /// Before this instant, nothing counts.
    pub warm_up: Instant,
    /// When measuring ends: rates, queues and new transfers count until here.
    pub end: Instant,
    /// How long the run continues after that, so that open transfers may still complete.
    pub drain: Duration,
    /// How often ports are sampled for time series; never when absent.
    pub series_interval: Option<Duration>,
}

impl Plan {
    /// The time over which the run is measured: from the warm-up's end to the end.
    pub fn measured(&self) -> Duration {
        self.end.since(self.warm_up)
    }
}

/// A workload's name, what is timed in it, and the size classes by which that is reported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadPlan {
    /// The name in results.
    pub name: String,
    /// What is timed.
    pub item: Item,
    /// The classes, smallest first. A transfer larger than the last counts in the whole only.
    pub size_classes: Vec<SizeClass>,
    /// The reply bits that it requests per second on average, over the measured time; `None` if that depends on its
    /// throughput.
    pub offered: Option<f64>,
    /// The end of its connections to which its data goes; requests go the other way.
    pub data_to: End,
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// The one that opened it.
    #[default]
    Client,
    /// The other.
    Server,
}

/// A stream of datagrams that is reported on its own.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPlan {
    /// The index of its workload.
    pub workload: u16,
    /// The name in results, like `"cbr[3]->sink[3]"`.
    pub name: String,
    /// What it sends, in bits per second.
    pub rate: u64,
}

/// Transfers whose reply has at most this number of bytes, and more than the class before.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeClass {
    /// The name in results, like `"11 pkt"`.
    pub label: String,
    /// The largest reply of the class, in bytes; `u64::MAX` where it has no bound.
    pub max_bytes: u64,
}

impl SizeClass {
    /// The largest reply of the class, unless it has no bound.
    pub fn bound(&self) -> Option<u64> {
        (self.max_bytes < u64::MAX).then_some(self.max_bytes)
    }
}
