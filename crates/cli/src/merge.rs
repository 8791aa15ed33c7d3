//! `merge`: joins runs of different replicas of one scenario.

use std::path::PathBuf;

use shortflow_measure::results::{COMPARISON, Folder};
use shortflow_measure::{Run, View};
use shortflow_run::{
    Case, OutputFolder, Stored, command_line, finish_moving, join, read_runs, renew_warnings,
};
use shortflow_scenario::Overrides;
use shortflow_sim::Simulator;

use crate::console::Console;
use crate::failure::Failure;
use crate::replica_args::Merge;
use crate::replicas::{refuse_overlap, warn_of_transfers};
use crate::simulate::{Shown, publish};
use crate::tables::{self, TableFormat};

/// `shortflow merge`.
pub(crate) fn merge(console: &Console, args: &Merge) -> Result<(), Failure> {
    refuse_overlap(&args.out, &args.folders)?;
    refuse_twice(&args.folders)?;
    args.folders.iter().try_for_each(|folder| finish_moving(folder))?;
    let read = |folder| read_runs(std::slice::from_ref(folder));
    let mut parts = args.folders.iter().map(read).collect::<Result<Vec<Vec<Run>>, _>>()?;
    let several = parts[0].len();
    if let Some(at) = parts.iter().position(|runs| runs.len() != several) {
        return Err(Failure::Input(format!(
            "{} has {several} runs, {} has {}\njoin parts of the same comparison",
            args.folders[0].display(),
            args.folders[at].display(),
            parts[at].len()
        )));
    }
    let folders = inner_folders(args, &parts[0]);
    let output = OutputFolder::prepare(&args.out, args.force)?;
    let command = command_line(std::env::args_os().skip(1));
    let mut runs = Vec::new();
    for folder in &folders {
        let folder = folder.as_deref();
        // The first of each part that is left.
        let parts: Vec<Run> = parts.iter_mut().map(|runs| runs.remove(0)).collect();
        let places: Vec<PathBuf> = parts.iter().filter_map(|run| run.folder.clone()).collect();
        let mut run = join(parts, &command)?;
        // Its scenario, with all replicas, from the first part.
        let whole = Run { folder: places.first().cloned(), points: Vec::new(), ..run.clone() };
        let case = Case::new(&Simulator, Stored::load(&whole)?.loaded, &Overrides::default());
        renew_warnings(&mut run, &case, None);
        places.iter().try_for_each(|place| output.copy_rows(place, folder))?;
        warn_of_transfers(console, &output, &run, folder)?;
        runs.push(run);
    }
    let view = View::new(&runs);
    let format = runs.first().and_then(TableFormat::of_run);
    tables::refuse_unbuilt(format)?;
    let written = output.write_runs(&folders, &view);
    let written = written.and_then(|()| tables::write(&output, &folders, &runs, format));
    let page = publish(output, written, &view);
    Shown {
        json: args.json,
        brief: args.brief,
        trace: None,
        of_run: &|found| found["interrupted"] = false.into(),
    }
    .print(console, &view, page)
}

/// Refuses a folder that is given twice. Of predictions, which have no replicas, nothing else would show it.
fn refuse_twice(folders: &[PathBuf]) -> Result<(), Failure> {
    let places: Vec<PathBuf> =
        folders.iter().map(|one| one.canonicalize().unwrap_or_else(|_| one.clone())).collect();
    match (1..places.len()).find(|at| places[..*at].contains(&places[*at])) {
        Some(at) => Err(Failure::Input(format!(
            "the folder {} is given twice\nname each folder once",
            folders[at].display()
        ))),
        None => Ok(()),
    }
}

/// The folders of these runs inside that of their comparison; none of a single run.
fn inner_folders(args: &Merge, runs: &[Run]) -> Vec<Option<String>> {
    let is_compared = Folder::open(&args.folders[0]).has(COMPARISON);
    let name = |run: &Run| Some(run.folder.as_ref()?.file_name()?.to_string_lossy().into_owned());
    runs.iter().map(|run| name(run).filter(|_| is_compared)).collect()
}
