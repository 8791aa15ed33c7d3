//! Determines whether a file is a policy or a scenario, before it is read as one.

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
}

impl FileKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Policy => "policy",
            FileKind::Scenario => "scenario",
        }
    }

    /// Distinguishes policies and scenarios by the tables that only one of them has. A file that cannot be
    /// read counts as a scenario; reading it then reports the error.
    pub fn detect(inputs: &InputFiles, path: &Path) -> Result<FileKind, Diagnostics> {
        const OF_POLICY: [&str; 2] = ["roles", "code_points"];
        const OF_SCENARIO: [&str; 9] = [
            "hosts",
            "routers",
            "links",
            "workloads",
            "bind",
            "tcp",
            "measure",
            "duration",
            "policy",
        ];
        let Ok(text) = inputs.read(path, MAX_TEXT) else { return Ok(FileKind::Scenario) };
        let source = Arc::new(Source { name: name_of(path), text });
        let document = Document::parse(source.clone(), &[])?;
        let names = document.names_in("");
        let has = |of: &[&str]| names.iter().filter(|name| of.contains(&name.as_str())).count();
        match (has(&OF_POLICY), has(&OF_SCENARIO)) {
            (0, 0) => {
                let message = format!("{} is neither a policy nor a scenario", source.name);
                let help = "a policy has [roles]; a scenario has [hosts], [links] and [workloads]";
                let found = Diagnostic::of_whole(&source.name, message, Some(help.to_owned()));
                Err(Diagnostics::one(found))
            }
            (policy, scenario) if policy > scenario => Ok(FileKind::Policy),
            _ => Ok(FileKind::Scenario),
        }
    }
}
