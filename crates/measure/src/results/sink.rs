//! Transfers, streamed to disk while the run goes on.

use std::io;
use std::path::PathBuf;

use super::error::csv_to_io;
use super::{Error, Folder, WholeFile};
use crate::transfer::Transfer;

/// Writes each transfer as a row of a CSV file, which appears under its name when it is finished.
#[derive(Debug)]
pub struct TransferSink {
    path: PathBuf,
    workloads: Vec<String>,
    rows: csv::Writer<WholeFile>,
    /// The first failure; after it nothing more is written.
    failure: Option<io::Error>,
}

impl TransferSink {
    /// A sink into `folder` for one replica of one point of a sweep (point 0 when there is none);
    /// `workloads` are the names by index.
    pub fn create(
        folder: &Folder,
        point: usize,
        replica: u32,
        workloads: Vec<String>,
    ) -> Result<Self, Error> {
        let path = folder.path().join(format!("transfers-{point:03}-{replica:03}.csv"));
        let rows = csv::WriterBuilder::new().from_writer(WholeFile::create(&path)?);
        let mut sink = TransferSink { path, workloads, rows, failure: None };
        let written = sink.rows.write_record(COLUMNS);
        sink.note(written);
        Ok(sink)
    }

    /// Writes a row. A failure is kept, and told by [`finish`](Self::finish).
    pub fn write(&mut self, transfer: &Transfer) {
        if self.failure.is_some() {
            return;
        }
        let name = &self.workloads[usize::from(transfer.workload)];
        let t = transfer;
        let written = self.rows.serialize((
            (name, t.id, t.start.as_secs_f64(), t.completion().as_secs_f64()),
            (t.handshake.as_secs_f64(), t.request.as_secs_f64(), t.reply.as_secs_f64()),
            (t.request_bytes, t.reply_bytes),
            (t.retransmissions, t.timeouts, t.syn_retransmissions, t.sent, t.dropped),
            t.colors,
        ));
        self.note(written);
    }

    /// Ends the file and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        let failed = Error::io("write", &self.path);
        if let Some(failure) = self.failure {
            return Err(failed(failure));
        }
        let file = self.rows.into_inner().map_err(|error| {
            failed(io::Error::new(error.error().kind(), error.error().to_string()))
        })?;
        file.finish()
    }

    fn note(&mut self, written: csv::Result<()>) {
        if let Err(error) = written {
            self.failure = Some(csv_to_io(error));
        }
    }
}

/// Times in seconds; sizes in bytes without headers; the rest counts packets or events.
const COLUMNS: [&str; 18] = [
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
];
