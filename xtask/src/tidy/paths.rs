//! No file may know the machine that it was written on.

use super::{Finding, Tree};

/// Top-level folders of people's machines.
const FOLDERS: [&str; 3] = ["home", "root", "Users"];

/// Finds absolute paths into someone's folders.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            if let Some(found) = machine_path(line) {
                findings.push(Finding::new(
                    path,
                    index + 1,
                    format!("`{found}` is a path on one machine"),
                    "name it relative to the repository",
                ));
            }
        }
    }
    findings
}

fn machine_path(line: &str) -> Option<&str> {
    line.match_indices('/').find_map(|(at, _)| {
        let is_absolute =
            !line[..at].ends_with(|c: char| c.is_alphanumeric() || ".-_/~*$}".contains(c));
        let (folder, rest) = line[at + 1..].split_once('/')?;
        let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '.');
        if !is_absolute || !goes_on || !FOLDERS.contains(&folder) {
            return None;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "./_-".contains(c)));
        let length = folder.len() + 2 + end.unwrap_or(rest.len());
        Some(&line[at..at + length])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    #[test]
    fn a_path_into_a_home_folder_is_found() {
        let line = format!("see \"{}/me/results\", there", "/home");
        let expected = format!(
            "a.md:1: `{}/me/results` is a path on one machine; name it relative to the repository",
            "/home"
        );
        assert_eq!(read(check, &[("a.md", &line)]), [expected]);
    }

    #[test]
    fn a_relative_path_an_address_and_a_bare_word_are_not() {
        let lines = "crates/home/src\nhttps://example.org/home/page\n~/home/x\nwork/home, /home\n";
        assert_eq!(read(check, &[("a.md", lines)]), [""; 0]);
    }
}
