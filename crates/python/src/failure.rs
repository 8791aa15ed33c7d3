//! Failures as exceptions of `shortflow`.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use shortflow_measure::results;
use shortflow_run::{self as run, DifferentPoints, OutputError, TooLarge};
use shortflow_scenario::FileKind;
use shortflow_shipped::wrong_file::WrongFile;
use shortflow_study as study;
use shortflow_text::{Diagnostic, Diagnostics, InputFiles};
use shortflow_tune::{ChoiceError, OptionError};

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A policy or scenario has mistakes.
    Mistakes(Diagnostics),
    /// Something else about the arguments is wrong: what, and what to do.
    Input(String),
    /// The machine lacks something: what, and what to do.
    Machine(String),
    /// Another thread stopped the run.
    Interrupted,
    /// An exception of Python, such as `KeyboardInterrupt`.
    Raised(PyErr),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| match failure {
            Failure::Raised(error) => error,
            Failure::Mistakes(found) => {
                let (text, kind) = (found.to_string(), found.0.first().and_then(kind));
                let findings = findings(py, &found);
                findings.map_or_else(|e| e, |all| error(py, "from_findings", (kind, text, all)))
            }
            Failure::Input(what) => error(py, "InputError", (what,)),
            Failure::Machine(what) => error(py, "MachineError", (what,)),
            Failure::Interrupted => error(py, "Interrupted", ("interrupted",)),
        })
    }
}

/// The exception that a name in `shortflow._errors` makes.
fn error<'py, A>(py: Python<'py>, name: &str, args: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let made = py.import("shortflow._errors").and_then(|errors| errors.getattr(name)?.call1(args));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The kind of the text that a finding is about, if the text shows it.
fn kind(found: &Diagnostic) -> Option<&'static str> {
    let (inputs, path) = (InputFiles::default(), Path::new(found.file()));
    inputs.give(path, &found.source.text);
    FileKind::detect(&inputs, path).ok().map(FileKind::name)
}

/// Findings as dictionaries.
pub(crate) fn findings<'py>(
    py: Python<'py>,
    found: &Diagnostics,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    found.0.iter().map(|one| finding(py, one)).collect()
}

/// A finding with its place; a finding about the whole text has no line.
fn finding<'py>(py: Python<'py>, found: &Diagnostic) -> PyResult<Bound<'py, PyDict>> {
    let is_placed = found.span != (0..0);
    let dict = PyDict::new(py);
    dict.set_item("file", found.file())?;
    dict.set_item("line", is_placed.then(|| found.line()))?;
    dict.set_item("column", is_placed.then(|| found.column()))?;
    dict.set_item("message", &found.message)?;
    dict.set_item("found", is_placed.then(|| &found.source.text[found.span.clone()]))?;
    dict.set_item("label", &found.label)?;
    dict.set_item("help", &found.help)?;
    Ok(dict)
}

impl From<Diagnostics> for Failure {
    fn from(found: Diagnostics) -> Self {
        Failure::Mistakes(found)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Raised(error)
    }
}

impl From<WrongFile> for Failure {
    fn from(wrong: WrongFile) -> Self {
        Failure::Mistakes(wrong.into())
    }
}

/// Errors that are always in the input.
macro_rules! of_input {
    ($($error:ty)*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Input(error.to_string())
            }
        })*
    };
}

of_input! { DifferentPoints OptionError }

impl From<ChoiceError> for Failure {
    fn from(error: ChoiceError) -> Self {
        match error {
            ChoiceError::File(wrong) => wrong.into(),
            ChoiceError::Name(error) => error.into(),
        }
    }
}

impl From<study::Error> for Failure {
    fn from(error: study::Error) -> Self {
        match error {
            study::Error::Mistakes(found) => found.into(),
            study::Error::Results(error) => error.into(),
            study::Error::Replica(error) => error.into(),
            other => Failure::Input(other.to_string()),
        }
    }
}

impl From<TooLarge> for Failure {
    fn from(refused: TooLarge) -> Self {
        match refused.of_machine {
            true => Failure::Machine(refused.message),
            false => Failure::Input(refused.message),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Results(error) => error.into(),
            OutputError::Foreign { .. } | OutputError::OtherRun(_) => {
                Failure::Input(format!("{error}\nchoose another folder, or write with force=True"))
            }
            OutputError::Busy(_) | OutputError::Link { .. } => {
                Failure::Input(format!("{error}\nchoose another folder"))
            }
        }
    }
}

impl From<results::Error> for Failure {
    fn from(error: results::Error) -> Self {
        match &error {
            results::Error::Malformed { .. } => Failure::Input(error.to_string()),
            results::Error::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound
                | std::io::ErrorKind::AlreadyExists
                | std::io::ErrorKind::NotADirectory
                | std::io::ErrorKind::IsADirectory => Failure::Input(error.to_string()),
                _ => Failure::Machine(error.to_string()),
            },
        }
    }
}

impl From<run::Error> for Failure {
    fn from(error: run::Error) -> Self {
        match error {
            run::Error::Interrupted => Failure::Interrupted,
            run::Error::Refused(refusal) => Failure::Input(refusal.to_string()),
            run::Error::Machine(what) | run::Error::TimeLimit(what) => Failure::Machine(what),
            run::Error::Results(error) | run::Error::Trace(error) => error.into(),
        }
    }
}
