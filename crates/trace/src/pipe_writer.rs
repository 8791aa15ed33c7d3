//! A device or a pipe that is written to, for which nobody is kept waiting without an end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a pipe may be without a reader at first, and a reader may take nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long until it is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// What is behind the name of a capture and is no regular file.
#[derive(Debug)]
pub(crate) struct PipeWriter {
    file: File,
    patience: Duration,
}

impl PipeWriter {
    /// Opens what is at `path`, a pipe when somebody reads from it.
    pub(crate) fn open(path: &Path) -> io::Result<PipeWriter> {
        PipeWriter::open_within(path, WRITE_TIMEOUT)
    }

    fn open_within(path: &Path, patience: Duration) -> io::Result<PipeWriter> {
        let mut options = OpenOptions::new();
        options.append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::libc::O_NONBLOCK);
        let nobody = "nobody reads from this pipe; start the reader first";
        let file =
            within(patience, nobody, &|error| is_without_reader(error), || options.open(path))?;
        Ok(PipeWriter { file, patience })
    }
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stalled = "whoever reads from it has taken nothing for a while";
        let is_full = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
        within(self.patience, stalled, &is_full, || self.file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether it is a pipe that nobody reads from.
fn is_without_reader(error: &io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(nix::libc::ENXIO);
    #[cfg(not(unix))]
    return false;
}

/// Tries something as long as it fails in a way that passes, and then says `why` it was given up.
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
        assert!(refused.to_string().contains("has taken nothing"), "{refused}");
        drop(reader);
        assert_eq!(through.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
