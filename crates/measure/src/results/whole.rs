//! Files that appear whole or not at all.

use std::fs::{self, DirEntry, File};
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
            .prefix(&prefix(path))
            .suffix(".tmp")
            .tempfile_in(folder)
            .map_err(Error::io("write", path))?;
        // Where the system has no locks, what is left behind stays.
        let _ = file.as_file().try_lock();
        Ok(WholeFile { path: path.to_owned(), file: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Removes what a run that was killed has left of this file, which nobody writes any more.
    pub fn remove_abandoned(path: &Path) {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_of_file = |entry: &DirEntry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&prefix(path)) && name.ends_with(".tmp")
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for left in entries.filter(is_of_file).map(|entry| entry.path()) {
            if File::open(&left).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_file(left);
            }
        }
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

/// How the temporary name of a file begins.
fn prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Names have 255 bytes at most, and no half characters.
    let shown: String = name.chars().take(40).collect();
    format!(".shortflow-{shown}-")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_of_a_file_is_removed_and_what_somebody_writes_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.pcapng");
        let (left, other) = (".shortflow-a.pcapng-x1.tmp", ".shortflow-b.pcapng-x1.tmp");
        for name in [left, other] {
            fs::write(home.path().join(name), "half").unwrap();
        }
        let mut writer = WholeFile::create(&path).unwrap();
        WholeFile::remove_abandoned(&path);
        let is_there = |name: &str| home.path().join(name).exists();
        assert!(!is_there(left) && is_there(other));
        writer.write_all(b"whole").unwrap();
        writer.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole", "though it was being written meanwhile");
    }
}
