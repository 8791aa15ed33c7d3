//! Reads runs from their folders of results.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use shortflow_measure::Run;
use shortflow_measure::engines::{are_several, done_by};
use shortflow_measure::results::{self, COMPARISON, Comparison, Folder, MANIFEST};

use crate::case::distinct;
use crate::output::is_unfinished;

/// Why runs cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// A folder has no results, or a run is listed twice: which one, and a remedy.
    NoResults(String),
    /// A file is missing or invalid.
    Results(results::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NoResults(what) => f.write_str(what),
            ReadError::Results(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<results::Error> for ReadError {
    fn from(error: results::Error) -> Self {
        ReadError::Results(error)
    }
}

/// Reads the runs in `folders`, each with a run or a comparison of several. All runs get different labels.
pub fn read_runs(folders: &[PathBuf]) -> Result<Vec<Run>, ReadError> {
    let mut held = Vec::new();
    for folder in folders {
        held.extend(runs_in(folder)?);
    }
    refuse_twice(&held)?;
    let mut runs = held.iter().map(Run::read).collect::<Result<Vec<_>, _>>()?;
    name_engines(&mut runs);
    let labels: Vec<String> = runs.iter().map(|run| run.label.clone()).collect();
    for (at, run) in runs.iter_mut().enumerate() {
        run.label = distinct(&labels, at, &held[at].path().display().to_string());
    }
    Ok(runs)
}

/// Adds the names of engines to the labels, if the runs have several engines and were not compared.
fn name_engines(runs: &mut [Run]) {
    if are_several(runs) {
        for run in runs.iter_mut().filter(|run| run.manifest.policy.is_none()) {
            run.label = format!("{}, {}", run.label, done_by(&run.manifest.engine));
        }
    }
}

/// The folders of the runs in `folder`: the folder itself, or those of a comparison.
fn runs_in(folder: &Path) -> Result<Vec<Folder>, ReadError> {
    let given = Folder::open(folder);
    if given.has(MANIFEST) {
        return Ok(vec![given]);
    }
    if !given.has(COMPARISON) {
        return Err(ReadError::NoResults(why_no_results(folder)));
    }
    let Comparison { runs, .. } = given.read_json(COMPARISON)?;
    Ok(runs.iter().map(|name| given.inside(name)).collect())
}

/// Refuses duplicate runs.
fn refuse_twice(folders: &[Folder]) -> Result<(), ReadError> {
    let paths = folders.iter().map(Folder::path);
    let places: Vec<PathBuf> =
        paths.map(|path| path.canonicalize().unwrap_or_else(|_| path.to_owned())).collect();
    match (1..folders.len()).find(|&at| places[..at].contains(&places[at])) {
        Some(at) => Err(ReadError::NoResults(format!(
            "the run in {} is listed twice\nname each folder once",
            folders[at].path().display()
        ))),
        None => Ok(()),
    }
}

/// What `folder`, which has no complete results, contains instead, and a remedy.
fn why_no_results(folder: &Path) -> String {
    let name = folder.display();
    let give = "name a folder that `shortflow simulate` or `shortflow compare` wrote";
    if !folder.exists() {
        return format!("the folder {name} does not exist\n{give}");
    }
    if !folder.is_dir() {
        return format!("{name} is a file, not a folder of results\n{give}");
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.iter().any(|name| is_unfinished(name)) {
        return format!(
            "{name} has no complete results: its run has not ended, or was killed\n\
             wait for it, or run its command again; Ctrl-C keeps complete results, a kill does not"
        );
    }
    if names.iter().any(|name| name == "ledger.json") {
        return format!(
            "{name} has the results of a study, not of a run\n\
             its report is report.html; `shortflow reproduce` writes it again"
        );
    }
    let inside = names.iter().find(|name| folder.join(name).join(MANIFEST).exists());
    if let Some(inside) = inside {
        let inside = folder.join(inside);
        return format!(
            "{name} has no results, but folders with results\n\
             name one or several of them, such as {}",
            inside.display()
        );
    }
    format!("{name} is not a folder of results: it has no {MANIFEST}\n{give}")
}
