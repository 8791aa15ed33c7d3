//! The texts of a repository at one point in time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shortflow_files::{Dir, Kind, NotUtf8, ReadError};
use shortflow_text::{Diagnostic, Diagnostics, MAX_TEXT, Severity, Source, reason};

use crate::atomic_file::write_beneath;
use crate::fleet::Written;

/// The file that says which machine gets which policy.
pub const FLEET: &str = "fleet.toml";

/// The maximum number of skipped files that are named, and the depth of folders that are searched.
const MAX_LISTED: usize = 1000;
const MAX_DEPTH: u32 = 8;

/// The texts of a repository at one moment: that of the fleet, and those of the policies that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bundle {
    files: BTreeMap<String, String>,
    /// Files whose text messages must not quote: another user than the folder's owner may have put them there to have
    /// them quoted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    foreign: BTreeSet<String>,
}

/// The owners of files, by their paths in the repository.
pub(crate) type FileOwners = BTreeMap<String, u32>;

/// Why a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The system does not let us, or is not able to.
    #[error("cannot read {path}: {}", reason(.why))]
    Cannot {
        /// What was to be read.
        path: String,
        /// Why it cannot be.
        why: std::io::Error,
    },
    /// The repository has errors, each with its place.
    #[error(transparent)]
    Mistakes(#[from] Diagnostics),
}

impl Bundle {
    /// Of texts by their paths in the repository.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Bundle {
        Bundle { files: files.into_iter().collect(), foreign: BTreeSet::new() }
    }

    /// Reads the repository in `folder`. A policy that is named and not there is missing in the bundle, and
    /// [`Fleet::check`](crate::Fleet::check) says where it is named.
    ///
    /// # Errors
    /// When the fleet's file cannot be read, or a policy is there and cannot be. Whatever stands in the place of a file, such as a
    /// pipe, is not waited for; a link is not followed, wherever it leads.
    pub fn read(folder: &Path) -> Result<Bundle, Unreadable> {
        Bundle::read_owned(folder).map(|(bundle, _)| bundle)
    }

    /// The same, with the owners of its files.
    ///
    /// # Errors
    /// As [`read`](Bundle::read).
    pub(crate) fn read_owned(folder: &Path) -> Result<(Bundle, FileOwners), Unreadable> {
        let opened = Dir::open(folder).and_then(|dir| Ok((dir.own_metadata()?.uid(), dir)));
        let (owner, dir) = opened.map_err(|why| cannot(folder, FLEET, why))?;
        let at = Place { folder, dir, owner };
        let (mut bundle, mut owners) = (Bundle::default(), FileOwners::new());
        if let Err(kind) = at.read_into(FLEET, &mut bundle, &mut owners)? {
            let help =
                Some("write it as a regular file: it assigns policies to machines".to_owned());
            let message = format!("{FLEET} is {kind}, not a regular file");
            return Err(Diagnostics::one(Diagnostic::of_whole(FLEET, message, help)).into());
        }
        let (written, mut no_files) = (Written::parse(&bundle), BTreeMap::new());
        for name in written.policies() {
            let is_missing =
                || at.dir.metadata(name).is_err_and(|why| why.kind() == ErrorKind::NotFound);
            if !is_inner(name) || bundle.files.contains_key(name) || is_missing() {
                continue;
            }
            if let Err(kind) = at.read_into(name, &mut bundle, &mut owners)? {
                no_files.insert(name.clone(), kind);
            }
        }
        match no_files.is_empty() {
            true => Ok((bundle, owners)),
            false => Err(written.names_no_files(&bundle, &no_files).into()),
        }
    }

    /// The same errors, without the text of files that the folder's owner does not own.
    pub(crate) fn unquoted(&self, found: Diagnostics) -> Diagnostics {
        let one = |one: Diagnostic| match self.foreign.contains(one.file()) {
            true => Diagnostic { severity: one.severity, ..not_quoted(one.file(), Some(&one)) },
            false => one,
        };
        Diagnostics(found.0.into_iter().map(one).collect())
    }

    /// The policies in `folder`, by the ends of their names, that are not in the bundle since the fleet does not name them; as many as
    /// a person reads.
    pub fn left_out(&self, folder: &Path) -> Vec<String> {
        let Ok(dir) = Dir::open(folder) else { return Vec::new() };
        let is_hidden = |path: &Path| {
            path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
        };
        let all = dir.walk(Kind::File, MAX_LISTED, MAX_DEPTH).into_iter();
        let seen = all.filter(|path| !is_hidden(path));
        let named = seen.filter_map(|path| path.into_os_string().into_string().ok());
        let is_left = |path: &String| path.ends_with(".toml") && !self.files.contains_key(path);
        let mut found: Vec<String> = named.filter(is_left).collect();
        found.sort();
        found.truncate(MAX_LISTED);
        found
    }

    /// The same without policies that the fleet does not name: what [`read`](Bundle::read) reads.
    #[must_use]
    pub fn needed(self) -> Bundle {
        let fleet = Written::parse(&self);
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
        let around = Dir::create(around)?;
        let (unfinished, hidden) = around.make_temporary()?;
        let whole = unfinished.make_dir("repository", 0o777)?;
        let written = self.files.iter().try_for_each(|(path, text)| {
            write_beneath(&whole, Path::new(path), 0o644, text.as_bytes())
        });
        let name = folder.file_name().unwrap_or(OsStr::new(""));
        let done = written
            .and_then(|()| unfinished.rename(OsStr::new("repository"), &around, name))
            .and_then(|()| around.sync());
        // What is left over is hidden.
        let _ = around.remove_tree(&hidden);
        done
    }

    /// The text at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// All texts with their paths, in the order of these.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Identifies a bundle: the first 12 digits of SHA-256 over all paths and texts.
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

/// A repository that is read.
struct Place<'f> {
    folder: &'f Path,
    dir: Dir,
    /// The folder's owner.
    owner: u32,
}

impl Place<'_> {
    /// Reads a file of the repository, or says what kind of thing is there instead.
    fn read_into(
        &self,
        name: &str,
        bundle: &mut Bundle,
        owners: &mut FileOwners,
    ) -> Result<Result<(), Kind>, Unreadable> {
        let (uid, is_foreign, text) = match self.open(name) {
            Ok(found) => found,
            Err(ReadError::NotAFile(kind)) => return Ok(Err(kind)),
            Err(why) => return Err(cannot(self.folder, name, why.into())),
        };
        match text {
            Ok(text) => drop(bundle.files.insert(name.to_owned(), text)),
            Err(ReadError::NotUtf8(_)) if is_foreign => {
                return Err(Diagnostics::one(not_quoted(name, None)).into());
            }
            Err(ReadError::NotUtf8(found)) => return Err(not_utf8(name, found).into()),
            Err(why) => return Err(cannot(self.folder, name, why.into())),
        }
        owners.insert(name.to_owned(), uid);
        if is_foreign {
            bundle.foreign.insert(name.to_owned());
        }
        Ok(Ok(()))
    }

    /// A file's owner, whether other users may own it, and its text. Another user may have linked a file with several
    /// names.
    fn open(&self, name: &str) -> Result<(u32, bool, Result<String, ReadError>), ReadError> {
        let file: File = self.dir.file(name)?;
        let found = file.metadata()?;
        let is_foreign = found.uid() != self.owner || found.nlink() > 1;
        Ok((found.uid(), is_foreign, shortflow_files::read_text_of(file, MAX_TEXT)))
    }
}

fn cannot(folder: &Path, name: &str, why: std::io::Error) -> Unreadable {
    Unreadable::Cannot { path: folder.join(name).display().to_string(), why }
}

/// That bytes are not UTF-8, and at which place.
fn not_utf8(name: &str, NotUtf8 { bytes, valid }: NotUtf8) -> Diagnostics {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Diagnostics::one(Diagnostic {
        severity: Severity::Error,
        source: Arc::new(Source { name: name.to_owned(), text }),
        span: valid..valid + char::REPLACEMENT_CHARACTER.len_utf8(),
        message: format!("not valid UTF-8: byte {} of the file", valid + 1),
        label: None,
        help: Some("save the file as UTF-8".to_owned()),
    })
}

/// An error, without the text that it is about.
fn not_quoted(name: &str, mistake: Option<&Diagnostic>) -> Diagnostic {
    let place = mistake.filter(|one| one.span != (0..0));
    let place = place
        .map_or(String::new(), |one| format!(" in line {}, column {}", one.line(), one.column()));
    let message = format!(
        "the file has a mistake{place}; the text is not quoted because the file and its repository have different \
            owners, or the file has several hard links"
    );
    let help = "create the file again as the owner of the repository's folder".to_owned();
    Diagnostic::of_whole(name, message, Some(help))
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
        let reported = || match Bundle::read(folder.path()).unwrap_err() {
            Unreadable::Mistakes(mistakes) => mistakes.to_string(),
            Unreadable::Cannot { why, .. } => panic!("{why}"),
        };
        let pipe = |name: &str| {
            let made = std::process::Command::new("mkfifo").arg(path(name)).status();
            assert!(made.unwrap().success());
        };
        pipe("fleet.toml");
        assert!(
            reported().starts_with("error: fleet.toml is a pipe, not a regular file\n"),
            "{}",
            reported()
        );
        std::fs::remove_file(path("fleet.toml")).unwrap();
        std::fs::create_dir(path("policies")).unwrap();
        pipe("policies/a.toml");
        let fleet = "[machines.gw1]\n\n[[assign]]\npolicy = \"policies/a.toml\"\n\n[[assign]]\npolicy = \"policies\"\n";
        std::fs::write(path("fleet.toml"), fleet).unwrap();
        for part in [
            "error: `policies/a.toml` is a pipe, not a regular file",
            "--> fleet.toml:4:10",
            "error: `policies` is a folder, not a regular file",
            "--> fleet.toml:7:10",
        ] {
            assert!(reported().contains(part), "{part}: {}", reported());
        }
        std::fs::write(path("fleet.toml"), b"name = \"a\"\n# \xe4\n").unwrap();
        let found = reported();
        assert!(found.starts_with("error: not valid UTF-8: byte 14 of the file\n"), "{found}");
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

    #[test]
    fn nothing_is_read_through_a_link_or_quoted_of_a_file_of_several_names() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("fleet");
        std::fs::create_dir_all(folder.join("policies")).unwrap();
        let secret = home.path().join("shadow");
        std::fs::write(&secret, "root:$6$SECRET:19000:0:99999:7:::\n").unwrap();
        let fleet = "[machines.a]\ninterfaces.wan = { device = \"eth0\", rate = \"9 Mbit/s\" }\n\
                     [[assign]]\npolicy = \"policies/a.toml\"\ninterfaces = [\"wan\"]\n";
        std::fs::write(folder.join("fleet.toml"), fleet).unwrap();
        let reported = || match Bundle::read(&folder) {
            Err(why) => why.to_string(),
            Ok(bundle) => crate::Fleet::check(&bundle).unwrap_err().to_string(),
        };
        let policy = folder.join("policies/a.toml");
        std::os::unix::fs::symlink(&secret, &policy).unwrap();
        let found = reported();
        assert!(
            found.contains("`policies/a.toml` is a symbolic link, not a regular file"),
            "{found}"
        );
        // A name more is nothing that the kernel refuses everywhere.
        std::fs::remove_file(&policy).unwrap();
        std::fs::hard_link(&secret, &policy).unwrap();
        let found = reported();
        assert!(found.contains("a mistake in line 1, column 5; the text is not quoted"), "{found}");
        assert!(!found.contains("SECRET") && !found.contains("root"), "{found}");
        std::fs::write(&secret, b"\xffSECRET").unwrap();
        let found = reported();
        assert!(found.contains("the text is not quoted") && !found.contains("SECRET"), "{found}");
        std::fs::rename(folder.join("policies"), home.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(home.path().join("elsewhere"), folder.join("policies")).unwrap();
        let found = reported();
        assert!(found.contains("a symbolic link is in the way, and none is followed"), "{found}");
        std::fs::remove_file(folder.join("fleet.toml")).unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("fleet.toml")).unwrap();
        assert!(reported().starts_with("error: fleet.toml is a symbolic link, not a regular file"));
    }
}
