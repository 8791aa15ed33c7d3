//! Writes to a device or a pipe, with a time limit for a reader that does not read.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a pipe may have no reader at first, and how long a reader may not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time between attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A capture output that is not a regular file.
#[derive(Debug)]
pub(crate) struct PipeWriter {
    file: File,
    patience: Duration,
}

impl PipeWriter {
    /// Opens the device or pipe at `path`. A pipe must have a reader.
    pub(crate) fn open(path: &Path) -> io::Result<PipeWriter> {
        PipeWriter::open_within(path, WRITE_TIMEOUT)
    }

    fn open_within(path: &Path, patience: Duration) -> io::Result<PipeWriter> {
        let mut options = OpenOptions::new();
        options.append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NONBLOCK);
        let nobody = "the pipe has no reader; start the reader first";
        let file =
            within(patience, nobody, &|error| is_without_reader(error), || options.open(path))?;
        Ok(PipeWriter { file, patience })
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stalled = "the reader has not read anything for 10 s";
        let is_full = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
        within(self.patience, stalled, &is_full, || self.file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether it is a pipe without a reader.
fn is_without_reader(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(nix::libc::ENXIO);
    #[cfg(not(unix))]
    return false;
}

/// Repeats an action while it fails with a temporary error. After the time limit the error is `why`.
fn within<T>(
    patience: Duration,
    why: &str,
    passes: &dyn Fn(&io::Error) -> bool,
    mut act: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match act() {
            Err(error) if passes(&error) && begun.elapsed() < patience => {
                std::thread::sleep(RETRY_INTERVAL)
            }
            Err(error) if passes(&error) => return Err(io::Error::new(ErrorKind::TimedOut, why)),
            done => return done,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::*;

    const SHORT: Duration = Duration::from_millis(100);

    #[test]
    fn a_pipe_without_a_reader_and_one_whose_reader_stalls_are_given_up() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = PipeWriter::open_within(&pipe, SHORT).unwrap_err();
        assert!(refused.to_string().contains("start the reader first"), "{refused}");
        let reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let mut through = PipeWriter::open_within(&pipe, SHORT).unwrap();
        let refused = through.write_all(&vec![0; 1 << 22]).unwrap_err();
        assert!(refused.to_string().contains("has not read anything"), "{refused}");
        drop(reader);
        assert_eq!(through.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
