//! `cargo xtask smoke`: reproduces the studies in their short forms and compares the verdicts with the recorded ones. Asks a
//! small build for what it lacks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = "target/release/shortflow";

/// The folder of the results.
const RESULTS: &str = "target/smoke";

const STUDIES: [&str; 5] = ["cm05", "harp05", "lhl03", "mtk99", "nt02"];

const VERDICTS: [&str; 4] = ["holds", "fails", "depends", "unsettled"];

/// Returns what differs from the records; empty if all is as recorded.
pub(crate) fn run() -> Result<Vec<String>, String> {
    match fs::remove_dir_all(RESULTS) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("{RESULTS}: {error}"));
        }
        _ => {}
    }
    let mut differences = refusals()?;
    for study in STUDIES {
        differences.extend(one(study)?);
    }
    Ok(differences)
}

/// The commands that a build without the feature `live` lacks.
const LIVE: [&[&str]; 6] = [
    &["rehearse", "scenarios/office.toml"],
    &["compare", "scenarios/office.toml", "--engines", "simulate,rehearse"],
    &["inline", "policies/best-effort.toml", "--between", "a,b"],
    &["verify", "--listen"],
    &["agent", "status"],
    &["bench", "router"],
];

/// Returns the commands that a small build refuses otherwise than with how to build them.
fn refusals() -> Result<Vec<String>, String> {
    let ask = |arguments: &[&str]| {
        Command::new(PROGRAM)
            .args(arguments)
            .output()
            .map_err(|error| format!("{PROGRAM}: {error}"))
    };
    if String::from_utf8_lossy(&ask(&["--version"])?.stdout).contains("live") {
        return Ok(Vec::new());
    }
    let mut differences = Vec::new();
    for arguments in LIVE {
        let output = ask(arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(3) || !said.contains("`make build`") {
            differences.push(format!(
                "`{}` ended with {}: {said}",
                arguments.join(" "),
                output.status
            ));
        }
    }
    Ok(differences)
}

fn one(study: &str) -> Result<Vec<String>, String> {
    let out = Path::new(RESULTS).join(study);
    let text = reproduce(study, &out, &[])?;
    let record = PathBuf::from(format!("papers/{study}/quick.txt"));
    let mut differences = different_verdicts(study, &read(&record)?, &text);
    // This finds the runs of the first call, so that it only writes them in another form.
    let json = reproduce(study, &out, &["--json"])?;
    if json != read(&out.join("ledger.json"))? {
        differences.push(format!("{study}: --json prints other text than ledger.json has"));
    }
    Ok(differences)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What `shortflow reproduce` prints. A claim that fails gives exit code 1, which is a result.
fn reproduce(study: &str, out: &Path, options: &[&str]) -> Result<String, String> {
    let mut command = Command::new(PROGRAM);
    command.args(["reproduce", study, "--quick", "--out"]).arg(out).args(options);
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|e| format!("{PROGRAM}: {e}"))?;
    match output.status.code() {
        Some(0 | 1) => {
            String::from_utf8(output.stdout).map_err(|error| format!("{study}: {error}"))
        }
        _ => Err(format!("`shortflow reproduce {study} --quick` failed: {}", output.status)),
    }
}

/// The recorded verdicts that `text` has otherwise, and its verdicts that nobody recorded.
fn different_verdicts(study: &str, record: &str, text: &str) -> Vec<String> {
    let recorded: Vec<String> = record.lines().map(str::to_owned).collect();
    let found: Vec<String> = text.lines().filter_map(|line| verdict(study, line)).collect();
    let missing = recorded.iter().filter(|line| !found.contains(line));
    let new = found.iter().filter(|line| !recorded.contains(line));
    let missing = missing.map(|line| format!("recorded, but not found: {line}"));
    let mut all: Vec<String> =
        missing.chain(new.map(|line| format!("found, but not recorded: {line}"))).collect();
    if all.is_empty() && found != recorded {
        all.push(format!(
            "{study}: the verdicts stand in another order than papers/{study}/quick.txt has"
        ));
    }
    all
}

/// The beginning of a line with a verdict on a claim: `holds       cm05.1`.
fn verdict(study: &str, line: &str) -> Option<String> {
    let start =
        VERDICTS.iter().find_map(|verdict| line.strip_prefix(verdict).map(|rest| (verdict, rest)));
    let (verdict, rest) = start?;
    let number = rest.trim_start().strip_prefix(study)?.strip_prefix('.')?;
    let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let space = rest.len() - rest.trim_start().len();
    let is_claim = digits > 0 && space > 0;
    is_claim.then(|| format!("{verdict}{}{study}.{}", " ".repeat(space), &number[..digits]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "holds       nt02.1\nfails       nt02.2\n";

    #[test]
    fn the_recorded_verdicts_may_stand_among_other_text() {
        let text =
            "nt02: 2 claims\nholds       nt02.1  short flows gain\n\nfails       nt02.2  why\n";
        assert_eq!(different_verdicts("nt02", RECORD, text), [""; 0]);
    }

    #[test]
    fn a_verdict_that_changed_is_named_as_recorded_and_as_found() {
        let text = RECORD.replace("fails      ", "holds      ");
        let found = different_verdicts("nt02", RECORD, &text);
        assert_eq!(
            found,
            [
                "recorded, but not found: fails       nt02.2",
                "found, but not recorded: holds       nt02.2"
            ]
        );
    }

    #[test]
    fn a_missing_verdict_and_another_order_are_found() {
        assert_eq!(different_verdicts("nt02", RECORD, "holds       nt02.1\n").len(), 1);
        let turned = "fails       nt02.2\nholds       nt02.1\n";
        assert_eq!(different_verdicts("nt02", RECORD, turned).len(), 1);
    }
}
