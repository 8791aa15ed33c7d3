//! Versions of a repository on disk, written atomically, and the event log.
//!
//! ```text
//! STATE/versions/000007/repository/…  the texts of version 7, and about.json: who, when, from where
//! STATE/current                       a link to the version that counts
//! STATE/log.jsonl                     an event in each line
//! STATE/devices.json                  devices on which the agent may have deployed something
//! STATE/numbers.json                  the numbers of these devices, by which they are known when they are renamed
//! STATE/held.json                     digests of what was rolled back from, which is not taken again
//! STATE/trial.json                    the version on trial, and what was measured before it
//! STATE/worse.json                    digests of versions that were found to be worse, which are not taken again
//! STATE/verdict.json                  the last verdict that this machine has published
//! STATE/lock                          held by the one process that uses the folder
//! ```
//!
//! All files are readable only by the agent's user, since a repository and messages that quote it may be
//! confidential.
//!
//! A version is written into a folder of another name, synchronised to disk, and then renamed; `current` is replaced
//! by a rename, too. So if a process or a machine stops at any time, either the old or the new version is there.

mod log;
mod numbers;
mod trials;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shortflow_files::{Dir, reason};

use crate::atomic_file::{PRIVATE, is_unfinished, replace_link, write_beneath};
use crate::bundle::{Bundle, Unreadable};
use crate::event::Event;
use log::Log;

/// The most versions that are kept; older ones are removed.
const MAX_VERSIONS: usize = 100;

/// The most bytes of the log, and of another file of the state, that are read.
const MAX_LOG: u64 = 64_000_000;
const MAX_STATE: u64 = 64_000_000;

/// Stands for unknown digests: any version may be held back.
pub(crate) const ANY: &str = "*";

/// What is known of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its number, from 1.
    pub number: u64,
    /// The digest of its texts.
    pub digest: String,
    /// Who wrote it.
    pub who: String,
    /// When it was taken.
    pub at: String,
    /// From which source.
    pub from: String,
}

/// A fault that was found in the state, and its consequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// As a sentence.
    pub what: String,
    /// Whether the agent applies nothing from the source until a user releases it.
    pub needs_release: bool,
}

impl Repair {
    fn new(what: impl Into<String>) -> Repair {
        Repair { what: what.into(), needs_release: false }
    }

    /// With the command that releases the source's version, where one is needed.
    pub fn text(&self, release: &str) -> String {
        match self.needs_release {
            true => format!("{}; to allow it again, run `{release}`", self.what),
            false => self.what.clone(),
        }
    }
}

/// Why the state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{path}: {}", reason(.source))]
    Io {
        /// Which one.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The system gives no thread.
    #[error("cannot start a thread: {}", reason(.0))]
    NoThread(std::io::Error),
    /// Another process uses the folder.
    #[error("another agent uses {folder}")]
    Busy {
        /// The folder.
        folder: String,
    },
    /// There is no such version.
    #[error("version {number} does not exist; {}", there(.versions))]
    NoVersion {
        /// The number.
        number: u64,
        /// Those that are there.
        versions: Vec<u64>,
    },
    /// There is no version before.
    #[error("no earlier version to roll back to; {}", there(.versions))]
    NoEarlier {
        /// Those that are there.
        versions: Vec<u64>,
    },
}

/// Which versions are kept, in words: those that follow each other together.
fn there(versions: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in versions {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let reported = |&(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let reported: Vec<String> = ranges.iter().map(reported).collect();
    match versions {
        [] => "no version is kept yet".to_owned(),
        [one] => format!("only version {one} is kept"),
        _ => format!("versions {} are kept", reported.join(", ")),
    }
}

/// The state of an agent on disk, which one process at a time has.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// The folder, opened.
    dir: Dir,
    log: Log,
    /// The devices on which the agent may have deployed something, as they are on disk.
    devices: BTreeSet<String>,
    /// The folder is another's as soon as this is closed.
    _lock: File,
}

impl Store {
    /// Opens the folder, creates it if necessary, and repairs the effects of an interruption; returns the repairs.
    ///
    /// # Errors
    /// When another process has it, or it cannot be read or written.
    pub fn open(folder: &Path) -> Result<(Store, Vec<Repair>), StoreError> {
        let dir = private_folder(folder).map_err(|error| io(folder, error))?;
        dir.make_dir("versions", 0o700).map_err(|error| io(&folder.join("versions"), error))?;
        let path = folder.join("lock");
        let lock = dir.lock_file("lock").map_err(|error| io(&path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Busy { folder: folder.display().to_string() });
            }
            Err(TryLockError::Error(error)) => return Err(io(&path, error)),
        }
        let (log, torn) = Log::open(&folder.join("log.jsonl"))
            .map_err(|error| io(&folder.join("log.jsonl"), error))?;
        let mut store =
            Store { folder: folder.to_owned(), dir, log, devices: BTreeSet::new(), _lock: lock };
        store.devices = store.read("devices.json").unwrap_or_default();
        let mut repaired: Vec<Repair> = torn.into_iter().map(Repair::new).collect();
        repaired.extend(store.damaged());
        repaired.extend(store.repair()?);
        Ok((store, repaired))
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The active version, with its texts.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn current(&self) -> Result<Option<(Version, Bundle)>, StoreError> {
        match self.number_of_current() {
            Some(number) => self.version(number).map(Some),
            None => Ok(None),
        }
    }

    /// The numbers of all versions, the first one first.
    pub fn numbers(&self) -> Vec<u64> {
        let names = self.dir.dir("versions").and_then(|versions| versions.names());
        let names = names.unwrap_or_default();
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The number of the version before this one.
    ///
    /// # Errors
    /// When no earlier version is kept.
    pub(crate) fn before(&self, number: u64) -> Result<u64, StoreError> {
        let versions = self.numbers();
        let before = versions.iter().rfind(|before| **before < number).copied();
        before.ok_or(StoreError::NoEarlier { versions })
    }

    /// A version with its texts.
    ///
    /// # Errors
    /// When it is not there, or is not what was written.
    pub fn version(&self, number: u64) -> Result<(Version, Bundle), StoreError> {
        let folder = self.place(number);
        if !folder.exists() {
            return Err(StoreError::NoVersion { number, versions: self.numbers() });
        }
        let about = self.about(number)?;
        let repository = folder.join("repository");
        let damaged = |why: String| io(&repository, std::io::Error::other(why));
        let bundle = Bundle::read(&repository).map_err(|error| match error {
            Unreadable::Cannot { why, .. } => damaged(why.to_string()),
            Unreadable::Mistakes(mistakes) => damaged(mistakes.to_string()),
        })?;
        let digest = bundle.digest();
        if digest != about.digest {
            return Err(damaged(format!("the digest is {digest}, expected {}", about.digest)));
        }
        Ok((about, bundle))
    }

    fn about(&self, number: u64) -> Result<Version, StoreError> {
        let path = self.place(number).join("about.json");
        let text =
            self.dir.read(Path::new("versions").join(name(number)).join("about.json"), MAX_STATE);
        let text = text.map_err(|error| io(&path, error.into()))?;
        serde_json::from_slice(&text).map_err(|error| io(&path, error.into()))
    }

    /// Keeps texts as a new version, which counts from now on; policies that the fleet does not name have no place in it.
    ///
    /// # Errors
    /// When they cannot be written; then all is as before.
    pub fn keep(
        &mut self,
        bundle: &Bundle,
        who: &str,
        from: &str,
        at: &str,
    ) -> Result<Version, StoreError> {
        let (newest, digest) = (self.numbers().last().copied(), bundle.digest());
        let known = newest.and_then(|newest| self.about(newest).ok());
        let known = known.filter(|known| known.digest == digest);
        // One that was written and did not come to count, or that was gone back from, is no other version.
        if let Some((version, _)) = known.and_then(|known| self.version(known.number).ok()) {
            self.point_to(version.number)?;
            self.hold(&BTreeSet::new())?;
            return Ok(version);
        }
        let number = newest.map_or(1, |newest| newest + 1);
        let version = Version {
            number,
            digest,
            who: who.to_owned(),
            at: at.to_owned(),
            from: from.to_owned(),
        };
        self.write_version(&version, bundle).map_err(|error| io(&self.place(number), error))?;
        self.point_to(number)?;
        self.hold(&BTreeSet::new())?;
        self.prune(number);
        Ok(version)
    }

    /// Writes a version into a folder of another name, and gives that its name.
    fn write_version(&self, version: &Version, bundle: &Bundle) -> io::Result<()> {
        let versions = self.dir.dir("versions")?;
        let (unfinished, hidden) = versions.make_temporary()?;
        let write = |path: &Path, text: &[u8]| write_beneath(&unfinished, path, PRIVATE, text);
        let written = bundle.files().try_for_each(|(path, text)| {
            write(&Path::new("repository").join(path), text.as_bytes())
        });
        let about = serde_json::to_vec_pretty(version).expect("a version is JSON");
        let named = written.and_then(|()| write(Path::new("about.json"), &about)).and_then(|()| {
            let name = name(version.number);
            versions.rename(OsStr::new(&hidden), &versions, OsStr::new(&name))
        });
        if named.is_err() {
            // What is left over is removed at the next start.
            let _ = versions.remove_tree(&hidden);
        }
        named.and_then(|()| versions.sync())
    }

    /// Lets an earlier version count again, the one before the current one where no number is given; what is current now
    /// is not taken again when the source still has it, nor is the newest version, nor what has the digest `ordered`.
    ///
    /// # Errors
    /// When there is no such version, or it cannot be read, or the state cannot be written.
    pub fn roll_back(
        &mut self,
        number: Option<u64>,
        ordered: Option<&str>,
    ) -> Result<(Version, Bundle), StoreError> {
        let current = self.number_of_current().unwrap_or_default();
        let number = number.map_or_else(|| self.before(current), Ok)?;
        let found = self.version(number)?;
        // What is held is written first: an interruption then leaves the version that is not wanted, and nothing worse.
        let mut held = self.held();
        let gone_back_from = (number < current).then_some(current);
        let left = self.numbers().last().copied().into_iter().chain(gone_back_from);
        held.extend(left.filter_map(|left| Some(self.about(left).ok()?.digest)));
        held.extend(ordered.map(str::to_owned));
        held.remove(&found.0.digest);
        self.hold(&held)?;
        self.point_to(number)?;
        Ok(found)
    }

    /// The digests of texts that were rolled back from, as long as the source has nothing else; `ANY` where these cannot be
    /// read.
    pub fn held(&self) -> BTreeSet<String> {
        // Agents of earlier versions wrote one digest alone.
        let one = || self.read::<String>("held.json").map(|one| BTreeSet::from([one]));
        let read = self.read("held.json").or_else(one);
        let is_absent = || self.dir.kind("held.json").is_none();
        read.unwrap_or_else(|| match is_absent() {
            true => BTreeSet::new(),
            false => BTreeSet::from([ANY.to_owned()]),
        })
    }

    /// Holds these texts off, and no others.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) fn hold(&self, held: &BTreeSet<String>) -> Result<(), StoreError> {
        self.set("held.json", (!held.is_empty()).then_some(held))
    }

    /// Releases held-back texts.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(crate) fn release(&self, digest: &str) -> Result<(), StoreError> {
        let mut held = self.held();
        let was_held = [digest, ANY].map(|digest| held.remove(digest));
        if was_held.contains(&true) { self.hold(&held) } else { Ok(()) }
    }

    /// The devices on which the agent may have deployed something.
    pub fn devices(&self) -> &BTreeSet<String> {
        &self.devices
    }

    /// Remembers these devices.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn remember(&mut self, devices: BTreeSet<String>) -> Result<(), StoreError> {
        self.set("devices.json", Some(&devices))?;
        self.devices = devices;
        Ok(())
    }

    /// Writes an event into the log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, event: &Event) -> Result<(), StoreError> {
        let path = self.folder.join("log.jsonl");
        self.log.write(&event.json()).map_err(|error| io(&path, error))
    }

    /// The lines of the log in `folder`, whichever process uses it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log(folder: &Path) -> Result<Vec<String>, StoreError> {
        let path = folder.join("log.jsonl");
        let text = shortflow_files::read_text(&path, MAX_LOG);
        let text = text.map_err(|error| io(&path, error.into()))?;
        Ok(text.lines().filter(|line| Event::parse(line).is_some()).map(str::to_owned).collect())
    }

    fn place(&self, number: u64) -> PathBuf {
        self.folder.join("versions").join(name(number))
    }

    fn number_of_current(&self) -> Option<u64> {
        std::fs::read_link(self.folder.join("current")).ok()?.file_name()?.to_str()?.parse().ok()
    }

    fn point_to(&self, number: u64) -> Result<(), StoreError> {
        let link = self.folder.join("current");
        let to = Path::new("versions").join(name(number));
        replace_link(&link, &to).map_err(|error| io(&link, error))
    }

    /// Removes what was begun and not finished, and goes back to the last sound version where the current one is not.
    fn repair(&mut self) -> Result<Vec<Repair>, StoreError> {
        let mut repaired = Vec::new();
        let versions = self.dir.dir("versions").map_err(|error| io(&self.folder, error))?;
        for (dir, what) in [(&versions, "version"), (&self.dir, "file")] {
            let names = dir.names().map_err(|error| io(&self.folder, error))?;
            for name in names.iter().filter(|name| is_unfinished(&name.to_string_lossy())) {
                dir.remove_tree(name).map_err(|error| io(&self.folder.join(name), error))?;
                repaired.push(Repair::new(format!("removed an incomplete {what}")));
            }
        }
        let numbers = self.numbers();
        let current = self.number_of_current();
        if current.is_some_and(|number| self.version(number).is_ok()) || numbers.is_empty() {
            return Ok(repaired);
        }
        let was = match current {
            Some(number) => format!("version {number} was active and is damaged"),
            None => "no version was active".to_owned(),
        };
        match self.replacement(current, &numbers) {
            Some(number) => {
                self.point_to(number)?;
                repaired.push(Repair::new(format!("{was}; version {number} is active now")));
            }
            None => repaired.push(Repair::new(format!(
                "{was}; no other version may take its place: the others are damaged or were rolled back"
            ))),
        }
        Ok(repaired)
    }

    /// The version that takes the place of one that cannot be read: the newest sound one before it, else the newest
    /// sound one that was not rolled back.
    fn replacement(&self, current: Option<u64>, numbers: &[u64]) -> Option<u64> {
        let held = self.held();
        let digest = |number: u64| self.version(number).ok().map(|(version, _)| version.digest);
        let is_allowed = |number: &&u64| {
            digest(**number).is_some_and(|digest| !held.contains(&digest) && !held.contains(ANY))
        };
        let is_before = |number: &&u64| current.is_some_and(|current| **number < current);
        let earlier = numbers.iter().filter(is_before).rfind(|number| digest(**number).is_some());
        earlier.or_else(|| numbers.iter().rfind(is_allowed)).copied()
    }

    /// Removes the oldest versions, up to the most that are kept.
    fn prune(&self, current: u64) {
        let numbers = self.numbers();
        let old = numbers.len().saturating_sub(MAX_VERSIONS);
        for number in numbers.into_iter().take(old).filter(|number| *number != current) {
            // What cannot be removed costs room, and is tried again with the next version.
            let _ = self.dir.dir("versions").and_then(|dir| dir.remove_tree(name(number)));
        }
    }
}

/// The name of a version's folder.
fn name(number: u64) -> String {
    format!("{number:06}")
}

/// The private folder of a state. An existing folder is accepted only if no other user may write it.
fn private_folder(folder: &Path) -> io::Result<Dir> {
    let is_new = !folder.exists();
    let dir = Dir::create(folder)?;
    let found = dir.own_metadata()?;
    if !is_own(&found) {
        return Err(refused("this folder belongs to another user: give the agent its own folder"));
    }
    if !is_new && found.mode() & 0o022 != 0 && !dir.names()?.is_empty() {
        return Err(refused("other users may write this folder: give the agent its own folder"));
    }
    if is_new || dir.kind("versions").is_some() || dir.names()?.is_empty() {
        dir.set_mode(0o700)?;
    }
    check_owners(&dir)?;
    if let Ok(versions) = dir.dir("versions") {
        check_owners(&versions)?;
    }
    Ok(dir)
}

/// Refuses entries that another user has put into a folder while it was open to others.
fn check_owners(dir: &Dir) -> io::Result<()> {
    for name in dir.names()? {
        // One that goes away meanwhile does no harm.
        if dir.metadata(&name).is_ok_and(|found| !is_own(&found)) {
            let name = name.to_string_lossy();
            return Err(refused(&format!(
                "`{name}` in it belongs to another user: give the agent its own folder"
            )));
        }
    }
    Ok(())
}

fn is_own(found: &std::fs::Metadata) -> bool {
    found.uid() == nix::unistd::geteuid().as_raw()
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn io(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { path: path.display().to_string(), source }
}
