//! A log of one JSON object in each line.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde_json::Value;

use crate::atomic_file::PRIVATE;

/// Above this size the log is renamed to `.1`, and replaces the one before.
const MAX_BYTES: u64 = 16_000_000;

/// The log, at whose end one writes.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Opens the log. An incomplete last line, left by an interruption, is cut off; that is reported.
    pub(super) fn open(path: &Path) -> io::Result<(Log, Option<String>)> {
        let file = opened(path)?;
        let text = shortflow_files::read(path, super::MAX_LOG)?;
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn =
            (end < text.len()).then(|| "removed the incomplete last line of the log".to_owned());
        if torn.is_some() {
            file.set_len(end as u64)?;
        }
        Ok((Log { path: path.to_owned(), file }, torn))
    }

    /// Writes a line, and brings it to the disk.
    pub(super) fn write(&mut self, value: &Value) -> io::Result<()> {
        if self.file.metadata()?.len() > MAX_BYTES {
            fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
            self.file = opened(&self.path)?;
        }
        let before = self.file.metadata()?.len();
        let line = format!("{value}\n");
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // Half a line would spoil the next one.
            self.file.set_len(before)?;
        }
        written
    }
}

/// The file, for the agent's user alone: messages quote lines of a repository.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true).read(true).mode(PRIVATE);
    let file = options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the log must be a regular file"));
    }
    // Earlier versions made it for everybody.
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    Ok(file)
}
