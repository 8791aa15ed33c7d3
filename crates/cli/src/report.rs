//! `report`: page and figures anew, from folders of results.

use std::path::{Path, PathBuf};

use shortflow_measure::Run;
use shortflow_measure::results::{COMPARISON, Comparison, Folder, MANIFEST};
use shortflow_report as report;
use shortflow_run::{distinct, refuse_foreign};

use crate::args::Report;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow report`.
pub(crate) fn report(console: &Console, args: &Report) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for folder in &args.folders {
        folders.extend(runs_in(folder)?);
    }
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
    if folder.join(MANIFEST).exists() || !folder.join(COMPARISON).exists() {
        return Ok(vec![folder.to_owned()]);
    }
    let read: Result<Comparison, _> = Folder::open(folder).read_json(COMPARISON);
    let Comparison { runs, .. } = read.map_err(|error| Failure::reading(&error))?;
    Ok(runs.iter().map(|name| folder.join(name)).collect())
}
