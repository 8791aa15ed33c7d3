//! `report`: page and figures anew, from folders of results.

use std::fs;
use std::path::{Path, PathBuf};

use shortflow_measure::Run;
use shortflow_measure::results::{COMPARISON, Comparison, Folder, MANIFEST};
use shortflow_report as report;
use shortflow_run::{distinct, is_unfinished, refuse_foreign};

use crate::args::Report;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow report`.
pub(crate) fn report(console: &Console, args: &Report) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for folder in &args.folders {
        folders.extend(runs_in(folder)?);
    }
    refuse_twice(&folders)?;
    let runs = folders.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>, _>>();
    let mut runs = runs.map_err(|error| Failure::reading(&error))?;
    let labels: Vec<String> = runs.iter().map(|run| run.label.clone()).collect();
    for (at, run) in runs.iter_mut().enumerate() {
        run.label = distinct(&labels, at, &folders[at].display().to_string());
    }
    let target = match (&args.out, &args.folders[..]) {
        (Some(out), _) => out.clone(),
        (None, [only]) => only.clone(),
        (None, _) => PathBuf::from("results/report"),
    };
    if !args.force {
        refuse_foreign(&target)?;
    }
    let path = report::write(&target, &runs)?;
    console.file("Report", &path)
}

/// The folders of the runs that `folder` holds: itself, or those of a comparison.
fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    if folder.join(MANIFEST).exists() {
        return Ok(vec![folder.to_owned()]);
    }
    if !folder.join(COMPARISON).exists() {
        return Err(Failure::Input(why_no_results(folder)));
    }
    let read: Result<Comparison, _> = Folder::open(folder).read_json(COMPARISON);
    let Comparison { runs, .. } = read.map_err(|error| Failure::reading(&error))?;
    Ok(runs.iter().map(|name| folder.join(name)).collect())
}

/// Refuses the same run twice: it would be compared with itself.
fn refuse_twice(folders: &[PathBuf]) -> Result<(), Failure> {
    let places: Vec<PathBuf> =
        folders.iter().map(|f| f.canonicalize().unwrap_or_else(|_| f.clone())).collect();
    match (1..folders.len()).find(|&at| places[..at].contains(&places[at])) {
        Some(at) => Err(Failure::Input(format!(
            "the run in {} is given twice\ngive each folder once",
            folders[at].display()
        ))),
        None => Ok(()),
    }
}

/// What `folder`, which holds no complete results, is instead, and what to do.
fn why_no_results(folder: &Path) -> String {
    let name = folder.display();
    let give = "give a folder that `shortflow simulate` or `shortflow compare` wrote";
    if !folder.exists() {
        return format!("there is no folder {name}\n{give}");
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
            "{name} holds no complete results: the run that writes it has not ended, or was killed\n\
             wait for it, or run its command again; Ctrl-C keeps what is complete, a kill does not"
        );
    }
    if names.iter().any(|name| name == "ledger.json") {
        return format!(
            "{name} holds the results of a study, not of a run\n\
             its report is report.html; `shortflow reproduce` writes it again"
        );
    }
    let inside = names.iter().find(|name| folder.join(name).join(MANIFEST).exists());
    if let Some(inside) = inside {
        let inside = folder.join(inside);
        return format!(
            "{name} holds no results itself, but folders of results\n\
             give one or several of them, such as {}",
            inside.display()
        );
    }
    format!("{name} is not a folder of results: it has no {MANIFEST}\n{give}")
}
