//! Files that others put into folders: each is read if it is one, and what stands in its place is not waited for.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use nix::libc::O_NONBLOCK;
use shortflow_text::{Diagnostic, Diagnostics, MOST_TEXT, Severity, Source};

/// Why there is no text.
#[derive(Debug)]
pub(crate) enum NotRead {
    /// There is something else, of this kind.
    NoFile(&'static str),
    /// It is not UTF-8.
    NoText(NoText),
    /// It cannot be read, or is too long.
    Cannot(io::Error),
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> NotRead {
        NotRead::Cannot(error)
    }
}

/// Bytes that are no text.
#[derive(Debug)]
pub(crate) struct NoText {
    bytes: Vec<u8>,
    /// How many of them are.
    good: usize,
}

impl NoText {
    /// Tells at which place of the file `name` they are none.
    pub(crate) fn told(self, name: &str) -> Diagnostics {
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        let message = format!("this is not UTF-8: byte {} of the file", self.good + 1);
        Diagnostics::one(Diagnostic {
            severity: Severity::Error,
            source: Arc::new(Source { name: name.to_owned(), text }),
            span: self.good..self.good + char::REPLACEMENT_CHARACTER.len_utf8(),
            message,
            label: None,
            help: Some("save the file as UTF-8".to_owned()),
        })
    }
}

/// The text of the regular file at `path`.
pub(crate) fn regular(path: &Path) -> Result<String, NotRead> {
    // To open a device may set it to work, and to open a pipe may wait for somebody who writes into it.
    refuse(fs::metadata(path)?.file_type())?;
    let file = File::options().read(true).custom_flags(O_NONBLOCK).open(path)?;
    let found = file.metadata()?;
    refuse(found.file_type())?;
    let mut bytes = Vec::new();
    file.take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_TEXT {
        let (has, most) = (found.len().max(bytes.len() as u64), MOST_TEXT / 1_000_000);
        let why = format!("it has {} MB, and at most {most} MB are read", has as f64 / 1e6);
        return Err(io::Error::other(why).into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        NotRead::NoText(NoText { bytes: error.into_bytes(), good })
    })
}

fn refuse(kind: FileType) -> Result<(), NotRead> {
    let kinds = [
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a pipe"),
        (kind.is_socket(), "a socket"),
        (!kind.is_file(), "a device"),
    ];
    match kinds.iter().find(|(is_it, _)| *is_it) {
        Some((_, name)) => Err(NotRead::NoFile(name)),
        None => Ok(()),
    }
}
