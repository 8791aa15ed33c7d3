//! The output file of a capture.

use std::fs::Metadata;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use shortflow_measure::results::{Error, ResultFile};

use crate::pipe_writer::PipeWriter;

/// The output of a capture.
#[derive(Debug)]
pub(crate) enum Output {
    /// A regular file. It appears, or replaces an older capture, when the capture is complete.
    Whole(ResultFile),
    /// A device or a pipe. It gets every block at once and is never replaced.
    Pipe {
        /// Its name as the user typed it.
        path: PathBuf,
        /// The open file.
        file: BufWriter<PipeWriter>,
    },
}

impl Output {
    /// Opens the file at `path`, or the target of a symbolic link. Refuses a regular file that is not a
    /// capture.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
        let target = behind_links(path).map_err(failed)?;
        match std::fs::metadata(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(found) if is_written_through(&target, &found) => {
                let file = BufWriter::new(PipeWriter::open(&target).map_err(failed)?);
                return Ok(Output::Pipe { path: path.to_owned(), file });
            }
            Ok(_) if is_capture(&target).map_err(failed)? => {}
            Ok(_) => {
                let found =
                    "the file exists and is not a packet capture; remove it or choose another name";
                return Err(failed(io::Error::other(found)));
            }
        }
        ResultFile::remove_abandoned(&target);
        ResultFile::create(&target).map(Output::Whole)
    }

    /// Completes the capture.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self {
            Output::Whole(file) => file.finish(),
            Output::Pipe { path, mut file } => {
                file.flush().map_err(|source| Error::Io { action: "write", path, source })
            }
        }
    }

    /// Abandons the capture, and returns the reason as an error.
    pub(crate) fn failed(self, why: io::Error) -> Error {
        match self {
            Output::Whole(file) => file.failed(why),
            Output::Pipe { path, .. } => Error::Io { action: "write", path, source: why },
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Whole(file) => file.write(bytes),
            Output::Pipe { file, .. } => file.write(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Output::Whole(file) => file.write_all(bytes),
            Output::Pipe { file, .. } => file.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Whole(file) => file.flush(),
            Output::Pipe { file, .. } => file.flush(),
        }
    }
}

/// Follows symbolic links, even if the target does not exist. Links below `/proc` stand for the open files of
/// a process and may lead nowhere else, so they are not followed.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let is_link = std::fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink());
        if !is_link || target.starts_with("/proc") {
            return Ok(target);
        }
        let next = std::fs::read_link(&target)?;
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "too many levels of symbolic links"))
}

/// The limit of Linux.
const MAX_LINKS: usize = 40;

fn is_written_through(target: &Path, found: &Metadata) -> bool {
    let is_open_elsewhere = target.starts_with("/proc") || target.starts_with("/dev");
    is_open_elsewhere || !(found.is_file() || found.is_dir())
}

/// Whether a file starts as captures do, or is empty.
fn is_capture(path: &Path) -> io::Result<bool> {
    let first = shortflow_files::head(path, 4)?;
    let is_known =
        first.first_chunk().is_some_and(|magic| MAGIC.contains(&u32::from_le_bytes(*magic)));
    Ok(first.is_empty() || is_known)
}

/// The first bytes of captures: pcapng, then pcap with microseconds and with nanoseconds in either byte
/// order.
const MAGIC: [u32; 5] = [0x0a0d_0d0a, 0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1];
