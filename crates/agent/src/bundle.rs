//! The texts of a repository at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shortflow_text::{InputFiles, MOST_TEXT};

use crate::fleet::Written;
use crate::whole::{sync_folder, write_file};

/// The file that says which machine gets which policy.
pub const FLEET: &str = "fleet.toml";

/// The texts of a repository at one moment: that of the fleet, and those of the policies that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bundle {
    files: BTreeMap<String, String>,
}

/// Why a repository cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {why}")]
pub struct Unreadable {
    /// What was to be read.
    pub path: String,
    /// Why it cannot be.
    pub why: String,
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
    /// When the fleet's file cannot be read, or a policy is there and cannot be.
    pub fn read(folder: &Path) -> Result<Bundle, Unreadable> {
        let files = InputFiles::default();
        let fleet = read(&files, &folder.join(FLEET))?;
        let mut bundle = Bundle::new([(FLEET.to_owned(), fleet)]);
        for name in Written::of(&bundle).policies() {
            let path = folder.join(name);
            if is_inner(name) && path.exists() {
                bundle.files.insert(name.clone(), read(&files, &path)?);
            }
        }
        Ok(bundle)
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

fn read(files: &InputFiles, path: &Path) -> Result<String, Unreadable> {
    let told = |error: std::io::Error| Unreadable {
        path: path.display().to_string(),
        why: error.to_string(),
    };
    files.read(path, MOST_TEXT).map_err(told)
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
