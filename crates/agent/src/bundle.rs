//! The texts of a repository at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shortflow_text::{Diagnostic, Diagnostics};

use crate::fleet::Written;
use crate::regular::{NotRead, regular};
use crate::whole::{sync_folder, write_file};

/// The file that says which machine gets which policy.
pub const FLEET: &str = "fleet.toml";

/// So many files that are left out are named, in folders that deep.
const MOST_LISTED: usize = 1000;
const DEEPEST: u32 = 8;

/// The texts of a repository at one moment: that of the fleet, and those of the policies that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bundle {
    files: BTreeMap<String, String>,
}

/// Why a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The system does not let us, or is not able to.
    #[error("cannot read {path}: {why}")]
    Cannot {
        /// What was to be read.
        path: String,
        /// Why it cannot be.
        why: std::io::Error,
    },
    /// What is there is no text: mistakes of whoever has put it there, each with its place.
    #[error(transparent)]
    Mistakes(#[from] Diagnostics),
}

/// Whether there is no such file; one that cannot be looked at is told when it is read.
fn is_missing(path: &Path) -> bool {
    std::fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

impl Bundle {
    /// Of texts by their paths in the repository.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Bundle {
        Bundle { files: files.into_iter().collect() }
    }

    /// Reads the repository in `folder`. A policy that is named and not there is missing in the bundle, and
    /// [`Fleet::check`](crate::Fleet::check) says where it is named.
    ///
    /// # Errors
    /// When the fleet's file cannot be read, or a policy is there and cannot be. Whatever stands in the place of a file, such as a
    /// pipe, is not waited for.
    pub fn read(folder: &Path) -> Result<Bundle, Unreadable> {
        let fleet = match read(folder, FLEET)? {
            Ok(text) => text,
            Err(kind) => {
                let help = Some("it says which machine gets which policy: a text".to_owned());
                let message = format!("{FLEET} is {kind}, and not a file");
                return Err(Diagnostics::one(Diagnostic::of_whole(FLEET, message, help)).into());
            }
        };
        let mut bundle = Bundle::new([(FLEET.to_owned(), fleet)]);
        let (written, mut no_files) = (Written::of(&bundle), BTreeMap::new());
        for name in written.policies() {
            if !is_inner(name) || bundle.files.contains_key(name) || is_missing(&folder.join(name))
            {
                continue;
            }
            match read(folder, name)? {
                Ok(text) => drop(bundle.files.insert(name.clone(), text)),
                Err(kind) => drop(no_files.insert(name.clone(), kind)),
            }
        }
        match no_files.is_empty() {
            true => Ok(bundle),
            false => Err(written.names_no_files(&bundle, &no_files).into()),
        }
    }

    /// The policies in `folder`, by the ends of their names, that are not in the bundle since the fleet does not name them; as many as
    /// a person reads.
    pub fn left_out(&self, folder: &Path) -> Vec<String> {
        let (mut found, mut folders) = (Vec::new(), vec![(String::new(), 0)]);
        while let Some((inner, depth)) = folders.pop() {
            let entries = std::fs::read_dir(folder.join(&inner)).into_iter().flatten().flatten();
            for entry in entries.take(MOST_LISTED) {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let path = if inner.is_empty() { name.clone() } else { format!("{inner}/{name}") };
                match entry.file_type() {
                    _ if name.starts_with('.') => {}
                    Ok(kind) if kind.is_dir() && depth < DEEPEST => folders.push((path, depth + 1)),
                    Ok(kind) if kind.is_file() && path.ends_with(".toml") => found.push(path),
                    _ => {}
                }
            }
        }
        found.retain(|path| !self.files.contains_key(path));
        found.sort();
        found.truncate(MOST_LISTED);
        found
    }

    /// The same without policies that the fleet does not name: what [`read`](Bundle::read) reads.
    #[must_use]
    pub fn needed(self) -> Bundle {
        let fleet = Written::of(&self);
        self.only(&fleet).0
    }

    /// The same, where the fleet's text was read, and whether that is all there was.
    pub(crate) fn only(mut self, fleet: &Written) -> (Bundle, bool) {
        let (named, before) = (fleet.policies().iter().collect::<BTreeSet<_>>(), self.files.len());
        self.files.retain(|path, _| path == FLEET || named.contains(path));
        let is_whole = self.files.len() == before;
        (self, is_whole)
    }

    /// Writes the repository into a folder that is not there yet, whole or not at all.
    ///
    /// # Errors
    /// When something is there, or it cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        if folder.symlink_metadata().is_ok() {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        let around = folder
            .parent()
            .filter(|around| !around.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        std::fs::create_dir_all(around)?;
        let unfinished = tempfile::Builder::new().prefix(".new-").tempdir_in(around)?;
        let whole = unfinished.path().join("repository");
        std::fs::create_dir(&whole)?;
        for (path, text) in &self.files {
            write_file(&whole.join(path), text.as_bytes())?;
        }
        std::fs::rename(&whole, folder)?;
        sync_folder(around)
    }

    /// The text at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// All texts with their paths, in the order of these.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// A number that tells bundles apart: the first 12 digits of SHA-256 over all paths and texts.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (path, text) in &self.files {
            for part in [path, text] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether a path stays inside the folder that it is relative to.
pub(crate) fn is_inner(path: &str) -> bool {
    let parts = Path::new(path).components();
    !path.is_empty() && parts.into_iter().all(|part| matches!(part, Component::Normal(_)))
}

/// The text of a file of the repository in `folder`, or what kind of thing is there instead.
fn read(folder: &Path, name: &str) -> Result<Result<String, &'static str>, Unreadable> {
    let path = folder.join(name);
    match regular(&path) {
        Ok(text) => Ok(Ok(text)),
        Err(NotRead::NoFile(kind)) => Ok(Err(kind)),
        Err(NotRead::NoText(found)) => Err(found.told(name).into()),
        Err(NotRead::Cannot(why)) => {
            Err(Unreadable::Cannot { path: path.display().to_string(), why })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fleet_and_the_policies_that_it_names_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("policies/a.toml", "a");
        write("policies/other.toml", "other");
        write(
            "fleet.toml",
            "[[assign]]\npolicy = \"policies/a.toml\"\n[[assign]]\npolicy = \"../b.toml\"\n",
        );
        let bundle = Bundle::read(folder.path()).unwrap();
        let paths: Vec<&str> = bundle.files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["fleet.toml", "policies/a.toml"]);
    }

    #[test]
    fn what_is_no_text_is_not_waited_for_and_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let told = || match Bundle::read(folder.path()).unwrap_err() {
            Unreadable::Mistakes(mistakes) => mistakes.to_string(),
            Unreadable::Cannot { why, .. } => panic!("{why}"),
        };
        let pipe = |name: &str| {
            let made = std::process::Command::new("mkfifo").arg(path(name)).status();
            assert!(made.unwrap().success());
        };
        pipe("fleet.toml");
        assert!(told().starts_with("error: fleet.toml is a pipe, and not a file\n"), "{}", told());
        std::fs::remove_file(path("fleet.toml")).unwrap();
        std::fs::create_dir(path("policies")).unwrap();
        pipe("policies/a.toml");
        let fleet = "[machines.gw1]\n\n[[assign]]\npolicy = \"policies/a.toml\"\n\n[[assign]]\npolicy = \"policies\"\n";
        std::fs::write(path("fleet.toml"), fleet).unwrap();
        for part in [
            "error: `policies/a.toml` is a pipe, and not a file",
            "--> fleet.toml:4:10",
            "error: `policies` is a folder, and not a file",
            "--> fleet.toml:7:10",
        ] {
            assert!(told().contains(part), "{part}: {}", told());
        }
        std::fs::write(path("fleet.toml"), b"name = \"a\"\n# \xe4\n").unwrap();
        let found = told();
        assert!(found.starts_with("error: this is not UTF-8: byte 14 of the file\n"), "{found}");
        assert!(found.contains("--> fleet.toml:2:3"), "{found}");
    }

    #[test]
    fn a_digest_tells_texts_and_paths_apart() {
        let of = |files: &[(&str, &str)]| {
            Bundle::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
                .digest()
        };
        assert_eq!(of(&[("a", "bc")]).len(), 12);
        assert_eq!(of(&[("a", "bc")]), of(&[("a", "bc")]));
        assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
        assert_ne!(of(&[("a", "b"), ("c", "")]), of(&[("a", ""), ("c", "b")]));
    }
}
