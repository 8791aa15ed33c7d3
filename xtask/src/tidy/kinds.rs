//! What kind each crate is: the block `kinds` of `ARCHITECTURE.md`.
//!
//! The block has one line per kind, `kind: crates`. Every crate of the block `edges` stands in exactly
//! one of them, so that a new crate is not without rules by oversight.

use std::collections::BTreeMap;

use super::edges::{ARCHITECTURE, block};
use super::{Finding, Tree};

/// What a crate may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No clock, I/O or randomness of its own: what it does follows from its arguments.
    Pure,
    /// Files and threads, but no talk.
    Library,
    /// It may talk to a person.
    Program,
}

/// The kind of each crate, by its name.
pub(crate) type Kinds = BTreeMap<String, Kind>;

/// The kinds that the block gives.
pub(crate) fn parse(tree: &Tree) -> Kinds {
    let text = tree.text(ARCHITECTURE).unwrap_or("");
    read(text).into_iter().filter_map(|(_, name, kind)| Some((name.to_owned(), kind?))).collect()
}

/// Finds crates that have no kind or several, kinds of what is no crate, and kinds that there are not.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(ARCHITECTURE).unwrap_or("");
    let mut findings = Vec::new();
    let mut finding = |line, found: String, remedy| {
        findings.push(Finding::new(ARCHITECTURE, line, found, remedy));
    };
    let given = read(text);
    let mut seen = BTreeMap::new();
    for (line, name, kind) in &given {
        let is_crate = tree.crates().any(|(place, _)| place.name == *name)
            || tree.has_file(&format!("{name}/Cargo.toml"));
        if kind.is_none() {
            finding(
                *line,
                "this is no kind of crate".to_owned(),
                "write pure, libraries or programs",
            );
        } else if !is_crate {
            finding(*line, format!("`{name}` is no crate"), "take its kind out");
        } else if seen.insert(*name, *line).is_some() {
            finding(*line, format!("`{name}` has two kinds"), "choose one");
        }
    }
    for (line, entry) in block(text, "edges") {
        let name = entry.split(':').next().unwrap_or(entry);
        if !seen.contains_key(name) {
            let remedy = "put it under pure, libraries or programs in the block `kinds`";
            finding(line, format!("`{name}` has no kind"), remedy);
        }
    }
    findings
}

/// The names in the block with their lines and kinds; `None` for a kind that there is not.
fn read(text: &str) -> Vec<(usize, &str, Option<Kind>)> {
    let mut given = Vec::new();
    for (line, entry) in block(text, "kinds") {
        let (kind, names) = entry.split_once(':').unwrap_or((entry, ""));
        let kind = match kind {
            "pure" => Some(Kind::Pure),
            "libraries" => Some(Kind::Library),
            "programs" => Some(Kind::Program),
            _ => None,
        };
        given.extend(names.split_whitespace().map(|name| (line, name, kind)));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const KINDS: &str =
        "```edges\nunits:\ncli: units\n```\n```kinds\npure: units\nprograms: cli xtask\n```\n";

    fn findings(architecture: &str) -> Vec<String> {
        let manifests = ["crates/units/Cargo.toml", "crates/cli/Cargo.toml", "xtask/Cargo.toml"]
            .map(|it| (it, ""));
        read(check, &[&manifests[..], &[(ARCHITECTURE, architecture)]].concat())
    }

    #[test]
    fn crates_of_one_kind_each_are_fine() {
        assert_eq!(findings(KINDS), [""; 0]);
    }

    #[test]
    fn a_crate_without_a_kind_or_with_two_is_found() {
        assert_eq!(
            findings(&KINDS.replace("pure: units", "pure:")),
            [
                "ARCHITECTURE.md:2: `units` has no kind; put it under pure, libraries or programs in the \
              block `kinds`"
            ]
        );
        assert_eq!(
            findings(&KINDS.replace("pure: units", "pure: units cli")),
            ["ARCHITECTURE.md:7: `cli` has two kinds; choose one"]
        );
    }

    #[test]
    fn kinds_of_what_is_not_there_are_found() {
        assert_eq!(
            findings(&KINDS.replace("pure: units", "pure: units tcp")),
            ["ARCHITECTURE.md:6: `tcp` is no crate; take its kind out"]
        );
        assert_eq!(
            findings(&KINDS.replace("programs", "tools"))[0],
            "ARCHITECTURE.md:7: this is no kind of crate; write pure, libraries or programs"
        );
    }
}
