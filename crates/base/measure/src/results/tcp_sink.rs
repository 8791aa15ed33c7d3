//! Streams the states of connections' senders to disk during the run.

use super::rows::{self, Rows};
use super::{Error, Folder, RowNames};
use crate::tcp_state::TcpSample;

/// Writes each sample as a row of a CSV file, which appears under its name when it is finished.
#[derive(Debug)]
pub struct TcpSink {
    point: usize,
    replica: u32,
    names: RowNames,
    rows: Rows,
}

impl TcpSink {
    /// A sink into `folder` for one replica of one point of a sweep (point 0 without a sweep).
    pub fn create(
        folder: &Folder,
        point: usize,
        replica: u32,
        names: RowNames,
    ) -> Result<Self, Error> {
        let rows = Rows::create(folder, &name(point, replica), &COLUMNS)?;
        Ok(TcpSink { point, replica, names, rows })
    }

    /// Writes a row. A failure is kept, and returned by [`finish`](Self::finish).
    pub fn write(&mut self, sample: &TcpSample) {
        let TcpSample { at, occasion, workload, id, ends, is_server, state } = *sample;
        let names = &self.names;
        let node = |index: u32| names.nodes.get(index as usize).map_or("", String::as_str);
        let sender = if is_server { ends.server } else { ends.client };
        self.rows.put((
            (at.as_secs_f64(), &names.workloads[usize::from(workload)], id, occasion.name()),
            (node(ends.client), ends.client_port, node(ends.server), ends.server_port),
            (node(sender), state.phase.name(), state.window, state.threshold),
            (state.round_trip.as_secs_f64(), state.variation.as_secs_f64()),
            (state.timeout.as_secs_f64(), state.segment, state.outstanding, state.lost),
            (state.retransmissions, state.timeouts, state.delivered, state.marked),
            (self.point, self.replica, &names.policy),
        ));
    }

    /// Removes from `folder` the samples of a replica that is in no result, where there are any.
    pub fn remove(folder: &Folder, point: usize, replica: u32) -> Result<(), Error> {
        rows::remove(folder, &name(point, replica))
    }

    /// Ends the file and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        self.rows.finish()
    }
}

/// The file of a replica's samples.
fn name(point: usize, replica: u32) -> String {
    format!("tcp-info-{point:03}-{replica:03}.csv")
}

/// Times in seconds, windows in segments, `segment_bytes` without headers; counts are since the connection
/// began. What a kernel does not tell is empty.
const COLUMNS: [&str; 25] = [
    "time_s",
    "workload",
    "id",
    "occasion",
    "client",
    "client_port",
    "server",
    "server_port",
    "sender",
    "state",
    "cwnd",
    "ssthresh",
    "srtt_s",
    "rttvar_s",
    "rto_s",
    "segment_bytes",
    "outstanding",
    "lost",
    "retransmissions",
    "timeouts",
    "delivered",
    "delivered_marked",
    "point",
    "replica",
    "policy",
];
