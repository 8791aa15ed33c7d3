//! What is counted at a port.

use serde::{Deserialize, Serialize};
use shortflow_units::{Duration, Instant};

/// Packets and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers included.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet of `bytes` in.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// What happened to the packets of one code point at a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePointCounts {
    /// Arrived at the port.
    pub arrived: Count,
    /// Went out on the link.
    pub forwarded: Count,
    /// Went no further, by reason (index in [`Plan::drop_reasons`](crate::Plan::drop_reasons)).
    pub dropped: Vec<Count>,
}

impl CodePointCounts {
    /// All that went no further.
    pub fn all_dropped(&self) -> Count {
        self.dropped.iter().fold(Count::default(), |mut sum, count| {
            sum += *count;
            sum
        })
    }

    /// The share of arrived packets that were dropped; none when none arrived.
    pub fn loss(&self) -> Option<f64> {
        (self.arrived.packets > 0)
            .then(|| self.all_dropped().packets as f64 / self.arrived.packets as f64)
    }
}

/// What a port counted from the warm-up's end to the end of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PortCounts {
    /// By code point (index in [`Plan::code_points`](crate::Plan::code_points)).
    pub code_points: Vec<CodePointCounts>,
    /// Packets given an ECN mark.
    pub ecn_marks: u64,
    /// How long the link was sending.
    pub busy: Duration,
    /// The queue in packets, averaged over time.
    pub mean_queue_packets: f64,
    /// The queue in bytes, averaged over time.
    pub mean_queue_bytes: f64,
    /// How long packets waited in the queue, on average.
    pub mean_wait: Duration,
    /// The longest wait.
    pub max_wait: Duration,
}

/// What one replica found at a port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortResult {
    /// The port's name.
    pub name: String,
    /// By code point (index in [`Replica::code_points`](crate::Replica::code_points)).
    pub code_points: Vec<CodePointCounts>,
    /// Packets given an ECN mark.
    pub ecn_marks: u64,
    /// The share of time in which the link was sending.
    pub utilisation: f64,
    /// The queue in packets, averaged over time.
    pub mean_queue_packets: f64,
    /// The queue in bytes, averaged over time.
    pub mean_queue_bytes: f64,
    /// How long packets waited in the queue, on average, in seconds.
    pub mean_wait: f64,
    /// The longest wait, in seconds.
    pub max_wait: f64,
}

impl PortResult {
    /// The share of arrived packets that were dropped, 0 to 1; none when none arrived.
    pub fn loss(&self) -> Option<f64> {
        let arrived: u64 = self.code_points.iter().map(|c| c.arrived.packets).sum();
        let dropped: u64 = self.code_points.iter().map(|c| c.all_dropped().packets).sum();
        (arrived > 0).then(|| dropped as f64 / arrived as f64)
    }
}

/// One row of a time series: a port at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The port's index in the plan.
    pub port: u16,
    /// When.
    pub at: Instant,
    /// Packets in the queue.
    pub queue_packets: u32,
    /// Bytes in the queue.
    pub queue_bytes: u64,
    /// The average queue that an AQM keeps, in its own unit.
    pub average: Option<f64>,
    /// The share of time in which the link was sending, since the sample before.
    pub utilisation: f32,
    /// Transfers open in the whole network.
    pub open_transfers: u32,
}
