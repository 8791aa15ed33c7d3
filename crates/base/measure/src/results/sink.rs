//! Streams transfers to disk during the run.

use shortflow_units::Duration;

use super::rows::{self, Rows};
use super::{Error, Folder};
use crate::transfer::{Transfer, TransferState};

/// What the indices in records stand for, and what is the same in each row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowNames {
    /// The policy, or what else the run is called.
    pub policy: String,
    /// The workloads by index.
    pub workloads: Vec<String>,
    /// The labels of their connections, by the same index.
    pub labels: Vec<String>,
    /// The nodes by index.
    pub nodes: Vec<String>,
}

/// Writes each transfer as a row of a CSV file, which appears under its name when it is finished.
#[derive(Debug)]
pub struct TransferSink {
    point: usize,
    replica: u32,
    names: RowNames,
    rows: Rows,
}

impl TransferSink {
    /// A sink into `folder` for one replica of one point of a sweep (point 0 without a sweep).
    pub fn create(
        folder: &Folder,
        point: usize,
        replica: u32,
        names: RowNames,
    ) -> Result<Self, Error> {
        let rows = Rows::create(folder, &TransferSink::name(point, replica), &COLUMNS)?;
        Ok(TransferSink { point, replica, names, rows })
    }

    /// The name of the file of a replica's transfers.
    pub fn name(point: usize, replica: u32) -> String {
        format!("transfers-{point:03}-{replica:03}.csv")
    }

    /// Writes a row; `age` is how old the transfer was when it was complete, or at the end. A failure is kept, and
    /// returned by [`finish`](Self::finish).
    pub fn write(
        &mut self,
        transfer: &Transfer,
        state: TransferState,
        is_counted: bool,
        age: Duration,
    ) {
        let (t, names) = (transfer, &self.names);
        let is_complete = state == TransferState::Completed;
        let time = |time: Duration| is_complete.then(|| time.as_secs_f64());
        let node = |index: u32| names.nodes.get(index as usize).map_or("", String::as_str);
        let port = |port: u16| (port > 0).then_some(port);
        let workload = usize::from(t.workload);
        let label = names.labels.get(workload).map_or("", String::as_str);
        let carried_bytes = if is_complete { t.reply_bytes } else { t.carried_bytes };
        self.rows.put((
            (&names.workloads[workload], t.id, t.start.as_secs_f64(), time(age)),
            (time(t.handshake), time(t.request), time(t.reply)),
            (t.request_bytes, t.reply_bytes),
            (t.retransmissions, t.timeouts, t.syn_retransmissions, t.sent, t.dropped),
            t.colors,
            (state.name(), is_counted, age.as_secs_f64(), carried_bytes),
            (node(t.ends.client), port(t.ends.client_port)),
            (node(t.ends.server), port(t.ends.server_port)),
            (label, self.point, self.replica, &names.policy),
        ));
    }

    /// Removes from `folder` the transfers of a replica that is in no result, where there are any.
    pub fn remove(folder: &Folder, point: usize, replica: u32) -> Result<(), Error> {
        rows::remove(folder, &TransferSink::name(point, replica))
    }

    /// Ends the file and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        self.rows.finish()
    }
}

/// Times in seconds; sizes in bytes without headers; from `retransmissions` to `other` counts of
/// packets or events. Times that a transfer did not reach are empty, and so are ports where several
/// connections carried it.
const COLUMNS: [&str; 30] = [
    "workload",
    "id",
    "start_s",
    "completion_s",
    "handshake_s",
    "request_s",
    "reply_s",
    "request_bytes",
    "reply_bytes",
    "retransmissions",
    "timeouts",
    "syn_retransmissions",
    "sent",
    "dropped",
    "green",
    "yellow",
    "red",
    "other",
    "state",
    "counted",
    "age_s",
    "carried_bytes",
    "client",
    "client_port",
    "server",
    "server_port",
    "label",
    "point",
    "replica",
    "policy",
];
