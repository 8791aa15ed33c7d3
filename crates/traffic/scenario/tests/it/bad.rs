//! What a person reads who has made a mistake: each file of `tests/bad` beside its message.
//!
//! Lines that start with `#!` are command-line arguments. `BLESS=1 cargo test -p shortflow-scenario` rewrites the
//! messages; read them before you commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shortflow_scenario::{Overrides, from_texts};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

fn files(extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

/// What the file's `#!` lines say.
fn overrides(text: &str) -> Overrides {
    let mut overrides = Overrides::default();
    for line in text.lines().filter_map(|line| line.strip_prefix("#! ")) {
        if let Some(policy) = line.strip_prefix("--policy ") {
            overrides.policy = Some(policy.into());
        } else if let Some(binding) = line.strip_prefix("--bind ") {
            overrides.bind.push(binding.to_owned());
        } else {
            let set = line.strip_prefix("--set ").expect("`--set`, `--bind` or `--policy`");
            let (key, value) = set.split_once('=').expect("key=value");
            overrides.set.push((key.to_owned(), value.to_owned()));
        }
    }
    overrides
}

/// The policy on which the bad scenarios stand.
const POLICY: &str = r#"
[parameters]
threshold = 7

[[roles.servers.classes]]
name = "all"
marker.fair-marker = { cir = "6.4 Mbit/s", threshold = "$threshold" }

[roles.core.queue.fifo]
limit = "100 pkt"
"#;

fn message(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    match from_texts(&[(name, &text), ("good-policy.toml", POLICY)], &overrides(&text)) {
        Ok(_) => panic!("{name} is not bad"),
        Err(mistakes) => format!("{mistakes}\n"),
    }
}

#[test]
fn every_mistake_has_the_message_beside_it() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut differ = Vec::new();
    for path in files("toml") {
        let found = message(&path);
        let golden = path.with_extension("txt");
        if bless {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            let name = path.file_name().unwrap().to_str().unwrap();
            differ.push(format!("{name}\nexpected:\n{expected}\nfound:\n{found}"));
        }
    }
    assert!(differ.is_empty(), "{}\nBLESS=1 rewrites them", differ.join("\n"));
}

#[test]
fn every_message_belongs_to_a_mistake_and_there_are_many() {
    let stems = |extension| -> BTreeSet<PathBuf> {
        files(extension).iter().map(|path| path.with_extension("")).collect()
    };
    let (mistakes, messages) = (stems("toml"), stems("txt"));
    let orphans: Vec<_> = messages.difference(&mistakes).collect();
    assert!(orphans.is_empty(), "{orphans:?}");
    assert!(mistakes.len() >= 30);
}

#[test]
fn every_message_names_its_file_or_quotes_its_option() {
    for path in files("toml") {
        let found = message(&path);
        let is_placed = found.contains("--> ") || found.contains("1 | --");
        assert!(found.starts_with("error: ") && is_placed, "{found}");
    }
}
