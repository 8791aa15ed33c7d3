//! Files of results, written atomically.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use shortflow_files::AtomicFile;

use super::{Error, Folder};

/// Results are readable by all users who may enter their folder.
const MODE: u32 = 0o644;

/// Writes a user's file atomically. A failure leaves the old content.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    ResultFile::create(path)?.write_with(write)
}

/// A file that is written under a temporary name in the same folder, and gets its name when it is finished. Without
/// that it is removed when dropped.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    file: AtomicFile,
}

impl ResultFile {
    /// A file that will be `path`, which a user names.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = AtomicFile::create(path, MODE).map_err(Error::io("write", path))?;
        Ok(ResultFile { path: path.to_owned(), file })
    }

    /// A file that will be `name` in a folder of results.
    pub(crate) fn create_in(folder: &Folder, name: &str) -> Result<Self, Error> {
        let path = folder.path().join(name);
        let file = folder.dir().and_then(|dir| AtomicFile::create_in(dir, name.as_ref(), MODE));
        Ok(ResultFile { file: file.map_err(Error::io("write", &path))?, path })
    }

    /// Writes all of it.
    pub(crate) fn write_with(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        match write(&mut self) {
            Ok(()) => self.finish(),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Removes the temporary file that a killed run has left.
    pub fn remove_abandoned(path: &Path) {
        shortflow_files::remove_abandoned(path);
    }

    /// Syncs the file to the disk and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        self.file.finish().map(drop).map_err(Error::io("write", &self.path))
    }

    /// Gives the file up, and says why.
    pub fn failed(self, why: io::Error) -> Error {
        Error::io("write", &self.path)(why)
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
