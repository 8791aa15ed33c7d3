//! Repositories of texts.

use std::path::{Path, PathBuf};

use shortflow_agent::{Bundle, FLEET, Fleet};

/// The policies that come with the program.
pub(crate) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policies")
}

/// A repository of this fleet, with all shipped policies below `policies` and what is given more.
pub(crate) fn bundle(fleet: &str, more: &[(&str, &str)]) -> Bundle {
    let shipped = std::fs::read_dir(shipped()).unwrap().map(|entry| entry.unwrap().path());
    let policies = shipped.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let policies = policies.map(|path| {
        let name = format!("policies/{}", path.file_name().unwrap().to_str().unwrap());
        (name, std::fs::read_to_string(path).unwrap())
    });
    let more = more.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Bundle::new(policies.chain(more).chain([(FLEET.to_owned(), fleet.to_owned())]))
}

/// The fleet of this text, which has no mistake.
pub(crate) fn fleet(text: &str) -> Fleet {
    Fleet::check(&bundle(text, &[])).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}
