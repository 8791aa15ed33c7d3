//! The rules of `STYLE.md` and the map in `ARCHITECTURE.md`, as a test.
//!
//! Every check is a function from the tree of files to findings, so that it can be shown at work
//! on a small tree in memory.

mod banned;
mod code;
mod crates;
mod edges;
mod empty_tests;
mod fronts;
mod kinds;
mod links;
mod map;
mod modules;
mod named;
mod paths;
mod sizes;
mod tree;
mod words;

use std::fmt;

pub(crate) use tree::{Tree, top};

/// Something that breaks a rule: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    found: String,
    remedy: String,
}

impl Finding {
    pub(crate) fn new(
        path: &str,
        line: usize,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Finding { path: path.to_owned(), line, found: found.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.found, self.remedy)
    }
}

/// All findings, in the order of their places.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let checks = [
        banned::check,
        edges::check,
        empty_tests::check,
        fronts::check,
        kinds::check,
        links::check,
        map::check,
        modules::check,
        named::check,
        paths::check,
        sizes::check,
        words::check,
        crate::studies::check,
    ];
    for check in checks {
        findings.extend(check(tree));
    }
    findings.sort();
    findings.dedup();
    findings
}

/// The findings of `check` on a tree in memory, as the user would read them.
#[cfg(test)]
pub(crate) fn read(check: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::from_files(files)).iter().map(Finding::to_string).collect()
}
