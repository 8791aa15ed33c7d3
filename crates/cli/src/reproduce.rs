//! `reproduce`: a published study run again, and the ledger of its claims.

use std::path::Path;

use shortflow_sim::Simulator;
use shortflow_study::judge::Verdict;
use shortflow_study::{self as study, Reproduced, files};

use crate::args::Reproduce;
use crate::console::Console;
use crate::failure::Failure;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;

/// `shortflow reproduce`.
pub(crate) fn reproduce(console: &Console, args: &Reproduce) -> Result<(), Failure> {
    let found = study::find(&args.study)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("results").join(&*found.id));
    let kept = out.join(if args.quick { "replicas-quick" } else { "replicas" });
    let options = study::Options {
        quick: args.quick,
        threads: args.jobs.map_or(0, usize::from),
        folder: &kept,
    };
    let bar = Bar::new(console);
    let stop = stop_on_interrupt()?;
    let reproduced = study::reproduce(&Simulator, &found, &options, stop, &bar);
    bar.end();
    let reproduced = reproduced?;
    if let Some(note) = stale(reproduced.stale) {
        console.note(&note);
    }
    let Some(ledger) = &reproduced.ledger else { return Err(interrupted(&reproduced)) };
    let page = files::write(&out, &reproduced, ledger)?;
    if args.json {
        console.print(&files::json(ledger))?;
    } else {
        console.print(&study::text(&reproduced, ledger, console.color_out))?;
        console.file("Report", &page)?;
    }
    match ledger.claims.iter().all(|claim| claim.verdict != Verdict::Fails) {
        true => Ok(()),
        false => Err(Failure::Check),
    }
}

/// What is said of replicas that were kept and could not be used.
fn stale(count: usize) -> Option<String> {
    let (are, were) =
        if count == 1 { ("replica is", "it was") } else { ("replicas are", "they were") };
    (count > 0).then(|| {
        format!(
            "{count} kept {are} out of date, because the program or the study's files have changed; \
             {were} discarded"
        )
    })
}

fn interrupted(reproduced: &Reproduced) -> Failure {
    Failure::Interrupted(format!(
        "interrupted: {} of {} replicas are complete and kept; the same command goes on from there",
        reproduced.finished, reproduced.wanted
    ))
}
