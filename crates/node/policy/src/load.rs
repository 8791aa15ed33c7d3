//! Turns the text of a policy into a checked policy.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::check::check;
use crate::file::PolicyFile;
use crate::model::Policy;
use crate::of_plans::PolicyText;
use shortflow_text::{Diagnostic, Diagnostics, Document, FormatKeys, InputFiles, MAX_TEXT};
use shortflow_text::{Override, Source, name_of, reason};

/// Reads and checks the policy file at `path`, or plans of customers, with `overrides` whose keys are relative to it.
///
/// # Errors
/// If the file cannot be read or is not a valid policy.
pub fn load(path: &Path, overrides: &[Override]) -> Result<Policy, Diagnostics> {
    load_from(&InputFiles::default(), path, overrides)
}

/// As [`load`], but reads through `files`, which reads each file once.
///
/// # Errors
/// As for [`load`].
pub fn load_from(
    files: &InputFiles,
    path: &Path,
    overrides: &[Override],
) -> Result<Policy, Diagnostics> {
    let name = name_of(path);
    match files.read(path, MAX_TEXT) {
        Ok(text) => {
            let read = |path: &Path| files.read(path, MAX_TEXT);
            let PolicyText { text, warnings } = PolicyText::new(path, text, &read)?;
            let mut policy = from_text(&name, &text, overrides)?;
            policy.warnings.0.splice(..0, warnings.0);
            Ok(policy)
        }
        Err(error) => {
            let message = format!("cannot read {name}: {}", reason(&error));
            Err(Diagnostics::one(Diagnostic::of_whole(&name, message, None)))
        }
    }
}

/// Checks the policy `text`. Messages call it `name`.
///
/// # Errors
/// If it is not a valid policy.
pub fn from_text(name: &str, text: &str, overrides: &[Override]) -> Result<Policy, Diagnostics> {
    let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
    let mut document = Document::parse(source, overrides)?;
    let file: PolicyFile = document.read()?;
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    check(&mut document, file, stem.unwrap_or_default())
}

/// The JSON Schema of policy files.
pub fn schema() -> schemars::Schema {
    shortflow_text::schema::<PolicyFile>()
}

/// The keys of policy files, by table. Tables of schemes are `queue.fifo`, `marker.dstf` and so on.
pub fn format_keys() -> &'static FormatKeys {
    static KEYS: LazyLock<FormatKeys> =
        LazyLock::new(|| FormatKeys::new::<PolicyFile>("policy", TABLES));
    &KEYS
}

const TABLES: &[(&str, &str)] = &[
    ("Role", "role"),
    ("Class", "class"),
    ("Match", "match"),
    ("Police", "police"),
    ("PerSettings", "per"),
    ("MarkerKeys", "marker."),
    ("QueueKeys", "queue."),
];
