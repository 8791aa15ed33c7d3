//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Error;

/// Writes a file so that nobody ever sees half of it. Whatever goes wrong leaves what was there
/// before.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let mut file = WholeFile::create(path)?;
    match write(&mut file) {
        Ok(()) => file.finish(),
        Err(error) => Err(file.failed(error)),
    }
}

/// A file that is written, with a buffer, under a temporary name in the same folder, and gets its
/// name when it is finished. Without that it is removed when dropped.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl WholeFile {
    /// A file that will be `path`.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(".shortflow-")
            .suffix(".tmp")
            .tempfile_in(folder)
            .map_err(Error::io("write", path))?;
        Ok(WholeFile { path: path.to_owned(), file: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Syncs the file to the disk and gives it its name.
    pub fn finish(self) -> Result<(), Error> {
        let failed = Error::io("write", &self.path);
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        open_to_all(file.as_file()).map_err(&failed)?;
        file.as_file().sync_all().map_err(&failed)?;
        file.persist(&self.path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Gives the file up, and says why.
    pub fn failed(self, why: io::Error) -> Error {
        Error::io("write", &self.path)(why)
    }
}

impl Write for WholeFile {
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

/// Temporary files are private; results are to be read like any other file.
#[cfg(unix)]
fn open_to_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn open_to_all(_: &File) -> io::Result<()> {
    Ok(())
}
