//! What documents name: files and folders in backticks and in commands, targets of `make`, and how
//! many of a thing there are.

use super::{Finding, Tree};

/// Finds names of what is not there, and counts that are not right.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let makefile = tree.text("Makefile").unwrap_or("");
    let mut findings = Vec::new();
    for (path, text) in tree.texts_with("md") {
        // What was decided or released stays as it was written.
        if path.starts_with("docs/adr/0") || path == "CHANGELOG.md" {
            continue;
        }
        for (line, code) in code(text) {
            for word in code.split_whitespace() {
                if let Some(name) = missing(tree, path, word) {
                    let found = format!("`{name}` is not there");
                    findings.push(Finding::new(path, line, found, "name what is, or take it out"));
                }
            }
            for target in targets(code).filter(|target| !has_target(makefile, target)) {
                let found = format!("`make {target}` is not there");
                findings.push(Finding::new(path, line, found, "name a target of the Makefile"));
            }
        }
        if !path.contains('/') || path == "scenarios/README.md" {
            findings.extend(counts(tree, path, text));
        }
    }
    findings
}

/// Code spans outside fenced blocks, and the lines of fenced blocks of commands, with their lines.
fn code(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language) };
        } else if fence == Some("sh") {
            found.push((index + 1, line));
        } else if fence.is_none() {
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (index + 1, span)));
        }
    }
    found
}

/// The path that `word` names, if it is one of the repository and not there. A word is taken for a
/// path if its first part is a folder at the top.
fn missing<'w>(tree: &Tree, document: &str, word: &'w str) -> Option<&'w str> {
    let word = word.rsplit_once('=').map_or(word, |(_, path)| path);
    let word = word.trim_matches(|c: char| "()[]\"',;".contains(c)).trim_end_matches(['.', ':']);
    let is_plain = |c: char| c.is_alphanumeric() || "/-_.".contains(c);
    let parts = word.split(',').filter(|part| part.chars().all(is_plain));
    let is_missing = |part: &&str| {
        let path = part.trim_end_matches('/');
        let Some((first, _)) = path.split_once('/') else { return false };
        let beside = document.rsplit_once('/').map(|(folder, _)| format!("{folder}/{path}"));
        let is_there = |path: &str| tree.has_file(path) || tree.has_folder(path);
        tree.has_folder(first) && !is_there(path) && !beside.is_some_and(|path| is_there(&path))
    };
    parts.into_iter().find(is_missing)
}

/// The targets that follow `make` in a command.
fn targets(code: &str) -> impl Iterator<Item = &str> {
    let after = code.split("make ").skip(1).filter(move |_| code.starts_with("make "));
    after.filter_map(|rest| rest.split_whitespace().next()).filter(|target| {
        target.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !target.starts_with('-')
    })
}

fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().any(|line| line.strip_prefix(target).is_some_and(|rest| rest.starts_with(':')))
}

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// The least number that is taken for a count of all that there are: fewer are often some of them.
const MIN_COUNT: usize = 4;

/// Finds "six scenarios" where there are eight.
fn counts(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let of = |folder: &str, end: &str| {
        let is_one = |path: &str| {
            let inner = path.strip_prefix(folder).and_then(|path| path.strip_suffix(end));
            inner.is_some_and(|name| !name.contains('/'))
        };
        tree.files().iter().filter(|file| is_one(&file.path)).count()
    };
    let things = [
        ("scenarios", of("scenarios/", ".toml")),
        ("policies", of("policies/", ".toml")),
        ("studies", of("papers/", "/study.toml")),
        ("crates", tree.crates().count()),
    ];
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let word = pair[0].trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let thing = pair[1].trim_matches(|c: char| !c.is_alphanumeric());
            let said = NUMBERS.iter().position(|it| *it == word).or_else(|| word.parse().ok());
            let known = things.iter().find(|(name, _)| *name == thing);
            if let (Some(said), Some((_, count))) = (said, known)
                && said >= MIN_COUNT
                && said != *count
            {
                let found = format!("\"{word} {thing}\", where there are {count}");
                findings.push(Finding::new(path, index + 1, found, "count again, or do not count"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let files = [
            ("Makefile", "test: unit\nunit:\n"),
            ("scenarios/ring.toml", ""),
            ("docs/tour/step.toml", ""),
            ("crates/units/Cargo.toml", ""),
            (path, text),
        ];
        read(check, &files)
    }

    #[test]
    fn names_of_what_is_there_are_fine() {
        let text = "See `scenarios/ring.toml`, `crates/units/`, `10 Mbit/s`, `a/b` and `make test`.\n\
                    ```sh\nshortflow compare scenarios/ring.toml --out results/x\n```\n\
                    ```toml\npolicy = \"scenarios/mine.toml\"\n```\n";
        assert_eq!(findings("README.md", text), [""; 0]);
        assert_eq!(findings("docs/tour.md", "`tour/step.toml`"), [""; 0]);
    }

    #[test]
    fn a_path_or_a_target_that_is_not_there_is_found_in_text_and_in_commands() {
        let text = "See `crates/units/src/file.rs` and `make tests`.\n\n\
                    ```sh\nshortflow check scenarios/ring.toml,scenarios/rink.toml\n```\n";
        assert_eq!(
            findings("README.md", text),
            [
                "README.md:1: `crates/units/src/file.rs` is not there; name what is, or take it out",
                "README.md:1: `make tests` is not there; name a target of the Makefile",
                "README.md:4: `scenarios/rink.toml` is not there; name what is, or take it out",
            ]
        );
    }

    #[test]
    fn decisions_and_the_changelog_may_name_what_was() {
        assert_eq!(findings("docs/adr/0001-old.md", "`crates/gone/`"), [""; 0]);
        assert_eq!(findings("CHANGELOG.md", "`crates/gone/`"), [""; 0]);
    }

    #[test]
    fn a_wrong_count_is_found_and_a_small_one_is_taken_for_some() {
        let found =
            "README.md:1: \"six scenarios\", where there are 1; count again, or do not count";
        assert_eq!(findings("README.md", "- Examples: six scenarios that run"), [found]);
        assert_eq!(findings("README.md", "the intervals of two policies overlap"), [""; 0]);
        assert_eq!(findings("docs/x.md", "four crates"), [""; 0], "of what, is not known here");
    }
}
