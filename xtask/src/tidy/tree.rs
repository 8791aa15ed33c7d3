//! The files of the repository.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::crates::{Place, place};

/// A file, its path relative to the top of the repository.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// What it says, unless it is no text.
    pub(crate) text: Option<String>,
}

/// The files that are tracked, or would be if they were added.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// The tree of the repository that holds the working directory.
    pub(crate) fn of_repository() -> io::Result<Self> {
        let top = top()?;
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let top_argument = top.to_string_lossy();
        let names = git(&[&["-C", &top_argument], &list[..]].concat())?;
        let mut files = Vec::new();
        for path in names.split_terminator('\0') {
            match std::fs::read(top.join(path)) {
                Ok(content) => files.push(File {
                    path: path.to_owned(),
                    bytes: content.len() as u64,
                    text: String::from_utf8(content).ok(),
                }),
                // Deleted in the working tree, though still in git's index.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::other(format!("{path}: {error}"))),
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Tree { files })
    }

    /// A tree in memory.
    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.to_owned(),
            bytes: text.len() as u64,
            text: Some(text.to_owned()),
        };
        Tree { files: files.iter().map(file).collect() }
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// The text files, as path and text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// The text files whose path ends in `.extension`.
    pub(crate) fn texts_with(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(move |(path, _)| {
            path.rsplit_once('.').is_some_and(|(_, its_extension)| its_extension == extension)
        })
    }

    /// The crates below `crates/`, each with the text of its `Cargo.toml`.
    pub(crate) fn crates(&self) -> impl Iterator<Item = (Place<'_>, &str)> {
        self.texts_with("toml").filter_map(|(path, manifest)| {
            let place = place(path)?;
            (place.inside == "Cargo.toml").then_some((place, manifest))
        })
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts().find(|(its_path, _)| *its_path == path).map(|(_, text)| text)
    }

    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Whether any file is in `folder`, named without a slash at its end.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.files
            .iter()
            .any(|file| file.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// The folder of the repository that holds the working directory.
pub(crate) fn top() -> io::Result<PathBuf> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    Ok(PathBuf::from(top.trim_end_matches('\n')))
}

fn git(arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("git").args(arguments).output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("git {}: {error}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
