//! Errors of reading and writing results.

use std::io;
use std::path::{Path, PathBuf};

use shortflow_files::{ReadError, without_control_chars};

/// A file or folder of results that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {reason}", path.display(), reason = reason_of(action, source))]
    Io {
        /// What was tried, as in "write".
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is there, but is not what it should be.
    #[error("{} is not a valid results file: {reason}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// For use as `map_err(Error::io("write", path))`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path: path.clone(), source }
    }

    /// A file that is not read.
    pub(crate) fn unread(path: &Path, error: ReadError) -> Error {
        match error {
            ReadError::Io(source) => Error::io("read", path)(source),
            other => Error::malformed(path)(other),
        }
    }

    /// For use as `map_err(Error::malformed(path))`.
    pub fn malformed<E: ToString>(path: &Path) -> impl Fn(E) -> Error {
        let path = path.to_owned();
        // Parsers quote what they cannot read.
        move |reason| Error::Malformed {
            path: path.clone(),
            reason: without_control_chars(&reason.to_string()),
        }
    }
}

/// The operating system's own error out of one of CSV, so that its reason is not lost.
pub(super) fn csv_to_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Why `action` failed, in plain words.
fn reason_of(action: &str, error: &io::Error) -> String {
    // All folders that were missing on the way were to be made.
    if action == MAKE_FOLDER && error.kind() == io::ErrorKind::NotFound {
        return "no folder can be created there".into();
    }
    reason(error)
}

/// The action of making a folder and those above it.
pub(crate) const MAKE_FOLDER: &str = "create the folder";

/// The reason in plain words.
fn reason(error: &io::Error) -> String {
    // Who made an error of words knows better.
    if let Some(words) = error.get_ref() {
        return words.to_string();
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotFound => "no such file or folder".into(),
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::QuotaExceeded => "the disk quota is exceeded".into(),
        io::ErrorKind::FileTooLarge => "the file would be too large".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file instead of a folder".into(),
        io::ErrorKind::AlreadyExists => "a file with this name already exists".into(),
        io::ErrorKind::IsADirectory => "a folder with this name exists".into(),
        _ => without_number(&error.to_string()),
    }
}

/// The system's words without its number: "Device or resource busy (os error 16)".
fn without_number(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_system_is_told_in_plain_words() {
        let message =
            |action, source: io::Error| Error::Io { action, path: "x".into(), source }.to_string();
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(message("read", missing()), "cannot read x: no such file or folder");
        assert_eq!(
            message(MAKE_FOLDER, missing()),
            "cannot create the folder x: no folder can be created there"
        );
        let busy = message("write", io::Error::from_raw_os_error(16));
        assert!(busy.starts_with("cannot write x: ") && !busy.contains("os error"), "{busy}");
    }
}
