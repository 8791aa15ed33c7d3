//! The variation of a long flow's throughput.

use serde::{Deserialize, Serialize};

use crate::moments::Moments;

/// What a long flow delivered in each of many intervals of one length, as moments only: memory does
/// not grow with time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ThroughputSamples {
    /// The throughput in bits per second.
    pub throughput: Moments,
    /// Intervals in which nothing was delivered.
    pub idle: u64,
}

impl ThroughputSamples {
    /// Counts an interval of `seconds` in, in which `bytes` of the application were delivered.
    pub fn add(&mut self, bytes: u64, seconds: f64) {
        self.throughput.add(bytes as f64 * 8.0 / seconds);
        self.idle += u64::from(bytes == 0);
    }
}
