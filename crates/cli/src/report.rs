//! `report`: renews pages and figures from folders of results.

use std::path::PathBuf;

use shortflow_measure::View;
use shortflow_measure::results::Folder;
use shortflow_report as report;
use shortflow_run::{read_runs, refuse_other_run};

use crate::args::Report;
use crate::console::Console;
use crate::failure::Failure;

/// `shortflow report`.
pub(crate) fn report(console: &Console, args: &Report) -> Result<(), Failure> {
    let runs = read_runs(&args.folders)?;
    let target = match (&args.out, &args.folders[..]) {
        (Some(out), _) => out.clone(),
        (None, [only]) => only.clone(),
        (None, _) => PathBuf::from("results/report"),
    };
    if !args.force {
        refuse_other_run(&target, &args.folders)?;
    }
    let path = report::write(&Folder::create(&target)?, &View::new(&runs))?;
    console.file("Report", &path)
}
