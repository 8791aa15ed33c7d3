//! Single transfers, from files or memory.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use csv::StringRecord;
use shortflow_measure::results::{Folder, KeptTransfers, TransferRow};
use shortflow_measure::{Run, TransferSink};

use crate::batch::{Cell, Fixed, Rows, bytes, flag, integer, seconds, text};
use crate::case::Cases;
use crate::error::Error;
use crate::reader::Reader;

/// Where the single transfers of runs are.
#[derive(Debug)]
pub enum Transfers {
    /// In the folders from which the runs were read. Replicas without a file have no rows.
    InFolders,
    /// In other folders, one for each run.
    In(Vec<Folder>),
    /// In memory, for each run.
    InMemory(Vec<Vec<KeptTransfers>>),
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

pub(crate) fn read(
    cases: Cases,
    schema: SchemaRef,
    runs: &[Run],
    transfers: Transfers,
) -> Result<Reader, Error> {
    let own = |run: &Run| run.folder.as_ref().map(|path| Folder::open(path));
    let sources = match transfers {
        Transfers::InMemory(kept) => in_memory(kept),
        Transfers::In(folders) => in_files(runs, folders.into_iter().map(Some).collect()),
        Transfers::InFolders => in_files(runs, runs.iter().map(own).collect()),
    };
    let rows = Rows::new(&schema);
    let batches = TransferBatches { cases, rows, sources, current: None };
    Ok(Reader::new(schema, Box::new(batches)))
}

/// The transfers of a replica of a run.
struct Source {
    run: usize,
    point: usize,
    replica: u32,
    place: Place,
}

enum Place {
    File(Folder),
    Memory(KeptTransfers),
}

type Sources = Box<dyn Iterator<Item = Source> + Send>;

fn in_memory(kept: Vec<Vec<KeptTransfers>>) -> Sources {
    let sources = kept.into_iter().enumerate().flat_map(|(run, kept)| {
        kept.into_iter().map(move |one| Source {
            run,
            point: one.point,
            replica: one.replica,
            place: Place::Memory(one),
        })
    });
    Box::new(sources)
}

fn in_files(runs: &[Run], folders: Vec<Option<Folder>>) -> Sources {
    let mut all = Vec::new();
    for (run, (found, folder)) in runs.iter().zip(folders).enumerate() {
        let Some(folder) = folder else { continue };
        for (point, of_point) in found.points.iter().enumerate() {
            let numbers = of_point.replicas.iter().map(|replica| replica.number);
            let has = |number: &u32| folder.has(&TransferSink::name(point, *number));
            all.extend(numbers.filter(has).map(|replica| {
                let place = Place::File(folder.clone());
                Source { run, point, replica, place }
            }));
        }
    }
    Box::new(all.into_iter())
}

/// Batches of transfers, read one after another.
struct TransferBatches {
    cases: Cases,
    rows: Rows,
    sources: Sources,
    current: Option<Current>,
}

/// The source that is being read.
struct Current {
    run: usize,
    point: usize,
    replica: u32,
    open: Open,
}

enum Open {
    File(Box<FileRows>),
    Memory { kept: KeptTransfers, next: usize },
}

impl Iterator for TransferBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(()) if self.rows.is_empty() => None,
            Ok(()) => Some(Ok(self.rows.take())),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl TransferBatches {
    /// Adds rows until there are enough for a batch, or none are left.
    fn fill(&mut self) -> Result<(), Error> {
        while !self.rows.is_full() {
            if self.current.is_none() {
                let Some(Source { run, point, replica, place }) = self.sources.next() else {
                    break;
                };
                let open = match place {
                    Place::File(folder) => Open::File(FileRows::open(&folder, point, replica)?),
                    Place::Memory(kept) => Open::Memory { kept, next: 0 },
                };
                self.current = Some(Current { run, point, replica, open });
            }
            let Some(current) = &mut self.current else { break };
            let case = self.cases.replica(current.run, current.point, current.replica);
            if current.open.read(&case, &mut self.rows)? {
                self.current = None;
            }
        }
        Ok(())
    }
}

impl Open {
    /// Adds rows until there are enough for a batch. Whether it has none left.
    fn read(&mut self, case: &[Cell<'_>], rows: &mut Rows) -> Result<bool, Error> {
        while !rows.is_full() {
            match self {
                Open::File(file) => {
                    let Some(row) = file.next()? else { return Ok(true) };
                    rows.push(case, &cells(&row));
                }
                Open::Memory { kept, next } => {
                    let Some(row) = kept.row(*next) else { return Ok(true) };
                    rows.push(case, &cells(&row));
                    *next += 1;
                }
            }
        }
        Ok(false)
    }
}

/// The rows of a file.
struct FileRows {
    path: PathBuf,
    rows: csv::Reader<BufReader<File>>,
    columns: StringRecord,
    row: StringRecord,
}

impl FileRows {
    fn open(folder: &Folder, point: usize, replica: u32) -> Result<Box<FileRows>, Error> {
        let name = TransferSink::name(point, replica);
        let path = folder.path().join(&name);
        let mut rows = csv::Reader::from_reader(BufReader::new(folder.open_file(&name)?));
        let columns = rows.headers().map_err(|error| invalid(&path, &error))?.clone();
        Ok(Box::new(FileRows { path, rows, columns, row: StringRecord::new() }))
    }

    fn next(&mut self) -> Result<Option<TransferRow<'_>>, Error> {
        if !self.rows.read_record(&mut self.row).map_err(|error| invalid(&self.path, &error))? {
            return Ok(None);
        }
        let row = self.row.deserialize(Some(&self.columns));
        row.map(Some).map_err(|error| invalid(&self.path, &error))
    }
}

fn invalid(path: &std::path::Path, error: &csv::Error) -> Error {
    let why = format!("{error}: the file was changed or is cut off; run it again");
    Error::Row { path: path.to_owned(), why }
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
