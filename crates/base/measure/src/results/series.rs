//! Time series as a file.

use serde::{Deserialize, Serialize};

use super::Point;
use crate::port::Sample;
use crate::replica::Replica;

/// One row of `series.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// The point of the sweep, counted from 0.
    pub point: usize,
    /// The number of the replica.
    pub replica: u32,
    /// The port's name.
    pub port: String,
    /// When, in seconds.
    pub time_s: f64,
    /// Packets in the queue.
    pub queue_packets: u32,
    /// Bytes in the queue.
    pub queue_bytes: u64,
    /// The average queue that an AQM keeps, in its own unit.
    pub average: Option<f64>,
    /// The share of time in which the link was sending, since the row before.
    pub utilisation: f32,
    /// Transfers open in the whole network.
    pub open_transfers: u32,
}

/// The rows of all replicas of all points.
pub fn series_rows(points: &[Point]) -> Vec<SeriesRow> {
    let mut rows = Vec::new();
    for (at, point) in points.iter().enumerate() {
        for replica in &point.replicas {
            rows.extend(replica.series.iter().map(|sample| row(at, replica, sample)));
        }
    }
    rows
}

fn row(point: usize, replica: &Replica, sample: &Sample) -> SeriesRow {
    SeriesRow {
        point,
        replica: replica.number,
        port: replica.ports[usize::from(sample.port)].name.clone(),
        time_s: sample.at.as_secs_f64(),
        queue_packets: sample.queue_packets,
        queue_bytes: sample.queue_bytes,
        average: sample.average,
        utilisation: sample.utilisation,
        open_transfers: sample.open_transfers,
    }
}
