//! `rerun`: runs again what a folder of results holds.

use std::path::Path;

use clap::ValueEnum;
use shortflow_measure::Run;
use shortflow_measure::results::{COMPARISON, Folder};
use shortflow_run::{Case, ReplicaNumbers, Shard, Stored, folder_name, numbers_in, read_runs};

use crate::args::EngineName;
use crate::conduct::{Looking, conduct};
use crate::console::Console;
use crate::failure::Failure;
use crate::how_args::tcp_info_times;
use crate::replica_args::Rerun;
use crate::replicas::{Selection, refuse_overlap};
use crate::simulate::engine;
use crate::tables::TableFormat;

/// `shortflow rerun`.
pub(crate) fn rerun(console: &Console, args: &Rerun) -> Result<(), Failure> {
    let runs = read_runs(std::slice::from_ref(&args.folder))?;
    let version = &runs[0].manifest.version;
    if version != shortflow_version::VERSION {
        let what = format!("the folder was written by version {version}; results may differ");
        console.warning(&what, "to get the same bits, use that version");
    }
    let is_compared = Folder::open(&args.folder).has(COMPARISON);
    let cases = runs.iter().map(|run| case(run, is_compared)).collect::<Result<Vec<_>, _>>()?;
    let selection = Selection::only(numbers(&runs[0], &cases[0]));
    let target = args.how.out.clone().unwrap_or_else(|| {
        Path::new("results").join(folder_name(&cases[0].loaded.name) + "-rerun")
    });
    refuse_overlap(&target, std::slice::from_ref(&args.folder))?;
    let tcp_info = runs[0].manifest.tcp_info.as_deref().map(tcp_info_times).transpose();
    let tcp_info = tcp_info.map_err(Failure::Input)?;
    let format = TableFormat::of_run(&runs[0]);
    let looking = Looking { selection, tcp_info, format, ..Looking::default() };
    conduct(console, &args.how, &cases, looking, &target)
}

/// The case of a run, with its label and the name of its folder.
fn case(run: &Run, is_compared: bool) -> Result<Case<'static>, Failure> {
    let manifest = &run.manifest;
    let name = EngineName::from_str(&manifest.engine, false);
    let name = name.map_err(|_| {
        Failure::Input(format!(
            "{}: the engine {:?} is unknown\nuse the version of shortflow that wrote the folder: {}",
            run.label, manifest.engine, manifest.version
        ))
    })?;
    let Stored { loaded, overrides, .. } = Stored::load(run)?;
    let folder = run.folder.as_ref().filter(|_| is_compared).and_then(|path| path.file_name());
    let folder = folder.map(|name| name.to_string_lossy().into_owned());
    let (label, policy) = (manifest.label.clone(), manifest.policy.clone());
    Ok(Case { label, policy, folder, ..Case::new(engine(name)?, loaded, &overrides) })
}

/// The replicas that the folder has; all of a point that has none.
fn numbers(run: &Run, case: &Case<'_>) -> ReplicaNumbers {
    let all = numbers_in(Shard::default(), &case.loaded);
    let of_point = |(at, all): (usize, Vec<u32>)| {
        let found = run.points.get(at).map(|point| &point.replicas[..]).unwrap_or_default();
        let numbers: Vec<u32> = found.iter().map(|replica| replica.number).collect();
        if numbers.is_empty() { all } else { numbers }
    };
    all.into_iter().enumerate().map(of_point).collect()
}
