//! Links between the documents, and the list of decisions.

use super::{Finding, Tree};

const DECISIONS: &str = "docs/adr/";

/// Finds relative links that lead nowhere, and decisions that their list does not link to.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut linked = Vec::new();
    for (path, text) in tree.texts_with("md") {
        for (line, target) in links(text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.to_owned() } else { resolve(path, file) };
            if !tree.has_file(&file) && !tree.has_folder(file.trim_end_matches('/')) {
                let found = format!("the link to `{target}` leads to `{file}`, which is not there");
                findings.push(Finding::new(path, line, found, "mend or remove the link"));
            } else if !heading.is_empty() && !has_heading(tree, &file, heading) {
                let found = format!("the link to `{target}` names no heading of `{file}`");
                findings.push(Finding::new(path, line, found, "mend or remove the link"));
            }
            if path == format!("{DECISIONS}README.md") {
                linked.push(file);
            }
        }
    }
    for (path, _) in tree.texts_with("md") {
        let name = path.strip_prefix(DECISIONS).unwrap_or("README.md");
        if name != "README.md" && !linked.iter().any(|file| file == path) {
            let found = "this decision is not in the list";
            let remedy = format!("link it from {DECISIONS}README.md");
            findings.push(Finding::new(path, 1, found, remedy));
        }
    }
    findings
}

/// The relative targets of inline links, with their lines; code is no link.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        for (at, _) in line.match_indices("](") {
            let in_code = line[..at].matches('`').count() % 2 == 1;
            let target = line[at + 2..].split([')', ' ']).next().unwrap_or("");
            let is_address = target.contains("://") || target.starts_with("mailto:");
            if !in_code && !is_address && !target.is_empty() {
                links.push((number, target));
            }
        }
    }
    links
}

/// The lines outside fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// The path that `target` means in the document at `from`.
fn resolve(from: &str, target: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in target.split('/') {
        match name {
            "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Whether `file` has a heading whose anchor, made as GitHub makes it, is `anchor`.
fn has_heading(tree: &Tree, file: &str, anchor: &str) -> bool {
    let text = tree.text(file).unwrap_or("");
    prose(text).any(|(_, line)| {
        let title = line.trim_start_matches('#');
        title.len() < line.len() && slug(title.trim()) == anchor
    })
}

fn slug(title: &str) -> String {
    title
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .flat_map(char::to_lowercase)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    #[test]
    fn a_link_is_resolved_from_the_folder_of_its_document() {
        let guide = "[up](../README.md), [here](./other.md#two-words), [folder](../docs/)\n";
        let other = "## Two words!\n";
        let files = [("README.md", "# Top\n"), ("docs/guide.md", guide), ("docs/other.md", other)];
        assert_eq!(read(check, &files), [""; 0]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found_at_its_line() {
        let text = "# A\n\n[gone](docs/gone.md) [heading](#b)\n";
        assert_eq!(
            read(check, &[("README.md", text)]),
            [
                "README.md:3: the link to `docs/gone.md` leads to `docs/gone.md`, \
                 which is not there; mend or remove the link",
                "README.md:3: the link to `#b` names no heading of `README.md`; \
                 mend or remove the link",
            ]
        );
    }

    #[test]
    fn code_and_addresses_are_not_looked_up() {
        let text = "`[a](b)` [c](https://example.org/x)\n```text\n[d](e)\n```\n";
        assert_eq!(read(check, &[("README.md", text)]), [""; 0]);
    }

    #[test]
    fn a_decision_that_the_list_lacks_is_found() {
        let list = "[1](0001-time.md)\n";
        let files = [
            ("docs/adr/README.md", list),
            ("docs/adr/0001-time.md", ""),
            ("docs/adr/0002-queue.md", ""),
        ];
        assert_eq!(
            read(check, &files),
            ["docs/adr/0002-queue.md:1: this decision is not in the list; \
              link it from docs/adr/README.md"]
        );
    }
}
