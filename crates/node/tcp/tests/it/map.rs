//! The map from RFC sections to timelines in `tests/README.md` is made from the comments above the
//! tests. Renew it with `INSTA_UPDATE=always cargo test -p shortflow-tcp map`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What holds for whole pairs of endpoints rests on no single section, and gates are of a paper.
const NO_TIMELINES: [&str; 5] = ["gate", "laws", "map", "peers", "round_trips"];

const START: &str = "<!-- map -->\n";

#[test]
fn every_timeline_cites_its_rfc_and_is_on_the_map() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut rows = BTreeSet::new();
    for file in sources(&tests.join("it")) {
        let module = module_name(file.strip_prefix(tests.join("it")).unwrap());
        if !NO_TIMELINES.contains(&module.as_str()) {
            rows.extend(citations(&module, &fs::read_to_string(&file).unwrap()));
        }
    }
    let mut map = "| RFC | section | timeline |\n|---|---|---|\n".to_owned();
    for (rfc, section, test) in rows {
        let section = section.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        writeln!(map, "| {rfc} | §{section} | `{test}` |").unwrap();
    }
    let readme = fs::read_to_string(tests.join("README.md")).unwrap();
    let (text, committed) = readme.split_once(START).unwrap();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::write(tests.join("README.md"), format!("{text}{START}{map}")).unwrap();
    } else {
        assert!(
            committed == map,
            "tests/README.md is stale; this file's head says how to renew it"
        );
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.into_iter().chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

fn module_name(file: &Path) -> String {
    let names = file.with_extension("");
    let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
    names.join("::")
}

type Row = (u32, Vec<u32>, String);

/// A row for each section that the comment above each test names.
fn citations(module: &str, source: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut comment = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("// ") {
            comment.push_str(text);
            comment.push(' ');
        } else if line == "#[test]" {
            let name = lines.next().unwrap().trim_start_matches("fn ").trim_end_matches("() {");
            let sections = sections(&comment);
            assert!(!sections.is_empty(), "{module}::{name} cites no section of an RFC");
            let test = format!("{module}::{name}");
            rows.extend(sections.into_iter().map(|(rfc, section)| (rfc, section, test.clone())));
            comment.clear();
        } else {
            comment.clear();
        }
    }
    rows
}

/// "RFC 6298 §5.5 and §3" names two sections of one RFC.
fn sections(comment: &str) -> Vec<(u32, Vec<u32>)> {
    let mut rfc = None;
    let mut found = Vec::new();
    let mut words = comment.split_whitespace();
    while let Some(word) = words.next() {
        if word == "RFC" {
            rfc = words.next().and_then(|number| number.parse().ok());
        } else if let Some((_, section)) = word.split_once('§')
            && let Some(rfc) = rfc
        {
            let end = section.find(|c: char| !c.is_ascii_digit() && c != '.');
            let numbers = section[..end.unwrap_or(section.len())].trim_end_matches('.');
            found.push((rfc, numbers.split('.').map(|number| number.parse().unwrap()).collect()));
        }
    }
    found
}
