//! Which crate may use which: the block `edges` of `ARCHITECTURE.md` against every `Cargo.toml`.
//!
//! The block has one line per crate, lowest first: `name: used crates; in tests: more of them`.
//! A crate may use only crates listed above it, so the arrows cannot form a ring.

use std::collections::BTreeMap;

use super::{Finding, Tree, map};

/// The file that holds the map and the allowed edges.
pub(crate) const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// How crates of this workspace are called in a `Cargo.toml`.
const PREFIX: &str = "shortflow-";

/// An edge from one crate to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    only_in_tests: bool,
}

/// Finds edges that are not allowed, not used, or that point upwards.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(ARCHITECTURE) else {
        return vec![Finding::new(ARCHITECTURE, 1, "there is no such file", "write the map")];
    };
    let mut findings = Vec::new();
    let allowed = allowed(text, &mut findings);
    let mut used = BTreeMap::new();
    for (place, manifest) in tree.crates() {
        for (line, edge) in edges_of(place.name, manifest) {
            used.insert(edge, (format!("{}/Cargo.toml", place.folder), line));
        }
    }
    for (edge, (path, line)) in &used {
        if !allowed.contains_key(edge) {
            let found = format!("`{}` uses `{}`{}", edge.from, edge.to, place(edge));
            let remedy = format!("move the code down, or allow the edge in {ARCHITECTURE}");
            findings.push(Finding::new(path, *line, found, remedy));
        }
    }
    findings.extend(used.iter().filter_map(|(edge, (path, line))| {
        let layer = |name: &str| {
            let place = tree.crates().map(|(place, _)| place).find(|place| place.name == name)?;
            Some((map::layers(text).position(|layer| layer == place.layer)?, place.layer))
        };
        let ((from, its_layer), (to, layer)) = (layer(&edge.from)?, layer(&edge.to)?);
        (from < to).then(|| {
            let found = format!("a crate of `{its_layer}` uses `{}` of `{layer}`", edge.to);
            let remedy = "a layer uses those listed above it on the map; move the code down";
            Finding::new(path, *line, found, remedy)
        })
    }));
    for (edge, line) in &allowed {
        if !used.contains_key(edge) {
            let found = format!("`{}` does not use `{}`{}", edge.from, edge.to, place(edge));
            findings.push(Finding::new(ARCHITECTURE, *line, found, "take the edge out"));
        }
    }
    findings
}

fn place(edge: &Edge) -> &'static str {
    if edge.only_in_tests { " in tests" } else { "" }
}

/// The allowed edges with their lines. An edge to a crate that is not listed above is a finding.
fn allowed(text: &str, findings: &mut Vec<Finding>) -> BTreeMap<Edge, usize> {
    let mut allowed = BTreeMap::new();
    let mut above: Vec<&str> = Vec::new();
    for (line, entry) in block(text, "edges") {
        let Some((from, targets)) = entry.split_once(':') else {
            let remedy = "write `crate: used crates; in tests: more of them`";
            findings.push(Finding::new(ARCHITECTURE, line, format!("`{entry}`"), remedy));
            continue;
        };
        let (targets, in_tests) = targets.split_once("; in tests:").unwrap_or((targets, ""));
        for (targets, only_in_tests) in [(targets, false), (in_tests, true)] {
            for to in targets.split_whitespace() {
                if !above.contains(&to) {
                    let found = format!("`{from}` may use `{to}`, which is not listed above it");
                    let remedy = "list the lower crate first; arrows point one way";
                    findings.push(Finding::new(ARCHITECTURE, line, found, remedy));
                }
                let (from, to) = (from.to_owned(), to.to_owned());
                allowed.insert(Edge { from, to, only_in_tests }, line);
            }
        }
        above.push(from);
    }
    allowed
}

/// The edges in the `Cargo.toml` of crate `name`, with their lines.
fn edges_of(name: &str, manifest: &str) -> Vec<(usize, Edge)> {
    let mut edges = Vec::new();
    let mut section = "";
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let mut key = line;
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            key = section.rsplit('.').next().unwrap_or(section);
        }
        if !section.contains("dependencies") {
            continue;
        }
        let to = key.trim_start_matches('"').strip_prefix(PREFIX).unwrap_or("");
        let to: String = to.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
        if !to.is_empty() {
            let only_in_tests = section.contains("dev-dependencies");
            edges.push((index + 1, Edge { from: name.to_owned(), to, only_in_tests }));
        }
    }
    edges
}

/// The lines of the fenced block called `name`, with their numbers; empty lines left out.
pub(crate) fn block<'a>(text: &'a str, name: &str) -> Vec<(usize, &'a str)> {
    let fence = format!("```{name}");
    text.lines()
        .enumerate()
        .skip_while(|(_, line)| *line != fence)
        .skip(1)
        .take_while(|(_, line)| *line != "```")
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| (index + 1, line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::read;

    const MAP: &str = "# Map\n```edges\nunits:\ntcp: units\nsim: tcp; in tests: units\n```\n";
    const TCP: &str = "[dependencies]\nshortflow-units.workspace = true\nserde = \"1\"\n";
    const SIM: &str = "[dependencies]\nshortflow-tcp = { path = \"../tcp\" }\n\
                       [dev-dependencies]\nshortflow-units.workspace = true\n";

    fn findings(map: &str, tcp: &str, sim: &str) -> Vec<String> {
        let files =
            [(ARCHITECTURE, map), ("crates/tcp/Cargo.toml", tcp), ("crates/sim/Cargo.toml", sim)];
        read(check, &files)
    }

    #[test]
    fn edges_that_agree_with_the_map_are_fine() {
        assert_eq!(findings(MAP, TCP, SIM), [""; 0]);
    }

    #[test]
    fn an_edge_that_the_map_lacks_is_named_at_its_line() {
        let tcp = format!("{TCP}[target.'cfg(unix)'.dependencies]\nshortflow-sim = \"1\"\n");
        assert_eq!(
            findings(MAP, &tcp, SIM),
            ["crates/tcp/Cargo.toml:5: `tcp` uses `sim`; \
              move the code down, or allow the edge in ARCHITECTURE.md"]
        );
    }

    #[test]
    fn an_edge_allowed_in_tests_is_not_allowed_outside_them() {
        let sim = SIM.replace("[dev-dependencies]\n", "");
        assert_eq!(
            findings(MAP, TCP, &sim),
            [
                "crates/sim/Cargo.toml:3: `sim` uses `units`; \
                 move the code down, or allow the edge in ARCHITECTURE.md",
                "ARCHITECTURE.md:5: `sim` does not use `units` in tests; take the edge out",
            ]
        );
    }

    #[test]
    fn an_edge_that_points_upwards_is_refused_in_the_map_itself() {
        let map = MAP.replace("units:", "units: tcp");
        assert_eq!(
            findings(&map, TCP, SIM)[0],
            "ARCHITECTURE.md:3: `units` may use `tcp`, which is not listed above it; \
             list the lower crate first; arrows point one way"
        );
    }

    #[test]
    fn a_layer_uses_only_the_layers_above_it_on_the_map() {
        let map = "```map\ncrates/\n  base/\n    units/\n  node/\n    tcp/\n```\n\
                   ```edges\ntcp:\nunits: tcp\n```\n";
        let units = "[dependencies]\nshortflow-tcp.workspace = true\n";
        let files = [
            (ARCHITECTURE, map),
            ("crates/base/units/Cargo.toml", units),
            ("crates/node/tcp/Cargo.toml", ""),
        ];
        assert_eq!(
            read(check, &files),
            ["crates/base/units/Cargo.toml:2: a crate of `base` uses `tcp` of `node`; \
              a layer uses those listed above it on the map; move the code down"]
        );
    }
}
