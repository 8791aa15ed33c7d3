//! What a person reads who has made a mistake in a policy: each file of `tests/bad` beside its
//! message.
//!
//! `BLESS=1 cargo test -p shortflow-policy` rewrites the messages; read them before you commit. A
//! file whose name begins with `warn-` is allowed, and its message is a warning.

use std::path::{Path, PathBuf};

use shortflow_policy::from_text;

fn files(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

fn message(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let (found, kind) = match from_text(name, &text, &[]) {
        Ok(policy) => (policy.warnings, "warn-"),
        Err(mistakes) => (mistakes, ""),
    };
    assert!(!found.is_empty(), "{name} is not bad");
    assert!(name.starts_with(kind), "{name} stops nothing, so its name must begin with `warn-`");
    format!("{found}\n")
}

#[test]
fn every_mistake_has_the_message_beside_it() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut differ = Vec::new();
    for path in files("toml") {
        let found = message(&path);
        let golden = path.with_extension("txt");
        if bless {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            let name = path.file_name().unwrap().to_str().unwrap();
            differ.push(format!("{name}\nexpected:\n{expected}\nfound:\n{found}"));
        }
    }
    assert!(differ.is_empty(), "{}\nBLESS=1 rewrites them", differ.join("\n"));
}

#[test]
fn every_message_belongs_to_a_mistake_and_names_its_file() {
    for path in files("txt") {
        assert!(path.with_extension("toml").exists(), "{}", path.display());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("error: ") || text.starts_with("warning: "), "{text}");
        assert!(text.contains("--> "), "{text}");
    }
}
