//! Single transfers.

use arrow_schema::SchemaRef;
use shortflow_measure::Run;
use shortflow_measure::results::{Ended, Folder, Kept, TransferRow};

use crate::batch::{Cell, Fixed, Rows, bytes, flag, integer, seconds, text};
use crate::case::Cases;
use crate::reader::Reader;
use crate::source::{self, Tabled};

/// Where the single transfers of runs are.
#[derive(Debug)]
pub enum Transfers {
    /// In the folders from which the runs were read. Replicas without a file have no rows.
    InFolders,
    /// In other folders, one for each run.
    In(Vec<Folder>),
    /// In memory, for each run.
    InMemory(Vec<Vec<Kept<Ended>>>),
}

/// Those of the files, without what identifies the case.
pub(crate) const COLUMNS: [Fixed; 27] = [
    text("workload"),
    text("label"),
    integer("id"),
    seconds("start_s"),
    seconds("completion_s"),
    seconds("handshake_s"),
    seconds("request_s"),
    seconds("reply_s"),
    bytes("request_bytes"),
    bytes("reply_bytes"),
    integer("retransmissions"),
    integer("timeouts"),
    integer("syn_retransmissions"),
    integer("sent"),
    integer("dropped"),
    integer("green"),
    integer("yellow"),
    integer("red"),
    integer("other"),
    text("state"),
    flag("counted"),
    seconds("age_s"),
    bytes("carried_bytes"),
    text("client"),
    integer("client_port"),
    text("server"),
    integer("server_port"),
];

pub(crate) fn read(cases: Cases, schema: SchemaRef, runs: &[Run], transfers: Transfers) -> Reader {
    let sources = match transfers {
        Transfers::InMemory(kept) => source::in_memory::<Ended>(kept),
        files => source::in_files(runs, files.folders(runs).into_iter()),
    };
    let batches = source::batches(cases, &schema, sources);
    Reader::new(schema, batches)
}

impl Transfers {
    /// The folder of each run that has one.
    pub(crate) fn folders(self, runs: &[Run]) -> Vec<Option<Folder>> {
        let own = |run: &Run| run.folder.as_ref().map(|path| Folder::open(path));
        match self {
            Transfers::InFolders => runs.iter().map(own).collect(),
            Transfers::In(folders) => folders.into_iter().map(Some).collect(),
            Transfers::InMemory(_) => Vec::new(),
        }
    }
}

impl Tabled for Ended {
    fn put(row: &TransferRow<'_>, case: &[Cell<'_>], rows: &mut Rows) {
        rows.push(case, &cells(row));
    }
}

fn cells<'r>(row: &TransferRow<'r>) -> [Cell<'r>; 27] {
    [
        row.workload.into(),
        row.label.into(),
        row.id.into(),
        row.start_s.into(),
        row.completion_s.into(),
        row.handshake_s.into(),
        row.request_s.into(),
        row.reply_s.into(),
        row.request_bytes.into(),
        row.reply_bytes.into(),
        row.retransmissions.into(),
        row.timeouts.into(),
        row.syn_retransmissions.into(),
        row.sent.into(),
        row.dropped.into(),
        row.green.into(),
        row.yellow.into(),
        row.red.into(),
        row.other.into(),
        row.state.into(),
        row.counted.into(),
        row.age_s.into(),
        row.carried_bytes.into(),
        row.client.into(),
        row.client_port.into(),
        row.server.into(),
        row.server_port.into(),
    ]
}
