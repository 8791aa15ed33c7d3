//! `merge`: joins runs of different replicas of one scenario.

use shortflow_measure::results::{COMPARISON, Folder};
use shortflow_measure::{Run, View};
use shortflow_run::{OutputFolder, command_line, join, read_runs};

use crate::console::Console;
use crate::failure::Failure;
use crate::replica_args::Merge;
use crate::simulate::{Shown, publish};

/// `shortflow merge`.
pub(crate) fn merge(console: &Console, args: &Merge) -> Result<(), Failure> {
    let place = |path: &std::path::Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if args.folders.iter().any(|folder| place(folder) == place(&args.out)) {
        let what = format!("--out {} is one of the parts", args.out.display());
        return Err(Failure::Input(what + "\ngive another folder"));
    }
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
    let mut copied = Ok(());
    for (run, folder) in parts.iter().flat_map(|runs| runs.iter().zip(&folders)) {
        let from = run.folder.as_ref().expect("it was read from a folder");
        copied = copied.and_then(|()| output.copy_rows(from, folder.as_deref()));
    }
    let command = command_line(std::env::args_os().skip(1));
    let runs = (0..several).map(|_| {
        // The first of each part that is left.
        join(parts.iter_mut().map(|runs| runs.remove(0)).collect(), &command)
    });
    let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
    let view = View::new(&runs);
    let written = copied.and_then(|()| output.write_runs(&folders, &view));
    let page = publish(output, written, &view);
    Shown { json: args.json, brief: args.brief, trace: None, of_run: &|_| () }
        .print(console, &view, page)
}

/// The folders of these runs inside that of their comparison; none of a single run.
fn inner_folders(args: &Merge, runs: &[Run]) -> Vec<Option<String>> {
    let is_compared = Folder::open(&args.folders[0]).has(COMPARISON);
    let name = |run: &Run| Some(run.folder.as_ref()?.file_name()?.to_string_lossy().into_owned());
    runs.iter().map(|run| name(run).filter(|_| is_compared)).collect()
}
