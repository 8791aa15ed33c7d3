//! The ledger of a study in lines for a terminal.

use std::fmt::Write;

use shortflow_report::warning_mark;

use super::reproduced::Reproduced;
use crate::judge::Verdict;
use crate::ledger::{CheckResult, Counterfactual, Ledger, Trial};
use crate::number::number;

/// The ledger for a terminal, coloured if asked for: every claim, and the checks that do not hold.
pub fn text(reproduced: &Reproduced, ledger: &Ledger, color: bool) -> String {
    let mut out = format!("{}\n", reproduced.title);
    indent(&mut out, "", &reproduced.about);
    indent(&mut out, "", &ledger.describe_tcp());
    if !ledger.reading.is_empty() {
        indent(&mut out, "", &ledger.describe_reading());
    }
    for warning in &ledger.warnings {
        indent(&mut out, "", &format!("{} {warning}", warning_mark(warning, color)));
    }
    for claim in &ledger.claims {
        let hold = claim.checks.iter().filter(|check| check.verdict == Verdict::Holds).count();
        let _ = write!(
            out,
            "\n{} {:<8} {} of {} checks hold, {} replicas\n",
            painted(claim.verdict, color),
            claim.id,
            hold,
            claim.checks.len(),
            claim.replicas,
        );
        indent(&mut out, "    ", &claim.claim);
        for reading in claim.readings.iter().filter(|other| other.verdict != claim.verdict) {
            let line = format!("under {}: {}", reading.reading, reading.verdict.name());
            indent(&mut out, "    ", &line);
        }
        for check in claim.checks.iter().filter(|check| check.verdict != Verdict::Holds) {
            let word = if check.verdict == Verdict::Fails { "not " } else { "open" };
            indent(&mut out, &format!("    {word} "), &check_text(check));
        }
        for seen in &claim.observations {
            let paper = if seen.paper.is_empty() { "" } else { ", paper " };
            let ours = number(seen.ours, seen.low, seen.high);
            indent(
                &mut out,
                "    seen ",
                &format!("{}: ours {ours}{paper}{}", seen.what, seen.paper),
            );
        }
        if !claim.note.is_empty() {
            indent(&mut out, "    note: ", &claim.note);
        }
    }
    let _ = writeln!(out, "\n{}. All checks are in the report.", ledger.describe());
    out
}

/// The verdicts of several studies for a terminal, coloured if asked for: a line for each claim.
pub fn overview(ledgers: &[Ledger], color: bool) -> String {
    let mut out = String::new();
    for ledger in ledgers {
        let _ = writeln!(out, "{}: {}", ledger.study, ledger.describe());
        for claim in &ledger.claims {
            let _ = writeln!(
                out,
                "  {} {:<9} {}",
                painted(claim.verdict, color),
                claim.id,
                claim.short
            );
        }
        out.push('\n');
    }
    let count = |verdict| ledgers.iter().map(|ledger| ledger.count(verdict)).sum::<usize>();
    let [hold, fail, depend, unsettled] = Verdict::ALL.map(count);
    let _ = writeln!(
        out,
        "{} claims of {} papers: {hold} hold, {fail} fail, {depend} depend on what the paper leaves \
         open, {unsettled} unsettled.",
        hold + fail + depend + unsettled,
        ledgers.len(),
    );
    indent(
        &mut out,
        "",
        "These are the committed ledgers. `shortflow reproduce STUDY` runs one again and shows every \
         check; `shortflow reproduce all --renew` runs all.",
    );
    out
}

/// The result of a check that does not hold.
fn check_text(check: &CheckResult) -> String {
    let ours = number(check.ours, check.low, check.high);
    let message = format!("{}: ours {ours}, paper {}", check.what, check.paper);
    match remark(check).as_str() {
        "" => message,
        remark => format!("{message}; {remark}"),
    }
}

/// Under what a check that fails would hold, what contradicts it, or how many replicas would decide one that is open.
pub(crate) fn remark(check: &CheckResult) -> String {
    let tried = tried_for(check);
    match &check.excluded {
        Some(statement) if tried.is_empty() => format!("the paper contradicts it: {statement}"),
        Some(statement) => format!("{tried}; the paper contradicts it: {statement}"),
        None => tried,
    }
}

fn tried_for(check: &CheckResult) -> String {
    match (&check.counterfactual, check.needs) {
        (Some(Counterfactual::Found(trial)), _) => format!("it holds with {}", tried(trial)),
        (Some(Counterfactual::Tried { tried: all }), _) => {
            let all: Vec<String> = all.iter().map(tried).collect();
            format!("not with {}", all.join(", nor with "))
        }
        (None, Some(needs)) => format!("about {needs} replicas would decide"),
        (None, None) => String::new(),
    }
}

fn tried(trial: &Trial) -> String {
    format!("{}: ours {}", trial.change, number(trial.ours, trial.low, trial.high))
}

fn painted(verdict: Verdict, color: bool) -> String {
    let code = match verdict {
        Verdict::Holds => "32",
        Verdict::Fails => "31",
        Verdict::Depends => "35",
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
