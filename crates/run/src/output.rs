//! The folder that a command writes: all of it, or nothing.
//!
//! Everything is written into a hidden folder inside the target first, then moved to its place. A
//! run that fails or is killed leaves what was there before.

use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use shortflow_measure::results::{
    self, COMPARISON, Compared, Comparison, FIGURES, Folder, MANIFEST, REPORT,
};
use tempfile::TempDir;

use crate::case::Case;
use crate::engine::Error;
use crate::results::{CaseResults, Results};

/// A folder to be written.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    staging: TempDir,
    /// Locked for as long as the run lives, where the system has locks.
    _held: Option<File>,
    /// The folders made for it, from the target upwards.
    made: Vec<PathBuf>,
}

/// Why a folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It holds something else.
    #[error("the folder {} holds a file that no run wrote: {name}", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The first thing in it that no run of ours wrote.
        name: String,
    },
    /// It holds another run.
    #[error("the folder {} holds the results of another run, whose report would be lost", .0.display())]
    OtherRun(PathBuf),
    /// Somebody else is about to write it.
    #[error("another run is about to write the folder {}", .0.display())]
    Busy(PathBuf),
    /// The operating system refused.
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl OutputFolder {
    /// Makes sure that `target` can be written, and, unless `force` is set, that nothing in it will
    /// be overwritten but files of an earlier run. Two runs at once would lose one result: the later is refused.
    pub fn prepare(target: &Path, force: bool) -> Result<OutputFolder, OutputError> {
        if !force {
            refuse_foreign(target)?;
        }
        let is_made = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = target.ancestors().take_while(is_made).map(Path::to_owned).collect();
        Folder::create(target)?;
        if remove_abandoned(target).is_err() {
            return Err(OutputError::Busy(target.to_owned()));
        }
        let staging = tempfile::Builder::new().prefix(STAGING).suffix(".tmp").tempdir_in(target);
        let staging = staging.map_err(failed("write in the folder", target))?;
        let held = File::open(staging.path())
            .and_then(|folder| folder.try_lock().map_err(io::Error::from).map(|()| folder));
        Ok(OutputFolder { target: target.to_owned(), staging, _held: held.ok(), made })
    }

    /// A folder to write results in; `name` tells it from others of the same output.
    pub fn folder(&self, name: Option<&str>) -> Result<Folder, results::Error> {
        let path = name.map_or(self.staging.path().to_owned(), |n| self.staging.path().join(n));
        Folder::create(&path)
    }

    /// Writes what was found in `cases`.
    pub fn write(&self, cases: &[Case<'_>], found: &Results) -> Result<(), results::Error> {
        for (case, results) in cases.iter().zip(&found.cases) {
            self.folder(case.folder.as_deref())?.write(&results.manifest, &results.points)?;
        }
        let folders: Vec<String> = cases.iter().filter_map(|case| case.folder.clone()).collect();
        if folders.is_empty() {
            return Ok(());
        }
        let runs: Vec<Compared<'_>> = found.cases.iter().map(CaseResults::compared).collect();
        let comparison = Comparison { runs: folders, gains: Comparison::gains(&runs) };
        self.folder(None)?.write_json(COMPARISON, &comparison)
    }

    /// Puts everything in its place, and says where the folder is.
    pub fn publish(mut self) -> Result<PathBuf, results::Error> {
        let moved =
            remove_compared(&self.target).and_then(|()| publish(self.staging.path(), &self.target));
        self.made.clear();
        moved.map_err(failed("write in the folder", &self.target))?;
        Ok(self.target.clone())
    }

    /// Speaks of files by the names that they would have got.
    pub fn by_final_names(&self, error: Error) -> Error {
        match error {
            Error::Results(error) => Error::Results(self.named_finally(error)),
            Error::Trace(error) => Error::Trace(self.named_finally(error)),
            other => other,
        }
    }

    /// Speaks of a file by the name that it would have got.
    pub fn named_finally(&self, error: results::Error) -> results::Error {
        let name = |path: PathBuf| match path.strip_prefix(self.staging.path()) {
            Ok(inside) => self.target.join(inside).components().collect(),
            Err(_) => path,
        };
        match error {
            results::Error::Io { action, path, source } => {
                results::Error::Io { action, path: name(path), source }
            }
            results::Error::Malformed { path, reason } => {
                results::Error::Malformed { path: name(path), reason }
            }
        }
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // What a failed run leaves behind helps nobody; a folder that is not empty stays.
        let _ = fs::remove_dir_all(self.staging.path());
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}

/// Removes the hidden folders of runs that were killed: those that nobody holds any more. An error when somebody holds
/// one.
fn remove_abandoned(target: &Path) -> Result<(), Held> {
    let entries = fs::read_dir(target).into_iter().flatten().flatten();
    for path in entries.filter(is_staging).map(|entry| entry.path()) {
        let held = File::open(&path).map(|folder| folder.try_lock().map(|()| folder));
        match held {
            // Where this fails, the folder stays, hidden as before.
            Ok(Ok(_)) => drop(fs::remove_dir_all(&path)),
            Ok(Err(TryLockError::WouldBlock)) => return Err(Held),
            // A system without locks, or a folder that has just gone.
            Ok(Err(TryLockError::Error(_))) | Err(_) => {}
        }
    }
    Ok(())
}

/// A run that lives holds a hidden folder.
struct Held;

fn is_staging(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    is_folder && is_unfinished(&entry.file_name().to_string_lossy())
}

/// Whether a run that is not done has entries of this name in its folder.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with(STAGING) && name.ends_with(".tmp")
}

/// Refuses a folder that holds something, unless a run of ours wrote it.
fn refuse_foreign(target: &Path) -> Result<(), OutputError> {
    let Ok(entries) = fs::read_dir(target) else { return Ok(()) };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with(STAGING))
        .collect();
    names.sort();
    let is_report = |name: &String| name == REPORT || name == FIGURES;
    if names.iter().any(|name| is_seal(name)) || names.iter().all(is_report) {
        return Ok(());
    }
    Err(OutputError::Foreign { folder: target.to_owned(), name: names.swap_remove(0) })
}

/// Refuses a folder for a report of the runs in `folders` that holds something else: a former report,
/// or the runs themselves, may be there.
pub fn refuse_other_run(target: &Path, folders: &[PathBuf]) -> Result<(), OutputError> {
    refuse_foreign(target)?;
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_given = folders.iter().any(|folder| place(folder) == place(target));
    let is_run = [MANIFEST, COMPARISON].iter().any(|seal| target.join(seal).exists());
    if is_run && !is_given {
        return Err(OutputError::OtherRun(target.to_owned()));
    }
    Ok(())
}

/// Moves everything from one folder into another. What tells that a folder is complete goes first
/// from there and comes last.
fn publish(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    remove_stale(to)?;
    let mut entries = fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(|entry| (is_seal(&entry.file_name().to_string_lossy()), entry.file_name()));
    for entry in entries {
        let place = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => publish(&entry.path(), &place)?,
            false => fs::rename(entry.path(), place)?,
        }
    }
    Ok(())
}

/// Removes the runs of an earlier comparison: a policy that is no longer compared must not seem to be.
fn remove_compared(folder: &Path) -> io::Result<()> {
    let Comparison { runs: names, .. } = match Folder::open(folder).read_json(COMPARISON) {
        Ok(comparison) => comparison,
        // No comparison, or none that we understand.
        Err(_) => return Ok(()),
    };
    // The list goes first: it must not name folders that are gone.
    fs::remove_file(folder.join(COMPARISON))?;
    // Only what lies directly in the folder; a list that was tampered with leads nowhere else.
    let is_plain = |name: &&String| Path::new(name).file_name() == Some(name.as_ref());
    for place in names.iter().filter(is_plain).map(|name| folder.join(name)) {
        if place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            remove_stale(&place)?;
            // A folder in which something else lies stays.
            let _ = fs::remove_dir(&place);
        }
    }
    Ok(())
}

/// Removes the files of an earlier run: a series that this run has not must not seem to be its.
fn remove_stale(folder: &Path) -> io::Result<()> {
    let mut stale: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && is_ours(&entry.file_name().to_string_lossy()) {
            stale.push(entry.path());
        }
    }
    stale.sort_by_key(|path| !is_seal(&path.file_name().unwrap_or_default().to_string_lossy()));
    stale.iter().try_for_each(fs::remove_file)
}

fn is_seal(name: &str) -> bool {
    [MANIFEST, COMPARISON, TUNED].contains(&name)
}

/// Whether a run writes files of this name.
fn is_ours(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        "winner.toml",
        "front.svg",
        "summary.json",
        "replicas.json",
        "histograms.json",
        "series.csv",
        REPORT,
    ];
    is_seal(name)
        || NAMES.contains(&name)
        || ["transfers-", "tcp-info-"].iter().any(|kind| name.starts_with(kind))
            && name.ends_with(".csv")
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> results::Error {
    let path = path.to_owned();
    move |source| results::Error::Io { action, path, source }
}

/// What came of a search.
const TUNED: &str = "tune.json";

const STAGING: &str = ".shortflow-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_leaves_none_of_the_folders_that_it_made() {
        let place = tempfile::tempdir().unwrap();
        let (outer, target) = (place.path().join("results"), place.path().join("results/line"));
        drop(OutputFolder::prepare(&target, false).unwrap());
        assert!(!outer.exists() && place.path().exists());
        // What another run has made meanwhile stays.
        let output = OutputFolder::prepare(&target, false).unwrap();
        fs::create_dir(outer.join("other")).unwrap();
        drop(output);
        assert!(!target.exists() && outer.join("other").exists());
    }

    #[test]
    fn a_run_that_is_done_leaves_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("results/line");
        let output = OutputFolder::prepare(&target, false).unwrap();
        assert_eq!(output.publish().unwrap(), target);
        assert!(target.exists());
    }
}
