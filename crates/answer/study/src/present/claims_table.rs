//! The verdicts as Markdown, for the README of a study.

use crate::judge::Verdict;
use crate::ledger::{CheckResult, ClaimResult, Counterfactual, Ledger, Trial};
use crate::number::number;

/// The maximum number of listed failing checks of a claim; of more only the number is given.
const MAX_CHECKS_SHOWN: usize = 2;

/// Every claim and its verdict in a table; then what fails, and under which change it would hold; then
/// what depends on a reading of what the paper leaves open.
pub fn claims_table(ledger: &Ledger) -> String {
    let max = ledger.claims.iter().map(|claim| claim.replicas).max().unwrap_or_default();
    let mut out =
        format!("Up to {max} replicas of {} each. {}", ledger.duration, ledger.describe_tcp());
    for sentence in [ledger.describe_reading(), format!("{}.", ledger.describe())] {
        if !sentence.is_empty() {
            out += &format!(" {sentence}");
        }
    }
    out += "\n\n";
    out += "| claim | what the paper says | verdict | checks that hold | replicas |\n";
    out += "|---|---|---|---:|---:|\n";
    for claim in &ledger.claims {
        let hold = claim.checks.iter().filter(|check| check.verdict == Verdict::Holds).count();
        out += &format!(
            "| {} | {} | {} {} | {hold} of {} | {} |\n",
            claim.id,
            claim.short.replace('|', "\\|"),
            sign(claim.verdict),
            claim.verdict.name(),
            claim.checks.len(),
            claim.replicas,
        );
    }
    section(&mut out, "What fails, and under which change it would hold", ledger, failing);
    section(&mut out, "What depends on what the paper leaves open", ledger, depending);
    section(&mut out, "What is not settled", ledger, open);
    out += &rehearsed(ledger);
    out
}

/// What was rehearsed, beside what was simulated; empty where nothing was.
fn rehearsed(ledger: &Ledger) -> String {
    let checks = ledger.claims.iter().flat_map(|claim| {
        claim.checks.iter().filter_map(|check| Some((&claim.id, check, check.rehearsed.as_ref()?)))
    });
    let rows: Vec<String> = checks
        .map(|(id, check, found)| {
            format!(
                "| {id} | {} | {} | {} {} | {} {} |\n",
                check.what.replace('|', "\\|"),
                check.paper.replace('|', "\\|"),
                sign(check.verdict),
                number(check.ours, check.low, check.high),
                sign(found.verdict),
                number(found.ours, found.low, found.high),
            )
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n**Rehearsed, over real kernels, without a vote** ({})\n\n\
         | claim | check | paper | simulated | rehearsed |\n|---|---|---|---|---|\n{}",
        ledger.rehearsed,
        rows.concat()
    )
}

/// Its sign in a table.
const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::Fails => "✗",
        Verdict::Depends => "±",
        Verdict::Unsettled => "?",
    }
}

/// A part with an item for each claim of which `item` tells something.
fn section(
    out: &mut String,
    title: &str,
    ledger: &Ledger,
    item: impl Fn(&ClaimResult) -> Option<String>,
) {
    let items: Vec<String> = ledger.claims.iter().filter_map(item).collect();
    if !items.is_empty() {
        *out += &format!("\n**{title}**\n\n{}", items.concat());
    }
}

fn failing(claim: &ClaimResult) -> Option<String> {
    let is_meant = matches!(claim.verdict, Verdict::Fails | Verdict::Depends);
    is_meant.then(|| checks_text(claim, Verdict::Fails)).flatten()
}

fn open(claim: &ClaimResult) -> Option<String> {
    let is_meant = claim.verdict == Verdict::Unsettled;
    is_meant.then(|| checks_text(claim, Verdict::Unsettled)).flatten()
}

fn depending(claim: &ClaimResult) -> Option<String> {
    let is_meant = claim.verdict == Verdict::Depends;
    let others = claim.readings.iter().map(|other| {
        let reading = other.reading.replace('+', ", ");
        format!("{} under {reading}", other.verdict.name())
    });
    let others: Vec<String> = others.collect();
    is_meant.then(|| format!("- {}: {}.\n", claim.id, others.join("; ")))
}

/// The checks of a claim with this verdict; empty if it has another one.
fn checks_text(claim: &ClaimResult, verdict: Verdict) -> Option<String> {
    let checks: Vec<&CheckResult> =
        claim.checks.iter().filter(|check| check.verdict == verdict).collect();
    let first: Vec<String> = checks.iter().take(MAX_CHECKS_SHOWN).map(|check| one(check)).collect();
    let more = match checks.len().saturating_sub(MAX_CHECKS_SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!first.is_empty()).then(|| format!("- {}: {}{more}.\n", claim.id, first.join("; ")))
}

fn one(check: &CheckResult) -> String {
    match &check.excluded {
        Some(statement) => {
            format!("{}; **the paper contradicts it**: {statement}", tried_for(check))
        }
        None => tried_for(check),
    }
}

fn tried_for(check: &CheckResult) -> String {
    let ours = number(check.ours, check.low, check.high);
    let what = &check.what;
    match (&check.counterfactual, check.needs) {
        (Some(Counterfactual::Found(trial)), _) => {
            format!("{what}: {ours}, paper {}; **holds with {}**", check.paper, tried(trial))
        }
        (Some(Counterfactual::Tried { tried: all }), _) => {
            let all: Vec<String> = all.iter().map(tried).collect();
            format!("{what}: {ours}, paper {}; not with {}", check.paper, all.join(", nor with "))
        }
        (None, Some(needs)) => {
            format!("{what}: {ours}, paper {}; about {needs} replicas would decide", check.paper)
        }
        (None, None) => format!("{what}: {ours}, paper {}", check.paper),
    }
}

fn tried(trial: &Trial) -> String {
    format!("{} ({})", trial.change, number(trial.ours, trial.low, trial.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{ReadingResult, RehearsedNumber};
    use crate::spec::StudyFiles;

    #[test]
    fn the_committed_tables_are_those_of_the_committed_ledgers() {
        for ledger in StudyFiles::committed() {
            let path = format!(
                "{}/../../../papers/{}/claims.md",
                env!("CARGO_MANIFEST_DIR"),
                ledger.study
            );
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&path, claims_table(&ledger)).unwrap();
            }
            let table = std::fs::read_to_string(path).unwrap();
            assert_eq!(table, claims_table(&ledger), "renew it with BLESS=1, or by a full run");
        }
    }

    fn trial(change: &str, verdict: Verdict) -> Trial {
        let (ours, low, high) = (Some(0.4), Some(0.3), Some(0.5));
        Trial { change: change.to_owned(), ours, low, high, verdict }
    }

    fn check(what: &str, verdict: Verdict, counterfactual: Option<Counterfactual>) -> CheckResult {
        CheckResult {
            what: what.to_owned(),
            paper: "≤ 0.5".to_owned(),
            ours: Some(0.8),
            low: Some(0.7),
            high: None,
            verdict,
            replicas: 8,
            needs: (verdict == Verdict::Unsettled).then_some(90),
            counterfactual,
            excluded: None,
            rehearsed: None,
        }
    }

    fn claim(id: &str, verdict: Verdict, checks: Vec<CheckResult>) -> ClaimResult {
        ClaimResult {
            id: id.to_owned(),
            claim: "c".to_owned(),
            short: "faster".to_owned(),
            verdict,
            note: String::new(),
            readings: Vec::new(),
            replicas: 8,
            checks,
            observations: Vec::new(),
        }
    }

    fn ledger(claims: Vec<ClaimResult>) -> Ledger {
        Ledger {
            study: "a".to_owned(),
            quick: false,
            looks: vec![8, 16],
            duration: "60 s".to_owned(),
            warnings: Vec::new(),
            tcp: String::new(),
            reading: "data+560".to_owned(),
            reading_misses: false,
            rehearsed: String::new(),
            claims,
        }
    }

    #[test]
    fn what_fails_is_told_with_the_change_under_which_it_holds() {
        let found = Counterfactual::Found(trial("a window of 64 KiB", Verdict::Holds));
        let vain = Counterfactual::Tried { tried: vec![trial("SACK", Verdict::Fails)] };
        let checks = vec![
            check("one", Verdict::Fails, Some(found)),
            check("two", Verdict::Fails, Some(vain)),
            check("three", Verdict::Fails, None),
            check("four", Verdict::Holds, None),
        ];
        let reading = ReadingResult { reading: "wire+750".to_owned(), verdict: Verdict::Holds };
        let depends = claim("a.2", Verdict::Depends, vec![check("x", Verdict::Fails, None)]);
        let depends = ClaimResult { readings: vec![reading], ..depends };
        let open = vec![check("y", Verdict::Unsettled, None)];
        let claims = vec![
            claim("a.1", Verdict::Fails, checks),
            depends,
            claim("a.3", Verdict::Unsettled, open),
        ];
        let expected = "Up to 8 replicas of 60 s each. TCP: none. Calibrated reading: data, 560. \
            3 claims: 0 hold, 1 fail, 1 depend, 1 unsettled.\n\n\
            | claim | what the paper says | verdict | checks that hold | replicas |\n\
            |---|---|---|---:|---:|\n\
            | a.1 | faster | ✗ fails | 1 of 4 | 8 |\n\
            | a.2 | faster | ± depends | 0 of 1 | 8 |\n\
            | a.3 | faster | ? unsettled | 0 of 1 | 8 |\n\
            \n**What fails, and under which change it would hold**\n\n\
            - a.1: one: 0.800 (at least 0.700), paper ≤ 0.5; **holds with a window of 64 KiB (0.400 \
            (0.300 to 0.500))**; two: 0.800 (at least 0.700), paper ≤ 0.5; not with SACK (0.400 (0.300 \
            to 0.500)); and 1 more.\n\
            - a.2: x: 0.800 (at least 0.700), paper ≤ 0.5.\n\
            \n**What depends on what the paper leaves open**\n\n\
            - a.2: holds under wire, 750.\n\
            \n**What is not settled**\n\n\
            - a.3: y: 0.800 (at least 0.700), paper ≤ 0.5; about 90 replicas would decide.\n";
        assert_eq!(claims_table(&ledger(claims)), expected);
    }

    #[test]
    fn what_was_rehearsed_stands_beside_what_was_simulated() {
        let (ours, low, high, verdict) = (Some(0.4), Some(0.3), Some(0.5), Verdict::Holds);
        let found = RehearsedNumber { ours, low, high, verdict, replicas: 4 };
        let one = CheckResult { rehearsed: Some(found), ..check("one", Verdict::Fails, None) };
        let checks = vec![one, check("two", Verdict::Fails, None)];
        let mut ledger = ledger(vec![claim("a.1", Verdict::Fails, checks)]);
        ledger.rehearsed = "Linux, replicas of 60 s".to_owned();
        let expected = "\n**Rehearsed, over real kernels, without a vote** (Linux, replicas of 60 s)\n\n\
            | claim | check | paper | simulated | rehearsed |\n|---|---|---|---|---|\n\
            | a.1 | one | ≤ 0.5 | ✗ 0.800 (at least 0.700) | ✓ 0.400 (0.300 to 0.500) |\n";
        assert_eq!(rehearsed(&ledger), expected);
    }
}
