//! What a person reads who has made a mistake in a fleet: each file of `tests/bad` beside its message.
//!
//! `BLESS=1 cargo test -p shortflow-agent` rewrites the messages; read them before you commit. A file whose name
//! begins with `warn-` is allowed, and its message is a warning.

use std::path::{Path, PathBuf};

use shortflow_agent::Fleet;

use crate::support::bundle;

/// A policy with a mistake, which fleets may name.
const BROKEN: &str = "name = \"Broken\"\n\n[roles.core]\nqueue.fifo = { limit = \"100 apples\" }\n";

/// A policy that matches labels, which fleets may name.
const LABELLED: &str = "name = \"Labelled\"\n\n[[roles.host.classes]]\nname = \"shell\"\nmatch.label = \"shell\"\n\
                        marker.tcp-state = { high = 8, medium = 16 }\n\n[[roles.host.classes]]\nname = \"rest\"\n\
                        marker.tcp-state = { high = 4, medium = 8 }\n";

/// A policy with more rules than the kernel takes instructions.
fn large() -> String {
    let prefixes = (0..1500).map(|at| format!("\"10.0.{}.{}\"", at / 256, at % 256));
    let prefixes = prefixes.collect::<Vec<_>>().join(", ");
    let band = |keys: &str| {
        format!("[[roles.core.queue.strict-priority.bands]]\n{keys}queue.fifo.limit = \"20 pkt\"\n")
    };
    format!("name = \"Large\"\n{}{}", band(&format!("match.src = [{prefixes}]\n")), band(""))
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == "toml"));
    files.sort();
    files
}

fn message(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let large = large();
    let more = [
        ("policies/broken.toml", BROKEN),
        ("policies/labelled.toml", LABELLED),
        ("policies/large.toml", &large),
    ];
    let (found, kind) = match Fleet::check(&bundle(&text, &more)) {
        Ok(fleet) => (fleet.warnings, "warn-"),
        Err(mistakes) => (mistakes, ""),
    };
    assert!(!found.is_empty(), "{name} is not bad");
    assert!(name.starts_with(kind), "{name} stops nothing, so its name must begin with `warn-`");
    format!("{found}\n")
}

#[test]
fn every_mistake_in_a_fleet_has_the_message_beside_it() {
    let mut differ = Vec::new();
    for path in files() {
        let (found, golden) = (message(&path), path.with_extension("txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            differ.push(format!("{}\nexpected:\n{expected}\nfound:\n{found}", path.display()));
        }
    }
    assert!(differ.is_empty(), "{}\nBLESS=1 rewrites them", differ.join("\n"));
}
