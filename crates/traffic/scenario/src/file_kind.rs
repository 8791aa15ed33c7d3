//! Determines whether a file is a policy, a scenario or a fleet, before it is read as one.

use std::path::Path;
use std::sync::Arc;

use shortflow_text::{Diagnostic, Diagnostics, Document, InputFiles, MAX_TEXT, Source, name_of};

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A policy.
    Policy,
    /// A scenario.
    Scenario,
    /// A fleet: it assigns policies to the devices of machines.
    Fleet,
    /// Plans of customers, which share sites.
    Plans,
}

/// The tables and keys that only one kind has.
const MARKS: [(FileKind, &[&str]); 4] = [
    (
        FileKind::Scenario,
        &["hosts", "routers", "links", "workloads", "bind", "tcp", "measure", "duration", "policy"],
    ),
    (FileKind::Policy, &["roles", "code_points"]),
    (FileKind::Fleet, &["machines", "assign", "rollout"]),
    (FileKind::Plans, shortflow_plans::KEYS),
];

impl FileKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Policy => "policy",
            FileKind::Scenario => "scenario",
            FileKind::Fleet => "fleet",
            FileKind::Plans => "plans",
        }
    }

    /// As a noun, behind "a".
    pub fn noun(self) -> &'static str {
        match self {
            FileKind::Plans => "file of plans",
            other => other.name(),
        }
    }

    /// Distinguishes files by the tables that only one kind has. A file that cannot be read counts as a scenario;
    /// reading it then reports the error.
    ///
    /// # Errors
    /// If the file is not TOML, or has no table of any kind.
    pub fn detect(inputs: &InputFiles, path: &Path) -> Result<FileKind, Diagnostics> {
        let Ok(text) = inputs.read(path, MAX_TEXT) else { return Ok(FileKind::Scenario) };
        let source = Arc::new(Source { name: name_of(path), text });
        let document = Document::parse(source.clone(), &[])?;
        let names = document.names_in("");
        let count = |of: &[&str]| names.iter().filter(|name| of.contains(&name.as_str())).count();
        let mut best = (FileKind::Scenario, 0);
        for (kind, of) in MARKS {
            if count(of) > best.1 {
                best = (kind, count(of));
            }
        }
        if best.1 > 0 {
            return Ok(best.0);
        }
        let message = format!("{} is neither a policy nor a scenario", source.name);
        let help = "a policy has [roles]; a scenario has [hosts], [links] and [workloads]; plans have [line]";
        let found = Diagnostic::of_whole(&source.name, message, Some(help.to_owned()));
        Err(Diagnostics::one(found))
    }
}
