//! Rows of replicas, from files or memory, read one after another.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use csv::StringRecord;
use shortflow_measure::Run;
use shortflow_measure::results::{Folder, Kept, Record};

use crate::batch::{Cell, Rows};
use crate::case::Cases;
use crate::error::Error;
use crate::reader::Batches;

/// Records whose rows are those of a table.
pub(crate) trait Tabled: Record + Send + 'static {
    /// Adds a row.
    fn put(row: &Self::Row<'_>, case: &[Cell<'_>], rows: &mut Rows);
}

/// The rows of all replicas.
pub(crate) type Sources<R> = Box<dyn Iterator<Item = Source<R>> + Send>;

/// The rows of a replica of a run.
pub(crate) struct Source<R> {
    run: usize,
    point: usize,
    replica: u32,
    place: Place<R>,
}

enum Place<R> {
    File(Folder),
    Memory(Kept<R>),
}

/// Rows in memory, for each run.
pub(crate) fn in_memory<R: Tabled>(kept: Vec<Vec<Kept<R>>>) -> Sources<R> {
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

/// The rows in folders, of each run that has one. Replicas without a file have no rows.
pub(crate) fn in_files<R: Tabled>(
    runs: &[Run],
    folders: impl Iterator<Item = Option<Folder>>,
) -> Sources<R> {
    let mut all = Vec::new();
    for (run, (found, folder)) in runs.iter().zip(folders).enumerate() {
        let Some(folder) = folder else { continue };
        for (point, of_point) in found.points.iter().enumerate() {
            let numbers = of_point.replicas.iter().map(|replica| replica.number);
            let has = |number: &u32| folder.has(&R::file(point, *number));
            all.extend(numbers.filter(has).map(|replica| {
                let place = Place::File(folder.clone());
                Source { run, point, replica, place }
            }));
        }
    }
    Box::new(all.into_iter())
}

/// Batches of these rows.
pub(crate) fn batches<R: Tabled>(cases: Cases, schema: &SchemaRef, sources: Sources<R>) -> Batches {
    Box::new(SourceBatches { cases, rows: Rows::new(schema), sources, current: None })
}

struct SourceBatches<R> {
    cases: Cases,
    rows: Rows,
    sources: Sources<R>,
    current: Option<Current<R>>,
}

/// The source that is being read.
struct Current<R> {
    run: usize,
    point: usize,
    replica: u32,
    open: Open<R>,
}

enum Open<R> {
    File(Box<FileRows>),
    Memory { kept: Kept<R>, next: usize },
}

impl<R: Tabled> Iterator for SourceBatches<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(()) if self.rows.is_empty() => None,
            Ok(()) => Some(Ok(self.rows.take())),
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl<R: Tabled> SourceBatches<R> {
    /// Adds rows until there are enough for a batch, or none are left.
    fn fill(&mut self) -> Result<(), Error> {
        while !self.rows.is_full() {
            if self.current.is_none() {
                let Some(Source { run, point, replica, place }) = self.sources.next() else {
                    break;
                };
                let open = match place {
                    Place::File(folder) => {
                        Open::File(FileRows::open(&folder, &R::file(point, replica))?)
                    }
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

impl<R: Tabled> Open<R> {
    /// Adds rows until there are enough for a batch. Whether it has none left.
    fn read(&mut self, case: &[Cell<'_>], rows: &mut Rows) -> Result<bool, Error> {
        while !rows.is_full() {
            let has_put = match self {
                Open::File(file) => file.put::<R>(case, rows)?,
                Open::Memory { kept, next } => {
                    *next += 1;
                    kept.row(*next - 1).inspect(|row| R::put(row, case, rows)).is_some()
                }
            };
            if !has_put {
                return Ok(true);
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
    fn open(folder: &Folder, name: &str) -> Result<Box<FileRows>, Error> {
        let path = folder.path().join(name);
        let mut rows = csv::Reader::from_reader(BufReader::new(folder.open_file(name)?));
        let columns = rows.headers().map_err(|error| invalid(&path, &error))?.clone();
        Ok(Box::new(FileRows { path, rows, columns, row: StringRecord::new() }))
    }

    /// Adds the next row, if there is one.
    fn put<R: Tabled>(&mut self, case: &[Cell<'_>], rows: &mut Rows) -> Result<bool, Error> {
        let FileRows { path, rows: file, columns, row } = self;
        let invalid = |error: csv::Error| invalid(path, &error);
        let has_read = file.read_record(row).map_err(invalid)?;
        if has_read {
            R::put(&row.deserialize(Some(columns)).map_err(invalid)?, case, rows);
        }
        Ok(has_read)
    }
}

fn invalid(path: &Path, error: &csv::Error) -> Error {
    let why = format!("{error}: the file was changed or is cut off; run it again");
    Error::Results(shortflow_measure::results::Error::malformed(path)(why))
}
