//! The file of a capture.

use std::fs::Metadata;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use shortflow_measure::results::{Error, ResultFile};

use crate::pipe_writer::PipeWriter;

/// What a capture is written to.
#[derive(Debug)]
pub(crate) enum Output {
    /// A regular file, which appears when the capture is complete, or replaces an older capture then.
    Whole(ResultFile),
    /// A device, a pipe or the like, which gets every block at once and is never replaced.
    Pipe {
        /// Its name as it was given.
        path: PathBuf,
        /// What is behind the name.
        file: BufWriter<PipeWriter>,
    },
}

impl Output {
    /// Opens what is at `path`, or behind it if it is a symbolic link. A regular file that is no
    /// capture is refused.
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
                let found = "there is a file that is not a packet capture, and it is not replaced";
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

    /// Gives the capture up, and says why.
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

/// What is behind symbolic links, even if nothing is there. Links below `/proc` stand for files that
/// a process has open, and may lead nowhere else; they are taken as they are.
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
    Err(io::Error::new(io::ErrorKind::InvalidInput, "its symbolic links lead in a ring"))
}

/// As many as Linux follows.
const MAX_LINKS: usize = 40;

fn is_written_through(target: &Path, found: &Metadata) -> bool {
    let is_open_elsewhere = target.starts_with("/proc") || target.starts_with("/dev");
    is_open_elsewhere || !(found.is_file() || found.is_dir())
}

/// Whether a file begins as captures do, or is empty.
fn is_capture(path: &Path) -> io::Result<bool> {
    let first = shortflow_files::head(path, 4)?;
    let is_known =
        first.first_chunk().is_some_and(|magic| MAGIC.contains(&u32::from_le_bytes(*magic)));
    Ok(first.is_empty() || is_known)
}

/// How files begin: pcapng, then pcap with microseconds and with nanoseconds in either byte order.
const MAGIC: [u32; 5] = [0x0a0d_0d0a, 0xa1b2_c3d4, 0xd4c3_b2a1, 0xa1b2_3c4d, 0x4d3c_b2a1];
