//! Rows of a CSV file, written during the run.

use std::io;
use std::path::PathBuf;

use serde::Serialize;

use super::error::csv_to_io;
use super::{Error, Folder, ResultFile};

/// A CSV file, which appears under its name when it is finished.
#[derive(Debug)]
pub(crate) struct Rows {
    path: PathBuf,
    rows: csv::Writer<ResultFile>,
    /// The first failure; after it nothing more is written.
    failure: Option<io::Error>,
}

impl Rows {
    /// A file with these columns.
    pub(crate) fn create(folder: &Folder, name: &str, columns: &[&str]) -> Result<Self, Error> {
        let path = folder.path().join(name);
        let file = ResultFile::create_in(folder, name)?;
        let mut rows = csv::WriterBuilder::new().has_headers(false).from_writer(file);
        let failure = rows.write_record(columns).err().map(csv_to_io);
        Ok(Rows { path, rows, failure })
    }

    /// Adds a row. A failure is kept, and returned by [`finish`](Self::finish).
    pub(crate) fn put(&mut self, row: impl Serialize) {
        if self.failure.is_none() {
            self.failure = self.rows.serialize(row).err().map(csv_to_io);
        }
    }

    /// Ends the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = Error::io("write", &self.path);
        if let Some(failure) = self.failure {
            return Err(failed(failure));
        }
        let file = self.rows.into_inner().map_err(|error| {
            failed(io::Error::new(error.error().kind(), error.error().to_string()))
        })?;
        file.finish()
    }
}

/// Removes a file that is in no result, if it is there.
pub(crate) fn remove(folder: &Folder, name: &str) -> Result<(), Error> {
    match folder.dir().and_then(|dir| dir.remove_file(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", &folder.path().join(name))(error))
        }
        _ => Ok(()),
    }
}
