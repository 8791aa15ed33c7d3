//! The JSON Schemas, asked by a validator that is not ours: python3-jsonschema.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The TOML files below `folder`, in order.
fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(toml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether the schema takes each file, and why not; `None` where there is no validator.
fn judged(files: &[(&str, PathBuf)]) -> Option<Vec<Result<(), String>>> {
    let can = Command::new("python3").args(["-c", "import jsonschema, tomllib"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: needs python3-jsonschema");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    for format in ["policy", "scenario", "plans"] {
        fs::write(folder.path().join(format), run(&["schema", format]).out).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/schemas.py");
    let mut python = Command::new("python3");
    python.args(["-B", "-W", "ignore"]).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    let asked: String = files
        .iter()
        .map(|(format, path)| {
            format!("{}\t{}\n", folder.path().join(format).display(), path.display())
        })
        .collect();
    child.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Result<(), String>> = answers
        .lines()
        .map(|line| match line.split_once('\t') {
            Some(("yes", _)) => Ok(()),
            other => Err(other.map_or(line, |(_, why)| why).to_owned()),
        })
        .collect();
    assert_eq!(answers.len(), files.len());
    Some(answers)
}

#[test]
fn the_schemas_take_every_policy_and_scenario_of_the_repository() {
    let mut files = Vec::new();
    for folder in ["policies", "scenarios", "papers", "bench"] {
        for path in toml_files(&root().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let has = |table: &str| text.lines().any(|line| line.starts_with(table));
            let format = match (has("[roles.") || has("[[roles."), has("[workloads.")) {
                (true, false) => "policy",
                (false, true) => "scenario",
                // A ledger of claims, or a list of cases.
                _ => continue,
            };
            files.push((format, path));
        }
    }
    assert!(files.len() > 60, "only {} files", files.len());
    let Some(answers) = judged(&files) else { return };
    for ((format, path), answer) in files.iter().zip(answers) {
        assert_eq!(answer, Ok(()), "{} as a {format}", path.display());
    }
}

#[test]
fn the_schema_of_plans_takes_them_and_refuses_keys_and_values_that_they_do_not_have() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        ("plans", path)
    };
    let customer = "[[customer]]\nname = \"A\"\naddresses = [\"192.0.2.1\"]\ndown = \"5 Mbit/s\"\n";
    let good = format!("{}\n{customer}up = \"1 Mbit/s\"\nsite = \"tower\"\n", crate::plans::PLANS);
    let files = [
        write("good.toml", &good),
        write("key.toml", &good.replace("site = ", "sight = ")),
        write("rate.toml", &good.replace("\"1 Mbit/s\"", "true")),
        write("lacking.toml", &good.replace("up = \"1 Mbit/s\"\n", "")),
    ];
    let Some(answers) = judged(&files) else { return };
    assert_eq!(answers[0], Ok(()));
    assert!(answers[1..].iter().all(Result::is_err), "{answers:?}");
}

/// The golden text lists the mistakes that only `check` finds, most of which lie between two keys;
/// `BLESS=1` rewrites it. Of a file whose mistake is on the command line there is nothing to see.
#[test]
fn the_schemas_refuse_all_mistakes_but_those_of_the_list() {
    let folders = ["crates/node/policy/tests/bad", "crates/traffic/scenario/tests/bad"];
    let is_in_text = |path: &PathBuf| !fs::read_to_string(path).unwrap().contains("#! --");
    let files: Vec<(&str, PathBuf)> = folders
        .iter()
        .flat_map(|folder| toml_files(&root().join(folder)))
        .filter(is_in_text)
        .map(|path| {
            let is_policy = path.components().any(|part| part.as_os_str() == "policy");
            (if is_policy { "policy" } else { "scenario" }, path)
        })
        .collect();
    let Some(answers) = judged(&files) else { return };
    let unseen: String = files
        .iter()
        .zip(answers)
        .filter(|(_, answer)| answer.is_ok())
        .map(|((_, path), _)| format!("{}\n", path.file_stem().unwrap().to_string_lossy()))
        .collect();
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/unseen-by-schemas.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &unseen).unwrap();
    }
    assert_eq!(unseen, fs::read_to_string(golden).unwrap());
}
