//! Texts of policies and scenarios: reading, shipped ones, and keys that are set.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use shortflow_measure::results::write_atomically;
use shortflow_scenario::FileKind;
use shortflow_shipped::wrong_file::{self, Given};
use shortflow_shipped::{FILES, may_be_file, stem};
use shortflow_text::{Diagnostic, Diagnostics, InputFiles, MAX_TEXT};
use shortflow_tune::scenario_text;

use crate::failure::Failure;

/// The kind of a text.
pub(crate) fn given(kind: &str) -> Given {
    match kind {
        "policy" => Given::Policy,
        "scenario" => Given::Scenario { policies: "policy=" },
        _ => Given::Any,
    }
}

/// A name and its text.
type Named = (String, String);

/// The file at `path`, or the shipped file of this name: its name and its text.
#[pyfunction]
pub(crate) fn read(path: PathBuf, kind: &str) -> Result<Named, Failure> {
    let inputs = InputFiles::default();
    if !may_be_file(&path)
        && let Some((name, text)) = find(&path, kind)
    {
        return Ok((name.to_owned(), text.to_owned()));
    }
    wrong_file::refuse(&inputs, &path, given(kind))?;
    let text = inputs
        .read(&path, MAX_TEXT)
        .map_err(|error| Failure::Machine(format!("cannot read {}: {error}", path.display())))?;
    Ok((path.display().to_string(), text))
}

/// The shipped file of a kind by its name: `fq-codel`, `office`.
fn find(name: &Path, kind: &str) -> Option<(&'static str, &'static str)> {
    let name = name.to_str()?;
    let all = FILES.iter().filter(|(path, _)| path.ends_with(".toml"));
    let folder = if kind == "policy" { "policies/" } else { "scenarios/" };
    all.filter(|(path, _)| path.starts_with(folder))
        .find(|(path, _)| [*path, stem(path)].contains(&name))
        .copied()
}

/// The names of all shipped files of a kind.
#[pyfunction]
pub(crate) fn shipped(kind: &str) -> Vec<&'static str> {
    let folder = if kind == "policy" { "policies/" } else { "scenarios/" };
    let all = FILES.iter().filter(|(path, _)| path.starts_with(folder) && path.ends_with(".toml"));
    all.map(|(path, _)| stem(path)).collect()
}

/// A text of TOML with these keys set, and all else as it is, comments too.
#[pyfunction]
pub(crate) fn set_keys(
    name: &str,
    text: &str,
    set: Vec<(String, String)>,
) -> Result<String, Failure> {
    scenario_text(text, &set).map_err(|error| {
        let help = "use a key as in `--set`, such as `links.line.rate`";
        let found = Diagnostic::of_whole(name, error.to_string(), Some(help.to_owned()));
        Failure::Mistakes(Diagnostics::one(found))
    })
}

/// JSON as TOML.
#[pyfunction]
pub(crate) fn to_toml(json: &str) -> Result<String, Failure> {
    let value: toml::Value = serde_json::from_str(json)
        .map_err(|error| Failure::Input(format!("TOML has no such value: {error}")))?;
    toml::to_string_pretty(&value)
        .map_err(|error| Failure::Input(format!("TOML has no such value: {error}")))
}

/// The kind of a text: `policy` or `scenario`.
#[pyfunction]
pub(crate) fn kind(name: &str, text: &str) -> Result<&'static str, Failure> {
    let (inputs, path) = (InputFiles::default(), Path::new(name));
    inputs.give(path, text);
    wrong_file::refuse(&inputs, path, Given::Any)?;
    Ok(FileKind::detect(&inputs, path)?.name())
}

/// Writes a file: as a whole or not at all.
#[pyfunction]
pub(crate) fn write(py: Python<'_>, path: PathBuf, content: Content) -> Result<(), Failure> {
    let bytes = match &content {
        Content::Text(text) => text.as_bytes(),
        Content::Bytes(bytes) => bytes,
    };
    Ok(py.detach(|| write_atomically(&path, |file| file.write_all(bytes)))?)
}

/// The content of a file.
#[derive(FromPyObject)]
pub(crate) enum Content {
    Text(String),
    Bytes(Vec<u8>),
}
