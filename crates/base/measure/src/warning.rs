//! Warnings that a reader must know before trusting results.
//!
//! The code that finds one adds it to the summary of its point ([`Summary::warnings`](crate::Summary)). From there it
//! appears on the terminal, on the page, in `--json`, `summary.json`, `manifest.toml` and `warnings.csv`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cases::values_label;
use crate::engines::done_by;
use crate::results::Run;

/// A warning about results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Warning {
    /// What kind of doubt it raises, for machines.
    pub kind: WarningKind,
    /// What was found, in a sentence.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Where in the input, if it is about a line of that.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// What kind of doubt a warning raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The policy or the scenario has something doubtful, such as a role that is bound nowhere.
    Input,
    /// The engine says it of its own run: an assumption, or what the machine could not do.
    Engine,
    /// Open transfers grow: figures depend on how long the run lasts.
    UnsettledLoad,
    /// Transfers were still open at the end.
    Unfinished,
    /// TCP gave transfers up.
    GivenUp,
    /// The machine was too slow for real time.
    Late,
    /// The run was interrupted; some replicas are missing.
    Interrupted,
    /// This point of a sweep failed.
    Failed,
    /// This point was stopped: it took too long, or the machine failed. It might succeed another time.
    Stopped,
    /// All replicas are the same run: nothing in it is random.
    IdenticalReplicas,
    /// A workload got nothing through.
    Starved,
    /// A workload sent nothing after the warm-up.
    Unmeasured,
    /// A figure rests on fewer replicas than were run.
    PartialSample,
    /// A class of the policy matched no packet.
    UnmatchedClass,
    /// What the engine's model assumes or does not use: a note, and no doubt about this run.
    Model,
}

/// A file of the input, or a place in it; line and column begin at 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// The line; absent if it concerns the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column, in characters; absent if it concerns the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl WarningKind {
    /// Whether figures are missing, or are not what their names say, without what it tells.
    pub fn is_grave(self) -> bool {
        match self {
            WarningKind::Input
            | WarningKind::Late
            | WarningKind::Interrupted
            | WarningKind::Failed
            | WarningKind::Stopped
            | WarningKind::IdenticalReplicas
            | WarningKind::Starved
            | WarningKind::Unmeasured
            | WarningKind::PartialSample
            | WarningKind::UnmatchedClass => true,
            WarningKind::Engine
            | WarningKind::UnsettledLoad
            | WarningKind::Unfinished
            | WarningKind::GivenUp
            | WarningKind::Model => false,
        }
    }

    /// Whether it is a note: good to know, and no reason to doubt the figures.
    pub fn is_note(self) -> bool {
        self == WarningKind::Model
    }
}

/// A warning with the points and runs that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopedWarning {
    /// The points and runs, as in `0.4, RED`; empty where it is about all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The warning.
    #[serde(flatten)]
    pub warning: Warning,
}

impl Warning {
    /// A warning without help and place.
    pub fn new(kind: WarningKind, message: impl Into<String>) -> Warning {
        Warning { kind, message: message.into(), help: None, place: None }
    }

    /// What an engine says of its own run, sentence by sentence.
    pub fn all(messages: Vec<String>) -> Vec<Warning> {
        messages.into_iter().map(Warning::from).collect()
    }

    /// Notes on the model of an engine.
    pub fn notes(messages: Vec<String>) -> Vec<Warning> {
        messages.into_iter().map(|message| Warning::new(WarningKind::Model, message)).collect()
    }

    /// The same with what to do.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Warning {
        Warning { help: Some(help.into()), ..self }
    }
}

impl From<String> for Warning {
    /// What an engine says of its own run.
    fn from(message: String) -> Self {
        Warning::new(WarningKind::Engine, message)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(Place { file, line, column }) = &self.place {
            let [line, column] =
                [line, column].map(|at| at.map_or(String::new(), |at| format!(":{at}")));
            write!(f, " ({file}{line}{column})")?;
        }
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl fmt::Display for ScopedWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.about.is_empty() {
            true => self.warning.fmt(f),
            false => write!(f, "{}: {}", self.about, self.warning),
        }
    }
}

/// Every warning of these runs once, notes last, with the points and runs that it is about where there are several.
/// One that is about all that an engine did has its name at most.
pub fn warnings(runs: &[Run]) -> Vec<ScopedWarning> {
    let points = runs.iter().map(|run| run.points.len()).max().unwrap_or(0);
    let cases = (0..points)
        .flat_map(|at| runs.iter().filter_map(move |run| Some((run, at, run.points.get(at)?))));
    let mut all: Vec<(&Warning, &str, Vec<String>)> = Vec::new();
    for (run, at, point) in cases {
        let point_name = (points > 1).then(|| values_label(&point.settings, at));
        let run_name = (runs.len() > 1).then(|| run.label.clone());
        let of = point_name.into_iter().chain(run_name).collect::<Vec<_>>().join(", ");
        let engine = run.manifest.engine.as_str();
        for warning in &point.summary.warnings {
            match all.iter_mut().find(|(said, by, _)| *said == warning && *by == engine) {
                Some((_, _, about)) => about.push(of.clone()),
                None => all.push((warning, engine, vec![of.clone()])),
            }
        }
    }
    let engines: Vec<&str> = runs.iter().map(|run| run.manifest.engine.as_str()).collect();
    let are_several = engines.iter().any(|engine| *engine != engines[0]);
    let done = |engine: &str| {
        let of = runs.iter().filter(|run| run.manifest.engine == engine);
        of.map(|run| run.points.len()).sum::<usize>()
    };
    let scoped = |(warning, engine, about): (&Warning, &str, Vec<String>)| {
        let about = match about.len() == done(engine) && about.len() > 1 {
            true if are_several => done_by(engine),
            true => String::new(),
            false => about.join("; "),
        };
        ScopedWarning { about, warning: warning.clone() }
    };
    let mut all: Vec<ScopedWarning> = all.into_iter().map(scoped).collect();
    all.sort_by_key(|one| one.warning.kind.is_note());
    all
}

/// Earlier versions wrote the message only.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Message(String),
    Whole {
        kind: WarningKind,
        message: String,
        help: Option<String>,
        file: Option<String>,
        line: Option<usize>,
        column: Option<usize>,
    },
}

impl From<Stored> for Warning {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Message(message) => Warning::from(message),
            Stored::Whole { kind, message, help, file, line, column } => {
                let place = file.map(|file| Place { file, line, column });
                Warning { kind, message, help, place }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_reads_back_as_it_was_written_and_so_does_one_of_an_earlier_version() {
        let place = Place { file: "a.toml".to_owned(), line: Some(3), column: Some(7) };
        let whole = Place { line: None, column: None, ..place.clone() };
        let whole = Warning { place: Some(whole), ..Warning::new(WarningKind::Input, "a limit") };
        let plain = Warning::new(WarningKind::UnsettledLoad, "open transfers grow");
        let input = Warning { place: Some(place), ..Warning::new(WarningKind::Input, "a role") };
        let input = input.with_help("bind it");
        for warning in [&plain, &input, &whole] {
            let text = serde_json::to_string(warning).unwrap();
            assert_eq!(serde_json::from_str::<Warning>(&text).unwrap(), *warning, "{text}");
        }
        assert_eq!(input.to_string(), "a role (a.toml:3:7); bind it");
        assert_eq!(whole.to_string(), "a limit (a.toml)");
        let scoped = ScopedWarning { about: "0.4, RED".to_owned(), warning: input };
        let text = toml::to_string(&scoped).unwrap();
        assert_eq!(toml::from_str::<ScopedWarning>(&text).unwrap(), scoped, "{text}");
        let earlier: Warning = serde_json::from_str("\"open transfers grow\"").unwrap();
        assert_eq!(earlier.message, plain.message);
    }
}
