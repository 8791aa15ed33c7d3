//! What a search chooses from: policies by their files or shipped names, and with which it compares.

use std::path::{Path, PathBuf};

use shortflow_scenario::Overrides;
use shortflow_shipped::wrong_file::{self, Given, POLICIES, WrongFile, what_a_scheme_is};
use shortflow_shipped::{self as shipped, Shipped};
use shortflow_text::{Diagnostics, InputFiles, suggestion};

use crate::candidates::{Candidate, CandidateFile, candidates};
use crate::option_error::OptionError;

/// The policies with which every winner is compared.
pub const REFERENCES: [&str; 2] = ["best-effort", "fq-codel"];

/// The ends of the labels of policies whose settings are not varied, and of those without the user's settings.
const AS_SET: &str = ", as set";
const AS_SHIPPED: &str = ", as shipped";

/// What the user names.
#[derive(Debug, Clone, Copy)]
pub struct Choices<'c> {
    /// The files.
    pub inputs: &'c InputFiles,
    /// The scenario.
    pub scenario: &'c Path,
    /// The policies; all shipped ones without, or the scenario's own if keys are varied.
    pub policies: &'c [PathBuf],
    /// Whether keys are varied.
    pub is_varied: bool,
    /// What the user sets.
    pub overrides: &'c Overrides,
}

/// A policy that cannot be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// Its file cannot be used.
    #[error(transparent)]
    File(#[from] WrongFile),
    /// It is unknown, or named twice.
    #[error(transparent)]
    Name(#[from] OptionError),
}

impl Choices<'_> {
    /// The files of the policies to choose from.
    ///
    /// # Errors
    /// When a policy cannot be used, is unknown, or is named twice.
    pub fn files(&self) -> Result<Vec<CandidateFile>, ChoiceError> {
        let own = CandidateFile { path: None, may_be_left_out: false, follows_line: false };
        match self.policies {
            [] if self.is_varied => Ok(vec![own]),
            [] => Ok(shipped::policies().map(|policy| give(self.inputs, policy, true)).collect()),
            named => {
                let twice = named.iter().enumerate().find(|(at, name)| named[..*at].contains(name));
                if let Some((_, twice)) = twice {
                    let what = format!("the policy `{}` is given twice", twice.display());
                    return Err(OptionError::new(what, "give it once").into());
                }
                named.iter().map(|name| self.file(name)).collect()
            }
        }
    }

    /// A policy by its file, or by the name of a shipped one.
    fn file(&self, path: &Path) -> Result<CandidateFile, ChoiceError> {
        if path == Path::new("-") || shipped::may_be_file(path) {
            wrong_file::refuse(self.inputs, path, Given::PolicyOf(POLICIES))?;
            let path = Some(path.to_owned());
            return Ok(CandidateFile { path, may_be_left_out: false, follows_line: false });
        }
        let name = &*path.to_string_lossy();
        let policy = shipped::policy(name).ok_or_else(|| {
            let names: Vec<&str> =
                shipped::policies().map(|(path, _)| shipped::stem(path)).collect();
            let help = what_a_scheme_is(name)
                .unwrap_or_else(|| suggestion(name, "shipped policies", &names));
            let what = format!("unknown policy `{name}`: neither a file nor a shipped policy");
            OptionError::new(what, help)
        })?;
        Ok(give(self.inputs, policy, false))
    }

    /// The policies with their own settings, if some settings are varied, to show whether a change pays; nothing for
    /// those that do not fit the scenario.
    pub fn as_set(&self, files: &[CandidateFile]) -> Vec<Candidate> {
        if !self.is_varied {
            return Vec::new();
        }
        let files: Vec<CandidateFile> = files
            .iter()
            .map(|file| CandidateFile { may_be_left_out: true, ..file.clone() })
            .collect();
        let found = candidates(self.inputs, self.scenario, &files, &[], self.overrides);
        let mut found = found.map_or_else(|_| Vec::new(), |found| found.all);
        found.iter_mut().for_each(|one| one.label += AS_SET);
        found
    }

    /// What every winner is compared with: policies as set, then best effort and FQ-CoDel as they are shipped, where they fit
    /// the scenario and are not among those.
    ///
    /// # Errors
    /// When the scenario has mistakes.
    pub fn references(&self, as_set: &[Candidate]) -> Result<Vec<Candidate>, Diagnostics> {
        let files: Vec<CandidateFile> = REFERENCES
            .iter()
            .filter_map(|name| shipped::policy(name))
            .map(|policy| give(self.inputs, policy, true))
            .collect();
        let mut as_shipped = self.overrides.clone();
        as_shipped.set.retain(|(key, _)| !key.starts_with("policy."));
        let mut found = candidates(self.inputs, self.scenario, &files, &[], &as_shipped)?.all;
        if as_shipped.set.len() < self.overrides.set.len() {
            found.iter_mut().for_each(|one| one.label += AS_SHIPPED);
        }
        // What is there with settings of its own is one of them already.
        let is_new = |one: &Candidate| {
            one.label.ends_with(AS_SHIPPED)
                || !as_set.iter().any(|set| set.label == one.label.clone() + AS_SET)
        };
        Ok(as_set.iter().cloned().chain(found.into_iter().filter(is_new)).collect())
    }
}

/// A shipped policy as a candidate, provided as a file.
pub fn give(inputs: &InputFiles, (path, text): Shipped, may_be_left_out: bool) -> CandidateFile {
    let path = PathBuf::from(path);
    inputs.give(&path, text);
    CandidateFile { path: Some(path), may_be_left_out, follows_line: true }
}
