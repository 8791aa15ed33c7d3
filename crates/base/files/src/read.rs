//! Reading with limits: a regular file of a sensible size, or a pipe that somebody writes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::libc::O_NONBLOCK;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::kind::Kind;
use crate::reason::reason;

/// How long nobody may write into a pipe that is read.
const MAX_SILENCE: Duration = Duration::from_secs(20);
/// How long all of it may take.
const MAX_READ: Duration = Duration::from_secs(600);

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Something else stands there.
    #[error("it is {0}, not a file")]
    NotAFile(Kind),
    /// It is too large.
    #[error("it has {}, and at most {} are read", .found.map_or_else(|| format!("more than {}", size(*.max)), size), size(*.max))]
    TooLarge {
        /// Its size in bytes, where it says so.
        found: Option<u64>,
        /// The limit in bytes.
        max: u64,
    },
    /// It is not UTF-8.
    #[error("it is not UTF-8: byte {}", .0.valid + 1)]
    NotUtf8(NotUtf8),
    /// Nobody writes into the pipe, or not fast enough.
    #[error("{0}")]
    TimedOut(&'static str),
    /// The system refuses.
    #[error("{}", reason(.0))]
    Io(#[from] io::Error),
}

/// Bytes that are not UTF-8.
#[derive(Debug)]
pub struct NotUtf8 {
    /// All bytes of the file.
    pub bytes: Vec<u8>,
    /// How many of them, from the first, are.
    pub valid: usize,
}

impl ReadError {
    /// Whether what was asked for is wrong, and the machine lacks nothing.
    pub fn is_of_input(&self) -> bool {
        match self {
            ReadError::Io(error) => matches!(
                error.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::InvalidInput
            ),
            _ => true,
        }
    }
}

/// For those that have no words of their own for it.
impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> io::Error {
        let kind = match &error {
            ReadError::Io(_) => {
                let ReadError::Io(error) = error else { unreachable!() };
                return error;
            }
            ReadError::NotAFile(Kind::Folder) => io::ErrorKind::IsADirectory,
            ReadError::NotUtf8(_) => io::ErrorKind::InvalidData,
            ReadError::TimedOut(_) => io::ErrorKind::TimedOut,
            ReadError::NotAFile(_) | ReadError::TooLarge { .. } => io::ErrorKind::Other,
        };
        io::Error::new(kind, error.to_string())
    }
}

/// The bytes of the regular file at `path`, which has at most `max`; links are followed, since a user names it.
///
/// # Errors
/// When it is not there, is something else or longer.
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    all(open(path)?, max)
}

/// The same as text.
///
/// # Errors
/// Also when it is not UTF-8.
pub fn read_text(path: &Path, max: u64) -> Result<String, ReadError> {
    as_text(read(path, max)?)
}

/// The bytes of the regular file or the pipe at `path`. A pipe must be written within 20 s at a time, and 10 minutes in
/// all.
///
/// # Errors
/// When it is not there, is something else or longer, or nobody writes it.
pub fn read_input(path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
    match Kind::from(fs::metadata(path)?.file_type()) {
        Kind::Pipe => of_pipe(path, max, MAX_SILENCE),
        _ => read(path, max),
    }
}

/// The first bytes of the regular file at `path`, `count` at most.
///
/// # Errors
/// When it is not there, or is something else.
pub fn head(path: &Path, count: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    open(path)?.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The regular file at `path`, for those who read it piece by piece and bound that themselves.
///
/// # Errors
/// When it is not there, or is something else.
pub fn open(path: &Path) -> Result<File, ReadError> {
    // Opening a device may set it to work, and opening a pipe may wait for somebody who writes.
    refuse_other(&fs::metadata(path)?)?;
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(path)?;
    refuse_other(&file.metadata()?)?;
    Ok(file)
}

pub(crate) fn refuse_other(found: &Metadata) -> Result<(), ReadError> {
    match Kind::from(found.file_type()) {
        Kind::File => Ok(()),
        other => Err(ReadError::NotAFile(other)),
    }
}

/// All that a regular file has.
pub(crate) fn all(file: File, max: u64) -> Result<Vec<u8>, ReadError> {
    let found = file.metadata()?.len();
    if found > max {
        return Err(ReadError::TooLarge { found: Some(found), max });
    }
    // Some files say that they have nothing, or grow while they are read.
    read_from(file, max)
}

/// All that `source` gives, unless that is more than `max` bytes.
///
/// # Errors
/// When it is more, or cannot be read.
pub fn read_from(source: impl Read, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max {
        true => Err(ReadError::TooLarge { found: None, max }),
        false => Ok(bytes),
    }
}

pub(crate) fn as_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        ReadError::NotUtf8(NotUtf8 { bytes: error.into_bytes(), valid })
    })
}

/// The text of a regular file that is open, which has at most `max` bytes.
///
/// # Errors
/// When it is longer, is not UTF-8, or cannot be read.
pub fn read_text_of(file: File, max: u64) -> Result<String, ReadError> {
    as_text(all(file, max)?)
}

fn of_pipe(path: &Path, max: u64, silence: Duration) -> Result<Vec<u8>, ReadError> {
    // Descriptors under /dev and /proc have a writer already, or never get one.
    let is_open = path.starts_with("/dev") || path.starts_with("/proc");
    let flags = if is_open { 0 } else { O_NONBLOCK };
    let mut file = File::options().read(true).custom_flags(flags).open(path)?;
    let until = Instant::now() + MAX_READ;
    let (mut bytes, mut chunk) = (Vec::new(), [0; 1 << 16]);
    loop {
        let timeout = PollTimeout::try_from(silence).unwrap_or(PollTimeout::MAX);
        let ready = poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)], timeout);
        if !ready.is_ok_and(|ready| ready > 0) {
            return Err(ReadError::TimedOut(
                "nobody writes into this pipe; start the writer first",
            ));
        }
        match file.read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() as u64 > max {
            return Err(ReadError::TooLarge { found: None, max });
        }
        if Instant::now() > until {
            return Err(ReadError::TimedOut("this pipe has not ended within 10 minutes"));
        }
    }
}

/// A number of bytes in words.
fn size(bytes: u64) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", bytes as f64 / 1e6),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_pipe_is_read_to_its_end_and_not_waited_for_without_one() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let short = Duration::from_millis(100);
        let message = of_pipe(&pipe, 9, short).unwrap_err().to_string();
        assert_eq!(message, "nobody writes into this pipe; start the writer first");
        let write = |text: &'static str| {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::write(pipe, text))
        };
        let writer = write("name = 1\n");
        assert_eq!(of_pipe(&pipe, 9, MAX_SILENCE).unwrap(), b"name = 1\n");
        writer.join().unwrap().unwrap();
        let writer = write("name = 12\n");
        let message = of_pipe(&pipe, 9, MAX_SILENCE).unwrap_err().to_string();
        assert_eq!(message, "it has more than 9 bytes, and at most 9 bytes are read");
        writer.join().unwrap().unwrap();
    }
}
