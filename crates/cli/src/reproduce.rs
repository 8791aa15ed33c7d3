//! `reproduce`: a published study run again, and the ledger of its claims.

use std::fmt::Write;
use std::path::Path;

use shortflow_sim::Simulator;
use shortflow_study::judge::Verdict;
use shortflow_study::{self as study, CheckResult, Ledger, Reproduced, files};

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
        console.print(&text(&reproduced, ledger, console.color_out))?;
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

/// The ledger for a terminal: every claim, and the checks that do not hold.
fn text(reproduced: &Reproduced, ledger: &Ledger, color: bool) -> String {
    let mut out = format!("{}\n", reproduced.title);
    indent(&mut out, "", &reproduced.about);
    indent(&mut out, "", &ledger.tcp_in_words());
    for claim in &ledger.claims {
        let hold = claim.checks.iter().filter(|check| check.holds == Some(true)).count();
        let _ = write!(
            out,
            "\n{} {:<8} {} of {} checks hold\n",
            painted(claim.verdict, color),
            claim.id,
            hold,
            claim.checks.len(),
        );
        indent(&mut out, "    ", &claim.claim);
        for check in claim.checks.iter().filter(|check| check.holds != Some(true)) {
            let word = if check.holds.is_none() { "open" } else { "not " };
            let _ = writeln!(out, "    {word} {}: {}", check.what, value(check));
        }
        if !claim.note.is_empty() {
            indent(&mut out, "    note: ", &claim.note);
        }
    }
    let of = |verdict| ledger.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let _ = writeln!(
        out,
        "\n{} claims: {} hold, {} fail, {} unsettled. All checks are in the report.",
        ledger.claims.len(),
        of(Verdict::Holds),
        of(Verdict::Fails),
        of(Verdict::Unsettled),
    );
    out
}

/// `ours 0.71 (0.53 to 0.90), paper ≤ 0.5`.
fn value(check: &CheckResult) -> String {
    let Some(ours) = check.ours else { return "not measured".to_owned() };
    let interval = match (check.low, check.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", significant(low), significant(high)),
        _ => String::new(),
    };
    format!("ours {}{interval}, paper {}", significant(ours), check.paper)
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let digits = (2.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.digits$}")
}

fn painted(verdict: Verdict, color: bool) -> String {
    let code = match verdict {
        Verdict::Holds => "32",
        Verdict::Fails => "31",
        Verdict::Unsettled => "33",
    };
    let word = format!("{:<9}", verdict.name());
    if color { format!("\x1b[1;{code}m{word}\x1b[0m") } else { word }
}

/// Writes a text in lines of at most 96 characters.
fn indent(out: &mut String, first: &str, text: &str) {
    const WIDTH: usize = 96;
    let margin = " ".repeat(first.chars().count());
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line.clone_from(&margin);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    let _ = writeln!(out, "{line}");
}
