//! No crate builds a test program without tests: `cargo test` would compile the whole crate once more for each.

use super::{Finding, Tree};

/// A kind of test in `src`.
struct Kind {
    /// The key of `[lib]` that turns it off.
    key: &'static str,
    name: &'static str,
    /// Whether a file has one.
    is_in: fn(&str) -> bool,
}

const KINDS: [Kind; 2] = [
    Kind { key: "doctest", name: "examples", is_in: has_example },
    Kind { key: "test", name: "unit tests", is_in: has_unit_test },
];

/// Finds libraries with a kind of test turned off that they have, or left on that they lack.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, manifest) in tree.crates() {
        let source = format!("{}/src/", place.folder);
        if !tree.has_file(&format!("{source}lib.rs")) {
            continue;
        }
        let path = format!("{}/Cargo.toml", place.folder);
        for Kind { key, name, is_in } in KINDS {
            let files = tree.texts_with("rs").filter(|(path, _)| path.starts_with(&source));
            let (has_tests, line) =
                (files.map(|(_, text)| text).any(is_in), format!("{key} = false"));
            let off = manifest.lines().position(|it| it == line);
            match off {
                Some(at) if has_tests => findings.push(Finding::new(
                    &path,
                    at + 1,
                    format!("`{line}`, but the crate has {name}"),
                    "remove the line",
                )),
                None if !has_tests => findings.push(Finding::new(
                    &path,
                    1,
                    format!("the crate has no {name}"),
                    format!("write `{line}` under `[lib]`"),
                )),
                _ => {}
            }
        }
    }
    findings
}

fn has_unit_test(text: &str) -> bool {
    text.contains("#[cfg(test)]")
}

/// Whether the documentation has a block of Rust, which rustdoc compiles and runs.
fn has_example(text: &str) -> bool {
    let mut is_inside = false;
    for line in text.lines().map(str::trim_start) {
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let Some(language) = comment.and_then(|it| it.trim_start().strip_prefix("```")) else {
            continue;
        };
        if !is_inside && is_rust(language) {
            return true;
        }
        is_inside = !is_inside;
    }
    false
}

/// Whether rustdoc takes a block with these words after its fence for Rust.
fn is_rust(words: &str) -> bool {
    let first = words.split([',', ' ']).next().unwrap_or_default();
    ["", "rust", "no_run", "should_panic", "compile_fail", "ignore"].contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const EXAMPLE: &str = "//! A.\n//!\n//! ```\n//! a();\n//! ```\n";
    const OUTPUT: &str = "//! A.\n//!\n//! ```text\n//! a\n//! ```\n";
    const UNIT: &str = "#[cfg(test)]\nmod tests {}\n";

    fn findings(manifest: &str, source: &str) -> Vec<String> {
        read(check, &[("crates/a/Cargo.toml", manifest), ("crates/a/src/lib.rs", source)])
    }

    #[test]
    fn a_library_without_examples_or_unit_tests_turns_them_off() {
        assert_eq!(
            findings("", &(OUTPUT.to_owned() + UNIT)),
            [
                "crates/a/Cargo.toml:1: the crate has no examples; write `doctest = false` under `[lib]`"
            ]
        );
        assert_eq!(
            findings("", EXAMPLE),
            [
                "crates/a/Cargo.toml:1: the crate has no unit tests; write `test = false` under `[lib]`"
            ]
        );
        assert_eq!(findings("[lib]\ntest = false\ndoctest = false\n", OUTPUT), [""; 0]);
    }

    #[test]
    fn one_that_has_them_leaves_them_on() {
        assert_eq!(findings("", &(EXAMPLE.to_owned() + UNIT)), [""; 0]);
        assert_eq!(
            findings("[lib]\ndoctest = false\n", &(EXAMPLE.to_owned() + UNIT)),
            [
                "crates/a/Cargo.toml:2: `doctest = false`, but the crate has examples; remove the line"
            ]
        );
    }

    #[test]
    fn a_program_has_no_examples_to_turn_off() {
        let files = [("crates/a/Cargo.toml", ""), ("crates/a/src/main.rs", "//! A.\n")];
        assert_eq!(read(check, &files), [""; 0]);
    }
}
