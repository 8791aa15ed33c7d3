//! The ledger of a study in lines for a terminal.

use std::fmt::Write;

use crate::judge::Verdict;
use crate::ledger::{CheckResult, Ledger};
use crate::reproduce::Reproduced;

/// The ledger for a terminal, coloured if asked for: every claim, and the checks that do not hold.
pub fn text(reproduced: &Reproduced, ledger: &Ledger, color: bool) -> String {
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
