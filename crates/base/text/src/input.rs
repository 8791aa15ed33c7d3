//! Reads the files that a user names, each once, up to a limit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

/// Reads files that a user names. It keeps the contents, so that a pipe, which can be read only once, can be
/// read again by name. Only regular files and pipes are read, because a device may never end.
#[derive(Debug, Default)]
pub struct InputFiles {
    texts: RefCell<BTreeMap<PathBuf, String>>,
}

impl InputFiles {
    /// Provides `text` under `path`, instead of a file.
    pub fn give(&self, path: &Path, text: &str) {
        self.texts.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    /// The text of the file at `path`, or of standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be read, is neither a regular file nor a pipe, is not UTF-8, or has more than `max`
    /// bytes.
    pub fn read(&self, path: &Path, max: u64) -> io::Result<String> {
        if let Some(text) = self.texts.borrow().get(path) {
            return Ok(text.clone());
        }
        let bytes = if is_standard_input(path) {
            shortflow_files::read_from(io::stdin().lock(), max)?
        } else {
            shortflow_files::read_input(path, max)?
        };
        let text = String::from_utf8(bytes).map_err(|error| not_utf8(&error))?;
        self.texts.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// Where a text is not UTF-8, and what to do about it.
fn not_utf8(error: &FromUtf8Error) -> io::Error {
    let text = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    let line = 1 + text.iter().filter(|byte| **byte == b'\n').count();
    let what = format!(
        "line {line} is not UTF-8: save the file as UTF-8 text (spreadsheets: \"CSV UTF-8\")"
    );
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Whether `path` means standard input.
fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of `path` in messages.
pub fn name_of(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The folder to which names in the file at `path` are relative: the file's folder, or the working folder for
/// a pipe (`-`, `/dev/stdin`, `/dev/fd/63`).
pub fn folder_of(path: &Path) -> &Path {
    if is_standard_input(path) || path.starts_with("/dev") || path.starts_with("/proc") {
        return Path::new("");
    }
    path.parent().unwrap_or(Path::new(""))
}

/// The largest policy or scenario in bytes, with comments.
pub const MAX_TEXT: u64 = 16_000_000;

/// The largest data file of a scenario in bytes, such as a log of accesses.
pub const MAX_DATA: u64 = 256_000_000;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        fs::write(&path, "name = 1\n").unwrap();
        assert_eq!(InputFiles::default().read(&path, 9).unwrap(), "name = 1\n");
        let refused = InputFiles::default().read(&path, 8).unwrap_err().to_string();
        assert_eq!(refused, "it has 9 bytes, and at most 8 bytes are read");
    }

    #[test]
    fn a_file_in_another_encoding_is_refused_with_the_line_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("customers.csv");
        fs::write(&path, b"customer,down\nM\xfcller,10\n").unwrap();
        let refused = InputFiles::default().read(&path, 100).unwrap_err().to_string();
        assert_eq!(
            refused,
            "line 2 is not UTF-8: save the file as UTF-8 text (spreadsheets: \"CSV UTF-8\")"
        );
    }

    #[test]
    fn what_was_read_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        fs::write(&path, "first").unwrap();
        let files = InputFiles::default();
        assert_eq!(files.read(&path, 100).unwrap(), "first");
        fs::remove_file(&path).unwrap();
        assert_eq!(files.read(&path, 100).unwrap(), "first");
    }

    #[test]
    fn a_source_without_end_is_left_at_the_limit() {
        let refused =
            shortflow_files::read_from(io::repeat(b'#'), MAX_TEXT).unwrap_err().to_string();
        assert_eq!(refused, "it has more than 16 MB, and at most 16 MB are read");
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_folders_are_not_read() {
        let files = InputFiles::default();
        let refused = files.read(Path::new("/dev/zero"), MAX_TEXT).unwrap_err().to_string();
        assert_eq!(refused, "it is a device, not a file");
        let folder = files.read(Path::new("/"), MAX_TEXT).unwrap_err();
        assert_eq!(folder.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn names_in_what_comes_over_a_pipe_are_relative_to_the_working_folder() {
        for (path, folder) in [("-", ""), ("/dev/stdin", ""), ("/dev/fd/63", ""), ("a/b.toml", "a")]
        {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder), "{path}");
        }
    }
}
