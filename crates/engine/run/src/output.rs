//! Output folders, which are written completely or not at all.
//!
//! All files are first written into a hidden folder inside the target, then moved into place. A run that
//! fails or is killed does not change the existing files.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use shortflow_files::{Dir, Kind, is_temporary, write};
use shortflow_measure::results::{
    self, COMPARISON, Comparison, Ended, FIGURES, Folder, MANIFEST, REPORT, Record as _, TABLES,
    WARNINGS,
};
use shortflow_measure::{Run, View};

use crate::case::Case;
use crate::engine::Error;
use crate::results::{INPUT, data_file};

/// A folder to be written.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    /// The target, opened, so that replacing its name by a link meanwhile has no effect.
    into: Dir,
    /// The hidden folder in it.
    staging: String,
    /// The lock on the hidden folder for the time of the run, if the system supports locks.
    _held: File,
    /// The folders created for it, from the target upwards.
    made: Vec<PathBuf>,
}

/// Why a folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It contains a file that is not a result.
    #[error("the folder {} contains a file that is not a result: {name}", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The first such file.
        name: String,
    },
    /// It contains a symbolic link, which may lead out of it.
    #[error("the folder {} contains a symbolic link: {name}", folder.display())]
    Link {
        /// The folder.
        folder: PathBuf,
        /// The first link in it.
        name: String,
    },
    /// It contains another run.
    #[error("the folder {} contains the results of another run, whose report would be lost", .0.display())]
    OtherRun(PathBuf),
    /// Another process is writing it.
    #[error("the folder {} is locked by another run", .0.display())]
    Busy(PathBuf),
    /// An error of the operating system.
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl OutputFolder {
    /// Checks that `target` can be written. Unless `force` is set, it may contain only files of an earlier
    /// run. The folder is locked: of two runs at the same time, the later is refused.
    ///
    /// If a run was killed while it moved its files into place, this completes that first.
    pub fn prepare(target: &Path, force: bool) -> Result<OutputFolder, OutputError> {
        finish_moving(target)?;
        if !force {
            refuse_foreign(target)?;
        }
        let is_made = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = target.ancestors().take_while(is_made).map(Path::to_owned).collect();
        Folder::create(target)?;
        let into = Dir::open(target).map_err(failed("write in the folder", target))?;
        refuse_links(target, &into)?;
        if into.remove_abandoned() {
            return Err(OutputError::Busy(target.to_owned()));
        }
        let made_hidden = into.make_temporary().map_err(failed("write in the folder", target));
        let (hidden, staging) = made_hidden?;
        let held = File::from(hidden);
        // Without locks, the remains of a killed run are not removed.
        let _ = held.try_lock();
        Ok(OutputFolder { target: target.to_owned(), into, staging, _held: held, made })
    }

    /// A folder for results. `name` distinguishes the folders of an output.
    pub fn folder(&self, name: Option<&str>) -> Result<Folder, results::Error> {
        let inner = Path::new(&self.staging).join(name.unwrap_or_default());
        Folder::open(&self.target).create_inside(inner)
    }

    /// Writes the runs of `cases`, and how they compare.
    pub fn write(&self, cases: &[Case<'_>], view: &View<'_>) -> Result<(), results::Error> {
        for case in cases {
            let folder = self.folder(case.folder.as_deref())?;
            for (at, data) in case.loaded.data.iter().enumerate() {
                folder.write_text(&data_file(at, &data.name), &data.text)?;
            }
        }
        let folders: Vec<Option<String>> = cases.iter().map(|case| case.folder.clone()).collect();
        self.write_runs(&folders, view)
    }

    /// Writes runs into these folders, or the one run into the folder itself, and how they compare.
    pub fn write_runs(
        &self,
        folders: &[Option<String>],
        view: &View<'_>,
    ) -> Result<(), results::Error> {
        for (folder, run) in folders.iter().zip(view.set.runs) {
            self.folder(folder.as_deref())?.write(run)?;
        }
        let folders: Vec<String> = folders.iter().flatten().cloned().collect();
        if folders.is_empty() {
            return Ok(());
        }
        let gains = view.set.gains().into_iter().cloned().collect();
        let comparison = Comparison { runs: folders, gains, warnings: view.warnings.clone() };
        self.folder(None)?.write_json(COMPARISON, &comparison)
    }

    /// How many replicas of a run have no file of transfers although others have one.
    pub fn without_transfers(
        &self,
        run: &Run,
        folder: Option<&str>,
    ) -> Result<usize, results::Error> {
        let folder = self.folder(folder)?;
        let replicas = run.points.iter().enumerate().flat_map(|(point, found)| {
            found.replicas.iter().map(move |replica| (point, replica.number))
        });
        let has = |(point, replica)| folder.has(&Ended::file(point, replica));
        let (with, without): (Vec<_>, Vec<_>) = replicas.partition(|one| has(*one));
        Ok(if with.is_empty() { 0 } else { without.len() })
    }

    /// Copies the files of single transfers, connections and inputs of another run, except those that are there already.
    pub fn copy_rows(&self, from: &Path, to: Option<&str>) -> Result<(), results::Error> {
        let (from, to) = (Folder::open(from), self.folder(to)?);
        for name in from.files().iter().filter(|name| has_rows(name) && !to.has(name)) {
            to.write_text(name, &from.read_text(name)?)?;
        }
        Ok(())
    }

    /// Moves all files into place, and returns the folder.
    pub fn publish(mut self) -> Result<PathBuf, results::Error> {
        let from = self.into.dir(&self.staging);
        let moved = from.and_then(|from| {
            write(&from, MOVING, 0o600, list(&from).as_bytes())?;
            remove_compared(&self.target, &self.into)?;
            remove_stale(&self.into)?;
            remove_tables(&self.into)?;
            move_all(&from, &self.into)
        });
        self.made.clear();
        moved.map_err(failed("write in the folder", &self.target))?;
        Ok(self.target.clone())
    }

    /// Replaces temporary names in an error by final names.
    pub fn by_final_names(&self, error: Error) -> Error {
        match error {
            Error::Results(error) => Error::Results(self.named_finally(error)),
            Error::Trace(error) => Error::Trace(self.named_finally(error)),
            other => other,
        }
    }

    /// Replaces the temporary name in an error by the final name.
    pub fn named_finally(&self, error: results::Error) -> results::Error {
        let staging = self.target.join(&self.staging);
        let name = |path: PathBuf| match path.strip_prefix(&staging) {
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
        // The remains of a failed run are useless. A folder that is not empty stays.
        let _ = self.into.remove_tree(&self.staging);
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}

/// Refuses a folder that contains symbolic links: writing or removing through them would affect other
/// folders.
fn refuse_links(target: &Path, into: &Dir) -> Result<(), OutputError> {
    let names = into.names().map_err(failed("read", target))?;
    match names.into_iter().find(|name| into.kind(name) == Some(Kind::Link)) {
        Some(name) => Err(OutputError::Link {
            folder: target.to_owned(),
            name: name.to_string_lossy().into_owned(),
        }),
        None => Ok(()),
    }
}

/// Whether an unfinished run uses this name in its folder.
pub(crate) fn is_unfinished(name: &str) -> bool {
    is_temporary(name)
}

/// Refuses a folder that contains other files than results.
fn refuse_foreign(target: &Path) -> Result<(), OutputError> {
    let Ok(entries) = fs::read_dir(target) else { return Ok(()) };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with(HIDDEN))
        .collect();
    names.sort();
    let is_report = |name: &String| name == REPORT || name == FIGURES;
    if names.iter().any(|name| is_seal(name)) || names.iter().all(is_report) {
        return Ok(());
    }
    Err(OutputError::Foreign { folder: target.to_owned(), name: names.swap_remove(0) })
}

/// Refuses a folder for a report of the runs in `folders` if it contains anything but an earlier report or
/// these runs.
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

/// Moves all files from one folder into another. The file that marks a folder as complete is added last.
fn move_all(from: &Dir, to: &Dir) -> io::Result<()> {
    let mut names = from.names()?;
    names.retain(|name| name != MOVING);
    names.sort_by_cached_key(|name| (is_seal(&name.to_string_lossy()), name.clone()));
    for name in names {
        match from.kind(&name) {
            Some(Kind::Folder) => {
                let to = to.make_dir(&name, 0o777)?;
                remove_stale(&to)?;
                move_all(&from.dir(&name)?, &to)?;
            }
            _ => from.rename(&name, to, &name)?,
        }
    }
    Ok(())
}

/// The file in a hidden folder that lists what is moved out of it: then nothing is missing.
const MOVING: &str = "moving.txt";

/// The paths of all files below a folder, one per line.
fn list(folder: &Dir) -> String {
    let paths = folder.walk(Kind::File, usize::MAX, DEPTH).into_iter();
    paths.map(|path| format!("{}\n", path.display())).collect()
}

/// Completes what a run was doing that was killed while it moved its files into place.
///
/// # Errors
/// When a file cannot be moved; then all stay where they are.
pub fn finish_moving(target: &Path) -> Result<(), results::Error> {
    let Ok(into) = Dir::open(target) else { return Ok(()) };
    for name in into.names().unwrap_or_default() {
        if !is_temporary(&name.to_string_lossy()) {
            continue;
        }
        let Ok(from) = into.dir(Path::new(&name)) else { continue };
        let is_left = from.try_clone().is_ok_and(|dir| File::from(dir).try_lock().is_ok());
        if is_left && from.kind(MOVING) == Some(Kind::File) {
            let listed = from.read_text(MOVING, MAX_LIST).map_err(io::Error::other);
            let moved = listed.and_then(|listed| move_rest(&from, &into, &listed));
            moved.map_err(failed("finish writing the folder", target))?;
        }
    }
    Ok(())
}

/// The most bytes of the list of files.
const MAX_LIST: u64 = 64 << 20;

/// Moves the rest of the files that are `listed`; of others, those of an earlier run are removed.
fn move_rest(from: &Dir, to: &Dir, listed: &str) -> io::Result<()> {
    let listed: BTreeSet<&Path> = listed.lines().map(Path::new).collect();
    for path in to.walk(Kind::File, usize::MAX, DEPTH).iter().filter(|path| !is_hidden(path)) {
        let is_ours = is_ours(&file_name(path)) || is_table(path);
        if is_ours && !listed.contains(path.as_path()) {
            let (folder, name) = within(path, |folder| to.dir(folder), to)?;
            folder.remove_file(name)?;
        }
    }
    let mut rest: Vec<&Path> =
        listed.into_iter().filter(|path| from.kind(path).is_some()).collect();
    rest.sort_by_key(|path| (is_seal(&file_name(path)), path.parent() == Some(Path::new(""))));
    for path in rest {
        let (out_of, name) = within(path, |folder| from.dir(folder), from)?;
        let (into, _) = within(path, |folder| to.make_dir(folder, 0o777), to)?;
        out_of.rename(name, &into, name)?;
    }
    Ok(())
}

/// How deep folders of results are.
const DEPTH: u32 = 4;

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_hidden(path: &Path) -> bool {
    path.iter().next().is_some_and(|first| first.to_string_lossy().starts_with(HIDDEN))
}

/// The folder of a file, opened in this way, and the name of the file in it.
fn within<'p>(
    path: &'p Path,
    open: impl FnOnce(&Path) -> io::Result<Dir>,
    top: &Dir,
) -> io::Result<(Dir, &'p OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| top.try_clone(), open)?;
    Ok((folder, path.file_name().unwrap_or_default()))
}

/// Removes the runs of an earlier comparison, so that a removed policy does not appear to be compared.
fn remove_compared(target: &Path, folder: &Dir) -> io::Result<()> {
    let Comparison { runs: names, .. } = match Folder::open(target).read_json(COMPARISON) {
        Ok(comparison) => comparison,
        // Not a comparison, or not a readable one.
        Err(_) => return Ok(()),
    };
    // The list is removed first, so that it never names missing folders.
    folder.remove_file(COMPARISON)?;
    // Only direct entries of the folder, so that a manipulated list cannot lead elsewhere.
    let is_plain = |name: &&String| Path::new(name).file_name() == Some(name.as_ref());
    for name in names.iter().filter(is_plain) {
        if folder.kind(name) == Some(Kind::Folder) {
            remove_stale(&folder.dir(name)?)?;
            // A folder with other files stays.
            let _ = folder.remove_dir(name);
        }
    }
    Ok(())
}

/// Removes the files of an earlier run, such as series that this run does not have.
fn remove_stale(folder: &Dir) -> io::Result<()> {
    let is_stale =
        |name: &OsString| is_ours(&name.to_string_lossy()) && folder.kind(name) == Some(Kind::File);
    let mut stale: Vec<OsString> = folder.names()?.into_iter().filter(is_stale).collect();
    stale.sort_by_key(|name| !is_seal(&name.to_string_lossy()));
    stale.iter().try_for_each(|name| folder.remove_file(name))
}

/// Removes the tables of an earlier run, such as those of another format.
fn remove_tables(folder: &Dir) -> io::Result<()> {
    if folder.kind(TABLES) != Some(Kind::Folder) {
        return Ok(());
    }
    let tables = folder.dir(TABLES)?;
    for name in tables.names()? {
        if is_table(&Path::new(TABLES).join(&name)) && tables.kind(&name) == Some(Kind::File) {
            tables.remove_file(&name)?;
        }
    }
    // A folder with other files stays.
    let _ = folder.remove_dir(TABLES);
    Ok(())
}

/// Whether runs write tables at this path in their folder.
fn is_table(path: &Path) -> bool {
    const NAMES: [&str; 7] =
        ["transfers", "bulk", "datagrams", "series", "summary", "replicas", "failures"];
    const FORMATS: [&str; 3] = ["parquet", "csv", "arrow"];
    let (name, format) = (path.file_stem(), path.extension());
    path.parent() == Some(Path::new(TABLES))
        && NAMES.iter().any(|one| name == Some(one.as_ref()))
        && FORMATS.iter().any(|one| format == Some(one.as_ref()))
}

fn is_seal(name: &str) -> bool {
    [MANIFEST, COMPARISON, TUNED].contains(&name)
}

/// Whether runs write files with this name.
fn is_ours(name: &str) -> bool {
    const NAMES: [&str; 9] = [
        "winner.toml",
        "plain-queue.toml",
        "front.svg",
        "summary.json",
        "replicas.json",
        "histograms.json",
        "series.csv",
        WARNINGS,
        REPORT,
    ];
    is_seal(name) || NAMES.contains(&name) || has_rows(name)
}

/// Whether it is a table beside the results: of transfers, connections, accesses, or an input.
fn has_rows(name: &str) -> bool {
    let kinds = ["transfers-", "tcp-info-", "accesses-", INPUT];
    kinds.iter().any(|kind| name.starts_with(kind)) && name.ends_with(".csv")
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> results::Error {
    let path = path.to_owned();
    move |source| results::Error::Io { action, path, source }
}

/// The result of a search.
const TUNED: &str = "tune.json";

/// The prefix of hidden entries: unfinished runs and searches.
const HIDDEN: &str = ".shortflow-";

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

    #[test]
    fn a_run_that_was_killed_while_it_moved_its_files_is_completed() {
        let new = ["figures/a.svg", "summary.json", "transfers-000-001.csv", "manifest.toml"];
        for moved in 0..=new.len() {
            let place = tempfile::tempdir().unwrap();
            let target = place.path().join("line");
            fs::create_dir_all(target.join("figures")).unwrap();
            for old in ["summary.json", "transfers-000-000.csv", "notes.txt"] {
                fs::write(target.join(old), "old").unwrap();
            }
            let (hidden, name) = Dir::open(&target).unwrap().make_temporary().unwrap();
            let staging = target.join(name);
            fs::create_dir(staging.join("figures")).unwrap();
            new.iter().for_each(|name| fs::write(staging.join(name), "new").unwrap());
            fs::write(staging.join(MOVING), list(&hidden)).unwrap();
            drop(hidden);
            for name in &new[..moved] {
                fs::rename(staging.join(name), target.join(name)).unwrap();
            }
            drop(OutputFolder::prepare(&target, false).unwrap());
            let found = Dir::open(&target).unwrap();
            let mut names = found.walk(Kind::File, 99, DEPTH);
            names.sort();
            let mut expected: Vec<PathBuf> =
                new.iter().chain(&["notes.txt"]).map(PathBuf::from).collect();
            expected.sort();
            assert_eq!(names, expected, "{moved} were moved");
            new.iter()
                .for_each(|name| assert_eq!(fs::read_to_string(target.join(name)).unwrap(), "new"));
        }
    }

    /// A folder of a comparison, and files beside it that are nobody's results.
    fn compared() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("line");
        for folder in ["line/1-a", "line/figures", "elsewhere"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        let comparison = Comparison { runs: vec!["1-a".to_owned()], ..Comparison::default() };
        Folder::open(&target).write_json(COMPARISON, &comparison).unwrap();
        for name in ["1-a/manifest.toml", "1-a/summary.json", "figures/a.svg", "report.html"] {
            fs::write(target.join(name), "old").unwrap();
        }
        for name in ["manifest.toml", "summary.json", "a.svg"] {
            fs::write(place.path().join("elsewhere").join(name), "precious").unwrap();
        }
        (place, target)
    }

    /// Puts a link to files elsewhere in the place of an entry.
    fn plant(place: &Path, target: &Path, entry: &str) {
        let (path, away) = (target.join(entry), place.join("away"));
        let is_folder = path.is_dir();
        let to = if is_folder { "elsewhere" } else { "elsewhere/summary.json" };
        if path.exists() {
            fs::rename(&path, away).unwrap();
        }
        std::os::unix::fs::symlink(place.join(to), path).unwrap();
    }

    fn assert_untouched(place: &Path, what: &str) {
        let folder = place.join("elsewhere");
        let names: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(names.len(), 3, "{what}");
        for name in ["manifest.toml", "summary.json", "a.svg"] {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "precious", "{what}");
        }
    }

    const ENTRIES: [&str; 6] =
        ["1-a", "figures", "report.html", COMPARISON, "1-a/summary.json", "figures/a.svg"];

    #[test]
    fn nothing_is_written_or_removed_behind_a_link_in_a_folder_of_results() {
        for entry in ENTRIES {
            let (place, target) = compared();
            plant(place.path(), &target, entry);
            match OutputFolder::prepare(&target, true) {
                Err(OutputError::Link { name, .. }) => assert_eq!(name, entry),
                Err(error) => panic!("{entry}: {error}"),
                Ok(output) => {
                    assert!(entry.contains('/'), "{entry}");
                    let figures = output.folder(Some("figures")).unwrap();
                    figures.write_text("a.svg", "new").unwrap();
                    output.publish().unwrap();
                }
            }
            assert_untouched(place.path(), entry);
        }
    }

    #[test]
    fn a_link_that_somebody_plants_during_a_run_leads_nowhere() {
        for entry in ENTRIES {
            let (place, target) = compared();
            let output = OutputFolder::prepare(&target, true).unwrap();
            for name in ["figures", "1-a"] {
                let folder = output.folder(Some(name)).unwrap();
                folder.write_text("a.svg", "new").unwrap();
                folder.write_text("summary.json", "new").unwrap();
            }
            plant(place.path(), &target, entry);
            // It may fail or replace the link.
            let _ = output.publish();
            assert_untouched(place.path(), entry);
        }
    }

    #[test]
    fn a_hidden_folder_that_somebody_exchanges_for_a_link_is_not_written_through() {
        let (place, target) = compared();
        let output = OutputFolder::prepare(&target, true).unwrap();
        fs::rename(target.join(&output.staging), place.path().join("hidden")).unwrap();
        std::os::unix::fs::symlink(place.path().join("elsewhere"), target.join(&output.staging))
            .unwrap();
        assert!(output.folder(None).is_err() && output.folder(Some("figures")).is_err());
        assert!(output.publish().is_err());
        assert_untouched(place.path(), "hidden");
    }
}
