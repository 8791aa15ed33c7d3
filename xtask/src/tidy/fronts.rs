//! The front page of each crate says what the crate does not know.

use super::crates::place;
use super::{Finding, Tree};

/// The heading over what a crate does not know.
const HEADING: &str = "//! # What this crate does not know";

/// Finds crates whose front page lacks the heading, or has nothing below it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let fronts = tree.texts_with("rs").filter(|(path, _)| is_front_page(path));
    fronts
        .filter(|(_, text)| !has_paragraph(text))
        .map(|(path, _)| {
            Finding::new(
                path,
                1,
                "the front page does not say what this crate does not know",
                format!("write a paragraph under `{HEADING}`"),
            )
        })
        .collect()
}

fn is_front_page(path: &str) -> bool {
    place(path).is_some_and(|place| place.inside == "src/lib.rs")
}

fn has_paragraph(text: &str) -> bool {
    let below = text.lines().skip_while(|line| *line != HEADING).skip(1);
    below.take_while(|line| line.starts_with("//!")).any(|line| line.len() > "//! ".len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    #[test]
    fn a_front_page_without_the_paragraph_is_found() {
        let finding = "crates/a/src/lib.rs:1: the front page does not say what this crate does not \
                       know; write a paragraph under `//! # What this crate does not know`";
        let without = "//! A crate.\n\nmod a;\n";
        assert_eq!(read(check, &[("crates/a/src/lib.rs", without)]), [finding]);
        let empty = format!("//! A crate.\n//!\n{HEADING}\n//!\n\nmod a;\n");
        assert_eq!(read(check, &[("crates/a/src/lib.rs", &empty)]), [finding]);
    }

    #[test]
    fn one_with_it_and_other_files_are_not() {
        let with = format!("//! A crate.\n//!\n{HEADING}\n//!\n//! Files.\n\nmod a;\n");
        let files = [("crates/a/src/lib.rs", with.as_str()), ("crates/a/src/b.rs", "//! B.\n")];
        assert_eq!(read(check, &files), [""; 0]);
    }
}
