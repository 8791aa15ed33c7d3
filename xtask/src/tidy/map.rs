//! The map in `ARCHITECTURE.md` against the folders that there are.
//!
//! The block `map` is an indented tree, one file or folder per line; a folder ends in `/`.
//! Folders at the top, crates, and folders of modules must all be on it.

use std::collections::BTreeSet;

use super::crates::is_part;
use super::edges::{ARCHITECTURE, block};
use super::{Finding, Tree};

/// Finds what is on the map but not there, and what is there but not on the map.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(ARCHITECTURE) else { return Vec::new() };
    let entries = entries(text);
    let mut findings = Vec::new();
    for (line, entry) in &entries {
        let exists = match entry.strip_suffix('/') {
            Some(folder) => tree.has_folder(folder),
            None => tree.has_file(entry),
        };
        if !exists {
            let found = format!("`{entry}` is on the map but not there");
            findings.push(Finding::new(ARCHITECTURE, *line, found, "take it off the map"));
        }
    }
    for crate_name in block(text, "edges").into_iter().filter_map(|(line, entry)| {
        let name = entry.split(':').next()?;
        (!tree.crates().any(|(place, _)| place.name == name)).then_some((line, name))
    }) {
        let (line, name) = crate_name;
        let found = format!("`{name}` is no crate");
        findings.push(Finding::new(ARCHITECTURE, line, found, "take its edges out"));
    }
    let first = block(text, "map").first().map_or(1, |(line, _)| *line);
    let on_map: BTreeSet<&str> = entries.iter().map(|(_, entry)| entry.as_str()).collect();
    for folder in
        tree.files().iter().flat_map(|file| folders_to_show(&file.path)).collect::<BTreeSet<_>>()
    {
        if !on_map.contains(folder) {
            let found = format!("`{folder}` is not on the map");
            findings.push(Finding::new(
                ARCHITECTURE,
                first,
                found,
                "add it, and say what is in it",
            ));
        }
    }
    findings
}

/// The layers, lowest first: the folders directly below `crates/`.
pub(crate) fn layers(text: &str) -> impl Iterator<Item = String> {
    let below = |path: String| {
        let layer = path.strip_prefix("crates/")?.strip_suffix('/')?;
        (!layer.is_empty() && !layer.contains('/')).then(|| layer.to_owned())
    };
    entries(text).into_iter().filter_map(move |(_, path)| below(path))
}

/// The paths on the map, with their lines.
fn entries(text: &str) -> Vec<(usize, String)> {
    let mut entries: Vec<(usize, String)> = Vec::new();
    let mut parents: Vec<(usize, String)> = Vec::new();
    for (line, entry) in block(text, "map") {
        let indent = entry.len() - entry.trim_start().len();
        let name = entry.split_whitespace().next().unwrap_or("");
        parents.retain(|(its_indent, _)| *its_indent < indent);
        let parent = parents.last().map_or("", |(_, path)| path.as_str());
        let path = format!("{parent}{name}");
        if path.ends_with('/') {
            parents.push((indent, path.clone()));
        }
        entries.push((line, path));
    }
    entries
}

/// The folders above a file that the map must show.
fn folders_to_show(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..=at]).filter(|folder| {
        let names: Vec<&str> = folder.trim_end_matches('/').split('/').collect();
        match names[..] {
            [_] | ["crates", _] | ["crates", _, "src", _] | ["crates", _, _, "src", _] => true,
            ["crates", _, name] => !is_part(name),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const FILES: [(&str, &str); 3] = [
        ("crates/sim/Cargo.toml", ""),
        ("crates/sim/src/queue/fifo.rs", ""),
        ("docs/guide.md", ""),
    ];

    fn findings(map: &str) -> Vec<String> {
        read(check, &[&FILES[..], &[(ARCHITECTURE, map)]].concat())
    }

    #[test]
    fn a_map_that_shows_every_folder_is_fine() {
        let map = "```map\ncrates/\n  sim/  simulates\n    src/queue/\ndocs/\n  guide.md\n```\n";
        assert_eq!(findings(map), [""; 0]);
    }

    #[test]
    fn a_folder_that_is_gone_and_one_that_is_new_are_both_named() {
        let map = "```map\ncrates/\n  sim/\n  tcp/\n    src/queue/\ndocs/\n```\n";
        assert_eq!(
            findings(map),
            [
                "ARCHITECTURE.md:4: `crates/tcp/` is on the map but not there; take it off the map",
                "ARCHITECTURE.md:5: `crates/tcp/src/queue/` is on the map but not there; \
                 take it off the map",
                "ARCHITECTURE.md:2: `crates/sim/src/queue/` is not on the map; \
                 add it, and say what is in it",
            ]
        );
    }

    #[test]
    fn edges_of_a_crate_that_is_gone_are_found() {
        let map =
            "```map\ncrates/\n  sim/\n    src/queue/\ndocs/\n```\n```edges\nsim:\nweb: sim\n```\n";
        assert_eq!(findings(map), ["ARCHITECTURE.md:9: `web` is no crate; take its edges out"]);
    }
}
